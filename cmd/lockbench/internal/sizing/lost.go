package sizing

import (
	"fmt"
	"math"
	"slices"
	"time"

	"muxlock/internal/redlock"
)

// replays is the number of locks of a replay, and of holds drawn from a distribution.
const replays = 10_000

// holds returns the holds without renewals and those with them: as measured, or as the user gives.
func (m Measured) holds(ask Ask) (unkept, kept Times) {
	if ask.Hold == nil {
		return m.Holds, m.Renewed
	}
	all := ask.Hold.Samples()
	if draw := ask.Hold.Sampler(1, 1); all == nil {
		for range replays {
			all = append(all, draw())
		}
	}
	return Count(all, nil, 0), Times{}
}

// replay returns how many locks are lost with this TTL. They begin at places all over the measurement,
// and are held as its locks were, or as the user gives. A lock that is not renewed is lost if its work, with
// the pauses in it, outlasts the lease. A renewed one is lost if it meets a time without confirmed renewals
// that is too long at the worst moment.
func (m Measured) replay(r rules, s Sizes, unkept, kept Times, blocks []Moment) (lost int64) {
	most := usable(s.Config.TTL)
	if most <= r.timeout {
		return replays // the engine refuses such a lease
	}
	tooLong := slices.DeleteFunc(slices.Clone(blocks), func(b Moment) bool { return r.kept(b.Took) <= s.Config.TTL })
	without, with := unkept.spread(replays), kept.spread(replays)
	for i := range replays {
		at := time.Duration(scattered(i, math.Sqrt2) * float64(m.Watched))
		from, renew := without, s.Config.Renew
		if i < int(math.Round(s.Renewed*replays)) {
			from, renew = with, true
		}
		hold := from[int(scattered(i, math.Phi)*replays)]
		if renew && m.outlasts(tooLong, at, hold, hold) || !renew && m.outlasts(m.Pauses, at, r.got(hold)+hold, most) {
			lost++
		}
	}
	return lost
}

// scattered returns numbers from 0 to below 1, spread evenly however many there are.
func scattered(i int, by float64) float64 {
	_, part := math.Modf(float64(i) * by)
	return part
}

// outlasts reports whether work from at takes longer than most, with the times that stop it. The measurement
// begins again after its end.
func (m Measured) outlasts(stops []Moment, at, work, most time.Duration) bool {
	i, _ := slices.BinarySearchFunc(stops, at, func(s Moment, at time.Duration) int { return int(s.At - at) })
	for n, lap := len(stops), time.Duration(0); n > 0 && work <= most; i++ {
		if i == n {
			i, lap = 0, lap+m.Watched
		}
		if lap+stops[i].At >= at+work {
			break
		}
		work += stops[i].Took
	}
	return work > most
}

// bounds returns 95 % bounds for a TTL that outlasts all that was seen: on the share of locks that are
// lost without renewals, and on the mean time between two pauses or outages that cost renewed ones. They are
// about what was not seen and may come, as often as chance may have left it out: of random events three in the
// watched time.
func (m Measured) bounds(s Sizes, unkept Times) (share float64, every time.Duration) {
	every = time.Duration(float64(m.Watched) / -math.Log(1-Confidence))
	meets := -math.Expm1(-float64(s.MeanHold+margin*s.Trip) / float64(max(every, 1)))
	return min(AtMost(unkept.censored, unkept.n)+meets, 1), every
}

// lacks says what to measure first; empty: nothing.
func (m Measured) lacks(s Sizes, attempts Times) string {
	_, quorum := attempts.Quantile(0.1)
	worst, jump := m.clocks()
	ttl := float64(max(s.Config.TTL, s.Needed))
	switch lost := float64(s.Lost) / replays; {
	case m.Invalid != "":
		return "the measurement is not valid, measure again: " + m.Invalid
	case attempts.n < few:
		return fmt.Sprintf("%d acquires or round trips show no percentile: measure until there are %d", attempts.n, few)
	case !quorum:
		return "a tenth of the probes found no quorum: mend the masters, then measure"
	case worst*1e-6*ttl+float64(jump) > redlock.DefaultDrift*ttl:
		return fmt.Sprintf("a clock of the masters is off by up to %.0f ppm, or jumped by %s, and Drift allows for %g: mend it, then measure", math.Ceil(worst), jump.Round(time.Millisecond), redlock.DefaultDrift)
	case lost >= mostLost && !s.Missed: // by such holds alone
		return fmt.Sprintf("%.3g%% of the locks were not released when the measurement ended: measure for longer than they are held, or give --hold", 100*lost)
	}
	return ""
}

// mostLost is the least share of lost locks in the replay of a TTL that is not advised.
const mostLost = 0.01

// Advised reports whether the configuration is fit for use.
func (s Sizes) Advised() bool { return s.Lacks == "" && float64(s.Lost) < mostLost*replays }
