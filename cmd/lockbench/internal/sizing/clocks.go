package sizing

import (
	"math"
	"time"

	"muxlock/internal/redlock"
)

// clocks returns the rate of the masters' worst clock against the one here, with its error, in ppm, and the
// longest jump. A rate that may as well be within the engine's allowance as far beyond says nothing.
func (m Measured) clocks() (worst float64, jump time.Duration) {
	const allowed = 1e6 * redlock.DefaultDrift
	for _, w := range m.Clocks {
		jump = max(jump, time.Duration(w.JumpNs))
		if off := math.Abs(w.PPM); w.PPMError <= allowed || off-w.PPMError > allowed {
			worst = max(worst, off+w.PPMError)
		}
	}
	return worst, jump
}

// usable returns how much of a lease may be used.
func usable(ttl time.Duration) time.Duration { return redlock.Validity(ttl, 0, redlock.DefaultDrift) }

// lease returns the shortest one with need of usable time.
func lease(need time.Duration) time.Duration {
	return time.Duration(math.Ceil(float64(need+1+redlock.Granularity) / (1 - redlock.DefaultDrift)))
}

// slow returns how long a key may live by a slow clock.
func slow(ttl time.Duration) time.Duration {
	return time.Duration(float64(ttl) * (1 + redlock.DefaultDrift))
}
