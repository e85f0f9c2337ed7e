package sizing

import (
	"math"
	"time"

	"muxlock/bench"
	"muxlock/internal/redlock"
)

// clocks is what of a lease is given up because clocks differ: rho of it, and c.
type clocks struct {
	rho   float64
	c     time.Duration
	jump  time.Duration // part of c
	worst float64       // ppm
}

// clocksOf allows for any two of the clocks, each known up to its error; the one here is among
// them, and loses nothing.
func clocksOf(watched []bench.Clock) clocks {
	c := clocks{rho: redlock.DefaultDrift, c: redlock.Granularity}
	slowest, fastest := 0.0, 0.0
	for _, w := range watched {
		slowest, fastest = min(slowest, w.PPM-w.PPMError), max(fastest, w.PPM+w.PPMError)
		c.worst, c.jump = max(c.worst, math.Abs(w.PPM)+w.PPMError), max(c.jump, time.Duration(w.JumpNs))
	}
	if need := (fastest - slowest) * 1e-6; need > c.rho {
		c.rho = math.Ceil(need*1000) / 1000
	}
	c.c += c.jump
	return c
}

// lease is the one with that much usable time, of which a part of taken is spent in any case.
func (c clocks) lease(need time.Duration, taken float64) time.Duration {
	return time.Duration(math.Ceil(float64(need+c.c) / (1 - c.rho - taken)))
}

// drift is Config.Drift, which has to cover jumps as well.
func (c clocks) drift(ttl time.Duration) float64 {
	if c.jump < time.Millisecond/2 {
		return c.rho
	}
	return min(math.Ceil((c.rho+float64(c.jump)/float64(ttl))*1e4)/1e4, 0.49)
}

// pause is the most time that pauses took from work of that length, with the longest of them
// once more; or what was asked for, if that is longer.
func (m Measured) pause(work time.Duration, ask Ask) Part {
	most, longest := stolen(m.Pauses, work)
	p := Part{Took: most + longest, From: Seen, N: int64(len(m.Pauses)), Longest: longest}
	if p.Took < ask.Pause {
		p.Took, p.From = ask.Pause, Assumed
	}
	return p
}

// outage is twice the longest of all masters, after which they have to be found again.
func (m Measured) outage(timeout time.Duration) (p Part) {
	all := m.outages(timeout)
	for _, o := range all {
		p.Longest = max(p.Longest, o.Took)
	}
	if p.Longest > 0 {
		p.Took, p.From, p.N = margin*p.Longest, Seen, int64(len(all))
		p.Took += redlock.RedialWithin(p.Took)
	}
	return p
}

// lost is which part of the acquisitions loses its lock at most, with 95 %.
func (m Measured) lost(s Sizes, during time.Duration) (toHold, toPause float64) {
	if !s.Config.Renew {
		toHold = s.Hold.AtMost
	}
	if m.Pauses == nil || m.Watched <= 0 {
		return toHold, 1
	}
	// No longer pause came in the time that was watched: of events that come at random at most 3
	// come in such a time, with 95 %.
	return toHold, -math.Expm1(math.Log(1-Confidence) * float64(during) / float64(m.Watched))
}
