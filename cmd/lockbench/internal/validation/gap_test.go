package validation

import (
	"math"
	"testing"
	"time"
)

// Redsync's delays.
const (
	pollFrom = 50 * time.Millisecond
	pollTo   = 250 * time.Millisecond
)

// polled is hand-over times among waiters that have polled for long.
func polled(waiters, n int, from, to time.Duration) (gaps []float64) {
	rng := seeded(uint64(waiters), uint64(from))
	for range n {
		release := 600e6 + 300e6*rng.Float64()
		first := math.Inf(1)
		for range waiters {
			at := 0.0
			for at <= release {
				at += float64(from) + rng.Float64()*float64(to-from)
			}
			first = min(first, at-release)
		}
		gaps = append(gaps, first)
	}
	return gaps
}

func TestHandOverIsWithinForTheRightWaitersAndDelay(t *testing.T) {
	const n = 400
	for _, g := range gapWaiters {
		k := g.waiters
		requireAll(t, Within, gapCheck(k, 0, polled(k, n, pollFrom, pollTo)))
		requireAll(t, Outside,
			gapCheck(k, 0, polled(k+1, 4*n, pollFrom, pollTo)),
			gapCheck(k, 0, polled(k, 4*n, pollFrom, pollTo*5/4)))
	}
}
