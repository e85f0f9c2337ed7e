package sizing

import (
	"math"
	"time"

	"muxlock/bench"
	"muxlock/internal/redlock"
)

// clocks says how much the clocks of the masters and the one here differ.
type clocks struct {
	rate  float64       // the most between any two, with the errors of both
	worst float64       // rate of the worst, with its error; ppm
	jump  time.Duration // longest
}

// clocksOf compares any two clocks. The one here is among them, with rate 0. A rate that may as well be
// within the engine's allowance as far beyond says nothing.
func clocksOf(watched []bench.Clock) (c clocks) {
	const allowed = 1e6 * redlock.DefaultDrift
	slowest, fastest := 0.0, 0.0
	for _, w := range watched {
		c.jump = max(c.jump, time.Duration(w.JumpNs))
		if off := math.Abs(w.PPM); w.PPMError <= allowed || off-w.PPMError > allowed {
			slowest, fastest = min(slowest, w.PPM-w.PPMError), max(fastest, w.PPM+w.PPMError)
			c.worst = max(c.worst, off+w.PPMError)
		}
	}
	c.rate = (fastest - slowest) * 1e-6
	return c
}

// allowed reports whether the engine's Drift covers them in a lease.
func (c clocks) allowed(ttl time.Duration) bool {
	return c.rate*float64(ttl)+float64(c.jump) <= redlock.DefaultDrift*float64(ttl)
}

// usable returns how much of a lease may be used.
func usable(ttl time.Duration) time.Duration { return redlock.Validity(ttl, 0, redlock.DefaultDrift) }

// lease returns the shortest one with need of usable time, beside a share of taken that is not usable.
func lease(need time.Duration, taken float64) time.Duration {
	return time.Duration(math.Ceil(float64(need+1+redlock.Granularity) / (1 - redlock.DefaultDrift - taken)))
}

// slow returns how long a key may live by a slow clock.
func slow(ttl time.Duration) time.Duration {
	return time.Duration(float64(ttl) * (1 + redlock.DefaultDrift))
}
