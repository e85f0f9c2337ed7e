package model

import (
	"hash/maphash"
	"slices"
)

// masters is the number of masters in a set, in every model.
const masters = 3

// An explorer visits every state of a model, breadth first. It keeps a 64-bit fingerprint of each state. Two of ten million
// states share a fingerprint with a chance of one in a million. The explorer would then miss one of them.
type explorer[S any] struct {
	steps  func()                                                      // finds all next steps of state, and calls goes for each
	forget func(*S)                                                    // clears what no later step depends on
	enter  func(*S) (fingerprint uint64, counted int, broken property) // looks at a state; counted is for Result.Counted
	text   func(*S) string

	seed    maphash.Seed
	seen    map[uint64]struct{}
	came    []origin // how each state was found, in the order of discovery
	counted int      // largest so far, for Result.Counted

	state  S // its steps are being found
	to     S // where the latest step leads; a copy, so that the callers' states need no allocation
	index  uint32
	branch uint16       // index of the next step of state
	next   [][]found[S] // in parts of the same size, so that growth copies none
	broken *found[S]
	breaks property // what the broken state breaks
	pick   int      // index of the step to replay; -1: take all steps
	picked struct {
		state S
		step  step
	}
}

// A Result is the outcome of a search.
type Result struct {
	States, Depth int      // number of states, and of the steps to the furthest one
	Counted       int      // the most tokens that count in one state, or the most attempts that have held
	Broken        string   // the property that does not hold; "": all hold in every state
	Trace         []string // the shortest way to the broken state
}

type origin struct {
	from   uint32 // the state before
	branch uint16 // index of the step that was taken there
}

type found[S any] struct {
	state S
	index uint32
}

// search visits all states that steps reach. It ends at a broken state, or when it has found most states (0: no limit).
func (x *explorer[S]) search(most int, starts ...S) (r Result) {
	x.seed, x.seen, x.pick = maphash.MakeSeed(), make(map[uint64]struct{}), -1
	for i := range starts {
		x.index, x.branch = uint32(i), 0
		x.to = starts[i]
		x.add()
	}
	for x.broken == nil && len(x.next) > 0 && (most == 0 || len(x.came) < most) {
		level := x.next
		x.next = nil
		r.Depth++
		for i, part := range level {
			for j := 0; j < len(part) && x.broken == nil; j++ {
				x.state, x.index, x.branch = part[j].state, part[j].index, 0
				x.steps()
			}
			level[i] = nil // room for the next ones
		}
	}
	r.States, r.Counted = len(x.came), x.counted
	if x.broken != nil {
		r.Broken, r.Trace = x.breaks.String(), x.trace(starts)
	}
	return r
}

// goes takes a step to state s.
func (x *explorer[S]) goes(s *S, t step) {
	x.to = *s
	x.forget(&x.to)
	if x.pick >= 0 {
		if int(x.branch) == x.pick {
			x.picked.state, x.picked.step = x.to, t
		}
		x.branch++
		return
	}
	if x.broken == nil {
		x.add()
	}
	x.branch++
}

// happens takes the step of a fault of master i, unless the fault has occurred most times. so is its count, in state.
func (x *explorer[S]) happens(what string, i int, so *uint8, most uint8, do func(*S)) {
	if *so >= most {
		return
	}
	*so++
	t := x.state
	*so--
	do(&t)
	x.goes(&t, step{what, -1, int8(i), 0})
}

// add adds the state in to, unless it was found before.
func (x *explorer[S]) add() {
	fingerprint, counted, broken := x.enter(&x.to)
	x.counted = max(x.counted, counted)
	if _, seen := x.seen[fingerprint]; seen {
		return
	}
	x.seen[fingerprint] = struct{}{}
	index := uint32(len(x.came))
	x.came = append(x.came, origin{x.index, x.branch})
	last := len(x.next) - 1
	if last < 0 || len(x.next[last]) == cap(x.next[last]) {
		x.next, last = append(x.next, make([]found[S], 0, 1024)), last+1
	}
	x.next[last] = append(x.next[last], found[S]{x.to, index})
	if broken != 0 {
		x.broken, x.breaks = &found[S]{x.to, index}, broken
	}
}

// trace replays the steps to the broken state.
func (x *explorer[S]) trace(starts []S) (lines []string) {
	var branches []uint16
	index := x.broken.index
	for ; int(index) >= len(starts); index = x.came[index].from {
		branches = append(branches, x.came[index].branch)
	}
	x.state = starts[index]
	lines = append(lines, x.text(&x.state))
	for _, branch := range slices.Backward(branches) {
		x.pick, x.branch = int(branch), 0
		x.steps()
		x.state = x.picked.state
		lines = append(lines, x.picked.step.String()+"\n      "+x.text(&x.state))
	}
	return lines
}

// fingerprintOf is equal for states that differ only in the order of their masters. A state is a core, and a column for each
// master.
func fingerprintOf[K, C comparable](seed maphash.Seed, core K, columns []C) uint64 {
	var prints [maxMasters]uint64
	for i := range columns {
		prints[i] = maphash.Comparable(seed, columns[i])
	}
	slices.Sort(prints[:])
	return maphash.Comparable(seed, struct {
		core    K
		columns [maxMasters]uint64
	}{core, prints})
}

// where returns the masters whose columns fulfil so, one bit each.
func where[C any](columns []C, so func(*C) bool) (masters uint8) {
	for i := range columns {
		if so(&columns[i]) {
			masters |= 1 << i
		}
	}
	return masters
}
