package model

import (
	"hash/maphash"
	"math/bits"
	"slices"

	"muxlock/internal/fencing"
)

// A Result is the outcome of a search.
type Result struct {
	States, Depth int
	Counted       int      // the most tokens that count in one state
	Broken        string   // the property that does not hold; "": all hold in every state
	Trace         []string // the shortest way to the broken state
}

// A search visits every state, breadth first. It keeps a 64-bit fingerprint of each: the chance that two of ten million
// states share one, and the search misses a state, is about one in a million.
type search struct {
	m       *Model
	seed    maphash.Seed
	seen    map[uint64]struct{}
	counted int
	came    []origin // by state, in the order of discovery

	admissions []fencing.Admission[tick]          // all values so far
	known      map[fencing.Admission[tick]]uint16 // their indices
	answers    map[question]answer                // to operators

	state  state // whose steps are being found
	index  uint32
	branch uint16 // index of the next step of that state
	next   []found
	broken *found
	pick   int // index of the step to replay; -1: take all steps
	picked struct {
		state state
		step  step
	}
}

type origin struct {
	from   uint32 // the state before
	branch uint16 // and which of its steps
}

type found struct {
	state state
	index uint32
}

type tick uint8

func (t tick) Before(u tick) bool { return t < u }

// Search searches a model completely, or until a property does not hold.
func (m *Model) Search() (r Result) {
	x := &search{m: m, seed: maphash.MakeSeed(), seen: make(map[uint64]struct{}), known: make(map[fencing.Admission[tick]]uint16), answers: make(map[question]answer), pick: -1}
	x.admission(fencing.Admission[tick]{}) // is 0
	starts := m.starts(x)
	for i := range starts {
		x.index, x.branch = uint32(i), 0
		x.add(&starts[i])
	}
	for level := []found(nil); x.broken == nil && len(x.next) > 0 && (m.Most == 0 || len(x.came) < m.Most); {
		level, x.next = x.next, level[:0]
		r.Depth++
		for i := range level {
			x.state, x.index, x.branch = level[i].state, level[i].index, 0
			x.steps()
			if x.broken != nil {
				break
			}
		}
	}
	r.States, r.Counted = len(x.came), x.counted
	if x.broken != nil {
		r.Broken = x.broken.state.broken.String()
		r.Trace = x.trace(starts)
	}
	return r
}

// goes takes a step to state s.
func (x *search) goes(s *state, t step) {
	x.m.forget(s)
	if x.pick >= 0 {
		if int(x.branch) == x.pick {
			x.picked.state, x.picked.step = *s, t
		}
		x.branch++
		return
	}
	if x.broken == nil {
		x.add(s)
	}
	x.branch++
}

func (x *search) add(s *state) {
	x.m.check(s)
	tokens := 0
	for _, counted := range s.counted {
		tokens += bits.OnesCount32(counted)
	}
	x.counted = max(x.counted, tokens)
	fingerprint := x.fingerprint(s)
	if _, seen := x.seen[fingerprint]; seen {
		return
	}
	x.seen[fingerprint] = struct{}{}
	index := uint32(len(x.came))
	x.came = append(x.came, origin{x.index, x.branch})
	x.next = append(x.next, found{*s, index})
	if s.broken != 0 {
		x.broken = &x.next[len(x.next)-1]
	}
}

// fingerprint is equal for states that differ only in the order of their masters.
func (x *search) fingerprint(s *state) uint64 {
	var columns [maxMasters]uint64
	for i := range x.m.Masters {
		columns[i] = maphash.Comparable(x.seed, s.columns[i])
	}
	slices.Sort(columns[:])
	return maphash.Comparable(x.seed, struct {
		core
		columns [maxMasters]uint64
	}{s.core, columns})
}

// trace replays the steps to the broken state.
func (x *search) trace(starts []state) (lines []string) {
	var branches []uint16
	index := x.broken.index
	for ; int(index) >= len(starts); index = x.came[index].from {
		branches = append(branches, x.came[index].branch)
	}
	x.state = starts[index]
	lines = append(lines, x.state.String())
	for _, branch := range slices.Backward(branches) {
		x.pick, x.branch = int(branch), 0
		x.steps()
		x.state = x.picked.state
		lines = append(lines, x.picked.step.String()+"\n      "+x.state.String())
	}
	return lines
}

// admission returns the index of a value. States store the index.
func (x *search) admission(a fencing.Admission[tick]) uint16 {
	number, ok := x.known[a]
	if !ok {
		number = uint16(len(x.admissions))
		x.admissions, x.known[a] = append(x.admissions, a), number
	}
	return number
}
