package sizing

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"muxlock/bench"
	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
)

// Measured has the times of a measurement. A user with other figures may fill it by hand.
type Measured struct {
	Masters    int
	Fencing    bool
	Shared     bool          // locks were handed over within the process
	MaxTTL     time.Duration // in use; 0: the engine's default
	LongestTTL time.Duration // in use; 0: not known
	Watched    time.Duration // length of the measurement

	Acquires  Times    // validity used up when Acquire returned
	HandOvers Times    // the same of locks handed over within the process; empty: none, or among Acquires
	Holds     Times    // of locks that were not renewed
	Renewed   Times    // of locks that were
	Pauses    []Moment // of the holder, in order, none within another
	Rounds    []Round  // probes of all masters, some of all, in order; nil: none
	Slow      []Moment // the longest times of a quorum, of all probes, in order; below 0: until the next probe there was none
	Clocks    []bench.Clock

	Invalid string   // why the measurement is not valid; empty: it is
	Notes   []string // doubts about a valid one
}

// Moment is a stretch of time.
type Moment struct {
	At   time.Duration `json:"at_ns"`
	Took time.Duration `json:"took_ns"`
}

// Round is one probe of all masters, sent to all at once.
type Round = quorum.Row

// times returns one time of each probe. It is censored if of returns false.
func (m Measured) times(of func(Round) (time.Duration, bool)) Times {
	took, failed := make([]time.Duration, 0, len(m.Rounds)), int64(0)
	for _, r := range m.Rounds {
		if t, ok := of(r); ok {
			took = append(took, t)
		} else {
			failed++
		}
	}
	return Count(took, nil, failed)
}

// few samples show a p90.
const few = 10 * enough

// attempts returns the times of a quorum: of probes, less the time in which the holder was paused, or of acquires if
// the probes are too few.
func (m Measured) attempts() Times {
	if len(m.Rounds) < few && len(m.Acquires.took) > 0 {
		return m.Acquires
	}
	return m.times(func(r Round) (time.Duration, bool) {
		took, ok := r.Took(quorum.Size(m.Masters))
		return took - m.Paused(r.At, took), ok
	})
}

// outages returns the times in which no quorum answered within the timeout, each until the masters are
// dialled again and the last renewal that they did not answer has failed. A late answer shows when the outage ended; without an answer, it lasted until
// the next probe. A delay that a pause of the holder explains is no outage.
func (m Measured) outages(timeout time.Duration) (all []Moment) {
	for _, s := range m.Slow {
		whole := Moment{s.At, max(s.Took, -s.Took)}
		if s.Took < 0 || whole.Took-m.Paused(whole.At, whole.Took) > timeout {
			all = join(all, whole, 0)
		}
	}
	all = slices.DeleteFunc(all, func(o Moment) bool { return o.Took-m.Paused(o.At, o.Took) <= timeout })
	for i := range all {
		all[i].Took += redlock.RedialWithin(all[i].Took) + timeout
	}
	return all
}

// blocks returns the times in which no renewal is confirmed: pauses of the holder, and outages. It
// joins those that are too close for a renewal in between.
func (m Measured) blocks(outages []Moment, apart time.Duration) (all []Moment) {
	both := slices.Concat(m.Pauses, outages)
	slices.SortFunc(both, func(a, b Moment) int { return cmp.Compare(a.At, b.At) })
	for _, one := range both {
		all = join(all, one, apart)
	}
	return all
}

// join adds a moment to those that began before it: to the last one, unless that ended earlier by
// more than apart.
func join(all []Moment, one Moment, apart time.Duration) []Moment {
	last := len(all) - 1
	if last < 0 || all[last].At+all[last].Took+apart < one.At {
		return append(all, one)
	}
	all[last].Took = max(all[last].Took, one.At+one.Took-all[last].At)
	return all
}

// longest returns the longest of some moments.
func longest(all []Moment) (most time.Duration) {
	for _, one := range all {
		most = max(most, one.Took)
	}
	return most
}

// Paused returns how long the holder was paused in a stretch of time.
func (m Measured) Paused(at, length time.Duration) (sum time.Duration) {
	end := at + length
	i := sort.Search(len(m.Pauses), func(i int) bool { return m.Pauses[i].At+m.Pauses[i].Took > at })
	for ; i < len(m.Pauses) && m.Pauses[i].At < end; i++ {
		sum += min(end, m.Pauses[i].At+m.Pauses[i].Took) - max(at, m.Pauses[i].At)
	}
	return sum
}

// stolen returns the most time that pauses took from work of that length, whenever it began. Each
// pause prolongs the work. Work that is longer than the measurement meets all pauses again.
func (m Measured) stolen(work time.Duration) (most time.Duration) {
	all := m.Paused(0, math.MaxInt64)
	if lap := max(m.Watched-all, m.Watched/100, 1); work > lap {
		return all * (work/lap + 1)
	}
	sum, end := time.Duration(0), 0 // of the pauses from i to before end
	for _, first := range m.Pauses {
		for ; end < len(m.Pauses) && m.Pauses[end].At <= first.At+work+sum; end++ {
			sum += m.Pauses[end].Took
		}
		most = max(most, sum)
		sum -= first.Took
	}
	return most
}
