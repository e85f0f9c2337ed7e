package model

import (
	"hash/maphash"
	"math/bits"

	"muxlock/internal/fencing"
)

// A Result is the outcome of a search.
type Result struct {
	States, Depth int
	Counted       int      // the most tokens that count in one state
	Broken        string   // the property that does not hold; "": all hold in every state
	Trace         []string // the shortest way to the broken state
}

// A search visits every state of a Model.
type search struct {
	explorer[state]
	m       *Model
	seed    maphash.Seed
	counted int

	admissions []fencing.Admission[tick]          // all values so far
	known      map[fencing.Admission[tick]]uint16 // their indices
	answers    map[question]answer                // to operators
}

type tick uint8

func (t tick) Before(u tick) bool { return t < u }

// Search searches a model completely, or until a property does not hold.
func (m *Model) Search() (r Result) {
	x := &search{m: m, seed: maphash.MakeSeed(), known: make(map[fencing.Admission[tick]]uint16), answers: make(map[question]answer)}
	x.explorer = explorer[state]{steps: x.steps, forget: m.forget, enter: x.enter}
	x.admission(fencing.Admission[tick]{}) // is 0
	r = x.search(m.starts(x), m.Most, (*state).String)
	r.Counted = x.counted
	return r
}

func (x *search) enter(s *state) (fingerprint uint64, broken property) {
	x.m.check(s)
	tokens := 0
	for _, counted := range s.counted {
		tokens += bits.OnesCount32(counted)
	}
	x.counted = max(x.counted, tokens)
	return fingerprintOf(x.seed, s.core, s.columns[:x.m.Masters]), s.broken
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
