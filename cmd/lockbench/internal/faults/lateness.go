package faults

import (
	"math/rand/v2"
	"time"

	"muxlock/bench"
)

// lateness draws the delays of one direction of a connection.
type lateness []*bench.Sampler

func newLateness(spans []bench.Span) (l lateness) {
	for _, s := range spans {
		l = append(l, s.Sampler(rand.Uint64(), 0))
	}
	return l
}

func (l lateness) next() (sum time.Duration) {
	for _, s := range l {
		sum += s.Next()
	}
	return sum
}
