package sizing

import (
	"math"
	"time"

	"muxlock/internal/redlock"
)

// rules has what the length of a lease depends on.
type rules struct {
	timeout time.Duration // MasterTimeout
	quorum  time.Duration // until a quorum answers
	acquire time.Duration // validity used up when Acquire returns, at most
	handed  time.Duration // the same of a lock that was handed over
	next    time.Duration // from the end of a crashed holder's lease to the next acquire
}

// got returns the most validity that an acquire uses up before work of that length. The engine extends a
// lease first of which less than half is left. If half suffices for the work, so do longer hand-overs.
func (r rules) got(work time.Duration) time.Duration { return max(r.acquire, min(r.handed, work)) }

// unkept returns the shortest lease that outlasts work without renewals.
func (r rules) unkept(work time.Duration) time.Duration { return lease(r.got(work) + work) }

// kept returns the shortest lease that outlasts, with renewals, a time in which none is confirmed. The engine
// sends a renewal when half of the lease is left, at the latest, and after a failure again a little later. Before
// the time without them, a pause may have delayed the last answer.
func (r rules) kept(block time.Duration) time.Duration {
	return time.Duration(math.Ceil(float64(max(block, r.timeout)+r.quorum) / (1.0/2 - 1.0/redlock.RetriesPerTTL)))
}

// farthest returns the farthest quantile that the samples show, and its percentile. Times many times the
// median are of an outage.
func farthest(t Times) (most time.Duration, percentile float64) {
	median, _ := t.Quantile(0.5)
	t = t.upTo(max(outageTrips*median, LeastTimeout))
	for _, beyond := range []float64{0.5, 0.1, 0.01, 0.001} {
		if took, ok := t.Quantile(beyond); ok && (t.Shows(beyond) || percentile == 0) {
			most, percentile = took, 100-100*beyond
		}
	}
	return most, percentile
}

// farthestMaster returns the median trip to the farthest of the masters that answer most probes. With as
// many masters down as can be spared, a quorum needs all others.
func (m Measured) farthestMaster() (most time.Duration) {
	for i := range m.Masters {
		t := m.times(func(r Round) (time.Duration, bool) { return r.Trips[i], r.Trips[i] >= 0 })
		if took, ok := t.Quantile(0.5); ok {
			most = max(most, took)
		}
	}
	return most
}

// atLeast returns a time that pauses took, or the pause that the user gives if that is longer.
func (m Measured) atLeast(took time.Duration, ask Ask) Part {
	if took < ask.Pause {
		return Part{Took: ask.Pause, Given: true}
	}
	return Part{Took: took, N: int64(len(m.Pauses))}
}

// plain returns the next number of 1, 1.5, 2, 3, 5 or 7 times a power of ten, of at least 1 ms.
func plain(d time.Duration, up bool) time.Duration {
	last := time.Duration(0)
	for ten := time.Millisecond / 10; ; ten *= 10 {
		for _, steps := range []time.Duration{10, 15, 20, 30, 50, 70} {
			one := steps * ten
			if up && one >= d {
				return one
			}
			if one > d {
				return last
			}
			last = one
		}
	}
}

// RoundUp rounds up to two digits, which are whole ms from 10 ms on.
func RoundUp(d time.Duration) time.Duration {
	step := time.Duration(math.Pow10(max(int(math.Log10(float64(max(d, 1))))-1, 0)))
	return (d + step - 1) / step * step
}
