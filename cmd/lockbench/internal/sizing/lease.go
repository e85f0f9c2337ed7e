package sizing

import (
	"math"
	"time"

	"muxlock/bench"
	"muxlock/internal/redlock"
)

// clocks is the allowance for clocks: the share rho of a lease, and c.
type clocks struct {
	rho    float64
	c      time.Duration
	jump   time.Duration // longest seen, part of c
	worst  float64       // rate of the worst clock, ppm
	unseen bool          // the rate of one is not known
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
			c.unseen = true
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

// pause returns the most time that pauses took from work of that length, plus the longest
// pause; or ask.Pause, if that is longer. When the short ones were is not known: they count as twice
// their share of the time.
func (m Measured) pause(work time.Duration, ask Ask) Part {
	most, longest := stolen(m.Pauses, work)
	most += time.Duration(margin * float64(work) * float64(m.Short) / float64(max(m.Watched, 1)))
	p := Part{Took: most + longest, From: Seen, N: int64(len(m.Pauses)), Longest: longest}
	if p.Took < ask.Pause {
		p.Took, p.From = ask.Pause, Assumed
	}
	return p
}

// outage returns twice the longest outage, plus the time until the masters are dialled again. From is
// empty if no probe watched for one.
func (m Measured) outage(timeout time.Duration) (p Part) {
	all := m.outages(timeout)
	for _, o := range all {
		p.Longest = max(p.Longest, o.Took)
	}
	if p.Longest > 0 {
		p.Took, p.From, p.N = margin*p.Longest, Seen, int64(len(all))
		p.Took += redlock.RedialWithin(p.Took)
	} else if len(m.Rounds) > 0 {
		p.From = Seen
	}
	return p
}

// lost returns 95 % bounds on the shares of acquisitions that lose their lock to a long hold
// and to a long pause.
func (m Measured) lost(s Sizes, during time.Duration) (toHold, toPause float64) {
	if !s.Config.Renew {
		toHold = s.Hold.AtMost
	}
	if s.Config.Renew && (s.Outage.From == "" || s.Hold.From == Seen && m.Holds.censored > 0) {
		return toHold, 1 // the outages are not known, or the mean hold
	}
	// No longer pause came in the watched time. With 95 %, the mean number of random events in
	// such a time is 3 at most.
	return toHold, -math.Expm1(math.Log(1-Confidence) * float64(during) / float64(m.Watched))
}
