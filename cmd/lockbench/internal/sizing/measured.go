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

// Measured is what was seen. Whoever has other figures may fill it by hand.
type Measured struct {
	Masters int
	Fencing bool
	Shared  bool          // locks were handed over within the process
	Procs   int           // processes that locked
	Watched time.Duration // for how long

	Acquires Times    // how much of its validity a lock had used up when its caller got it
	Releases Times    // none: not known
	Holds    Times    // likewise
	Pauses   []Moment // of the holder, in order; nil: nobody watched
	Rounds   []Round  // probes of all masters, in order; nil: none
	Clocks   []bench.Clock

	Warnings []string // what speaks against the measurement
}

// Moment is a time when something lasted.
type Moment struct{ At, Took time.Duration }

// Round is one probe of all masters, sent to all at once.
type Round struct {
	At    time.Duration
	Trips []time.Duration // of each master; below 0: no answer
}

// took is when that many of the masters have answered, leaving one out (-1: none); false: they
// have not.
func (r Round) took(q, but int) (time.Duration, bool) {
	var room [16]time.Duration
	answers := room[:0]
	for i, trip := range r.Trips {
		if trip >= 0 && i != but {
			answers = append(answers, trip)
		}
	}
	if len(answers) < q {
		return 0, false
	}
	slices.Sort(answers)
	return answers[q-1], true
}

// quorums is the times of a quorum, without one of the masters (-1: with all).
func (m Measured) quorums(but int) Times {
	var took []time.Duration
	failed := int64(0)
	for _, r := range m.Rounds {
		if t, ok := r.took(quorum.Size(m.Masters), but); ok {
			took = append(took, t)
		} else {
			failed++
		}
	}
	return Count(took, nil, failed)
}

// few is how many show a p90.
const few = 10 * enough

// attempts is what a quorum takes: as probed, or as acquires took where too few probes were.
func (m Measured) attempts() Times {
	if len(m.Rounds) >= few || len(m.Acquires.took) == 0 {
		return m.quorums(-1)
	}
	return m.Acquires
}

// outages is the times in which probes found no quorum within the timeout. A round that was
// answered late shows when it ended; one that never was says that it lasted until the next. What
// a pause of the holder explains is none.
func (m Measured) outages(timeout time.Duration) (all []Moment) {
	for i, r := range m.Rounds {
		took, answered := r.took(quorum.Size(m.Masters), -1)
		if answered && took-m.paused(r.At, r.At+took) <= timeout {
			continue
		}
		end := r.At + took
		if !answered && i+1 < len(m.Rounds) {
			end = m.Rounds[i+1].At
		}
		if last := len(all) - 1; last >= 0 && r.At <= all[last].At+all[last].Took {
			all[last].Took = max(all[last].Took, end-all[last].At)
		} else {
			all = append(all, Moment{r.At, end - r.At})
		}
	}
	return all
}

// paused is how much of that time the holder was paused.
func (m Measured) paused(from, to time.Duration) (sum time.Duration) {
	i := sort.Search(len(m.Pauses), func(i int) bool { return m.Pauses[i].At+m.Pauses[i].Took > from })
	for ; i < len(m.Pauses) && m.Pauses[i].At < to; i++ {
		sum += min(to, m.Pauses[i].At+m.Pauses[i].Took) - max(from, m.Pauses[i].At)
	}
	return sum
}

// stolen is the most that pauses took from work of that length, begun at any moment: the work
// goes on for as much longer. longest is the longest one of all.
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

// blocks is how many stretches a measurement is cut into, to be put together to another one:
// what happens together stays together (Künsch 1989).
const blocks = 40

// redrawn is a measurement that might have been made instead of this one.
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
			rounds = append(rounds, Round{r.At - begin + length*time.Duration(n), r.Trips})
		}
	}
	m.Rounds = rounds
	return m
}
