package model

import (
	"math/bits"

	"muxlock/internal/fencing"
)

// A search visits every state of a Model.
type search struct {
	explorer[state]
	m *Model

	admissions []fencing.Admission[tick]          // all values so far
	known      map[fencing.Admission[tick]]uint16 // their indices
	answers    map[question]answer                // to operators
}

type tick uint8

func (t tick) Before(u tick) bool { return t < u }

// Search searches a model completely, or until a property does not hold.
func (m *Model) Search() Result {
	x := &search{m: m, known: make(map[fencing.Admission[tick]]uint16), answers: make(map[question]answer)}
	x.explorer = explorer[state]{steps: x.steps, forget: m.forget, enter: x.enter, text: (*state).String}
	x.admission(fencing.Admission[tick]{}) // is 0
	return x.search(m.Most, m.starts(x)...)
}

func (x *search) enter(s *state) (fingerprint uint64, counted int, broken property) {
	x.m.check(s)
	for _, tokens := range s.counted {
		counted += bits.OnesCount32(tokens)
	}
	return fingerprintOf(x.seed, s.core, s.columns[:x.m.masters()]), counted, s.broken
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
