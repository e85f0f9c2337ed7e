package faults

import (
	"math/rand/v2"
	"time"

	"muxlock/bench"
)

// lateness draws the delays of one direction of a connection.
type lateness []func() time.Duration

func newLateness(spans []bench.Span) (l lateness) {
	for _, s := range spans {
		l = append(l, s.Sampler(rand.Uint64(), 0))
	}
	return l
}

func (l lateness) next() (sum time.Duration) {
	for _, draw := range l {
		sum += draw()
	}
	return sum
}
