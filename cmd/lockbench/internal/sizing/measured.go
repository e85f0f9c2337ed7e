package sizing

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"muxlock/bench"
	"muxlock/internal/quorum"
)

// Measured has the times of a measurement. A user with other figures may fill it by hand.
type Measured struct {
	Masters int
	Fencing bool
	Shared  bool          // locks were handed over within the process
	Procs   int           // processes that locked
	Watched time.Duration // length of the measurement

	Acquires  Times         // validity used up when Acquire returned
	HandOvers Times         // the same of locks handed over within the process; empty: not known
	Releases  Times         // empty: not known
	Holds     Times         // empty: not known
	Pauses    []Moment      // of the holder, in order, none within another
	Short     time.Duration // sum of the pauses that are too short, beside so many, to be among Pauses
	Rounds    []Round       // probes of all masters, some of all, in order; nil: none
	Slow      []Moment      // the longest times of a quorum, of all probes, in order; below 0: until the next probe there was none
	Clocks    []bench.Clock

	Warnings []string // doubts about the measurement
}

// Moment is a stretch of time.
type Moment struct{ At, Took time.Duration }

// Round is one probe of all masters, sent to all at once.
type Round struct {
	At    time.Duration
	Trips []time.Duration // of each master; below 0: no answer
}

// took returns the time until q masters have answered. It returns false if fewer answered.
func (r Round) took(q int) (time.Duration, bool) {
	var room [16]time.Duration
	answers := room[:0]
	for _, trip := range r.Trips {
		if trip >= 0 {
			answers = append(answers, trip)
		}
	}
	if len(answers) < q {
		return 0, false
	}
	slices.Sort(answers)
	return answers[q-1], true
}

// quorums returns the times of a quorum.
func (m Measured) quorums() Times {
	return m.times(func(r Round) (time.Duration, bool) { return r.took(quorum.Size(m.Masters)) })
}

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
	slices.Sort(took) // faster than in Count, which sorts their indexes
	return Count(took, nil, failed)
}

// few samples show a p90.
const few = 10 * enough

// attempts returns the times of a quorum: of probes, or of acquires if the probes are too few.
func (m Measured) attempts() Times {
	if len(m.Rounds) >= few || len(m.Acquires.took) == 0 {
		return m.quorums()
	}
	return m.Acquires
}

// outages returns the times in which probes found no quorum within the timeout. A late answer
// shows when the outage ended; without an answer, it lasted until the next probe. As far as a pause
// of the holder explains the delay, it is no outage.
func (m Measured) outages(timeout time.Duration) (all []Moment) {
	for _, s := range m.Slow {
		whole := Moment{s.At, max(s.Took, -s.Took)}
		if s.Took < 0 || whole.Took-m.paused(whole) > timeout {
			all = join(all, whole)
		}
	}
	for i, o := range all { // not before: a short pause would part it from the next
		all[i].Took -= m.paused(o)
	}
	return all
}

// join adds a moment to those that began before it: to the last one, unless that ended before.
func join(all []Moment, one Moment) []Moment {
	last := len(all) - 1
	if last < 0 || all[last].At+all[last].Took < one.At {
		return append(all, one)
	}
	all[last].Took = max(all[last].Took, one.At+one.Took-all[last].At)
	return all
}

// paused returns how long the holder was paused in a stretch of time.
func (m Measured) paused(in Moment) (sum time.Duration) {
	end := in.At + in.Took
	i := sort.Search(len(m.Pauses), func(i int) bool { return m.Pauses[i].At+m.Pauses[i].Took > in.At })
	for ; i < len(m.Pauses) && m.Pauses[i].At < end; i++ {
		sum += min(end, m.Pauses[i].At+m.Pauses[i].Took) - max(in.At, m.Pauses[i].At)
	}
	return sum
}

// stolen returns the most time that pauses took from work of that length, whenever it began.
// Each pause prolongs the work. longest is the longest pause.
func stolen(pauses []Moment, work time.Duration) (most, longest time.Duration) {
	sum, end := time.Duration(0), 0 // of the pauses from i to before end
	for _, first := range pauses {
		for ; end < len(pauses) && pauses[end].At <= first.At+work+sum; end++ {
			sum += pauses[end].Took
		}
		most, longest = max(most, sum), max(longest, first.Took)
		sum -= first.Took
	}
	return most, longest
}

// blocks is the number of blocks of a block bootstrap (Künsch 1989). Drawing whole blocks keeps
// the correlation within them.
const blocks = 40

// redrawn returns a bootstrap sample of the measurement.
func (m Measured) redrawn(rng *rand.Rand) Measured {
	m.Acquires, m.Holds = m.Acquires.redrawn(rng), m.Holds.redrawn(rng)
	length := max(m.Watched/blocks, 1)
	var rounds []Round
	for n := range blocks {
		begin := length * time.Duration(rng.IntN(blocks))
		within := func(at time.Duration) int {
			i, _ := slices.BinarySearchFunc(m.Rounds, at, func(r Round, at time.Duration) int { return cmp.Compare(r.At, at) })
			return i
		}
		for _, r := range m.Rounds[within(begin):within(begin+length)] {
			rounds = append(rounds, Round{At: r.At - begin + length*time.Duration(n), Trips: r.Trips})
		}
	}
	m.Rounds = rounds
	return m
}
