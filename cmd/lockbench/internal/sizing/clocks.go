package sizing

import (
	"math"
	"time"

	"muxlock/bench"
	"muxlock/internal/redlock"
)

// clocks is the allowance for clocks: the share rho of a lease, and c.
type clocks struct {
	rho   float64
	c     time.Duration
	jump  time.Duration // longest seen, part of c
	worst float64       // rate of the worst clock seen, ppm
}

// mostDrift is the largest allowance: with more, no lease is long enough.
const mostDrift = 0.49

// clocksOf allows for any two clocks, each known up to its error. The clock here is one of
// them, with rate 0. A rate that may as well be within the default allowance or far beyond
// says nothing: the default holds for it, as where no clock was watched.
func clocksOf(watched []bench.Clock) clocks {
	c := clocks{rho: redlock.DefaultDrift, c: redlock.Granularity}
	slowest, fastest := 0.0, 0.0
	for _, w := range watched {
		c.jump = max(c.jump, time.Duration(w.JumpNs))
		if w.PPMError*1e-6 > redlock.DefaultDrift && (math.Abs(w.PPM)-w.PPMError)*1e-6 <= redlock.DefaultDrift {
			continue
		}
		slowest, fastest = min(slowest, w.PPM-w.PPMError), max(fastest, w.PPM+w.PPMError)
		c.worst = max(c.worst, math.Abs(w.PPM)+w.PPMError)
	}
	if need := (fastest - slowest) * 1e-6; need > c.rho {
		c.rho = min(math.Ceil(need*1000)/1000, mostDrift)
	}
	c.c += c.jump
	return c
}

// usable returns how much of a lease may be used.
func (c clocks) usable(ttl time.Duration) time.Duration {
	return time.Duration(float64(ttl)*(1-c.rho)) - c.c
}

// lease returns the lease with need of usable time, beside a share of taken that is not usable. It
// is long enough for drift to cover a jump.
func (c clocks) lease(need time.Duration, taken float64) time.Duration {
	least := float64(need+c.c) / (1 - c.rho - taken)
	if c.jumps() {
		least = max(least, float64(c.jump)/max(mostDrift-c.rho, 1e-3))
	}
	return time.Duration(math.Ceil(least))
}

// jumps reports whether a jump is longer than what the engine allows for anyway.
func (c clocks) jumps() bool { return c.jump >= time.Millisecond/2 }

// drift returns Config.Drift, which covers jumps as well.
func (c clocks) drift(ttl time.Duration) float64 {
	if !c.jumps() {
		return c.rho
	}
	return min(math.Ceil((c.rho+float64(c.jump)/float64(ttl))*1e4)/1e4, mostDrift)
}
