package engine

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// allocsPerCycle runs cycles on own names in many goroutines, several times, and
// returns the least heap allocations of the whole process per cycle. What a master
// that lags costs, on a busy machine nearly each second cycle of a lone caller, is
// not in it: one run in which none lagged is enough.
func allocsPerCycle(t testing.TB, e *Engine, workers, cycles, runs int) float64 {
	t.Helper()
	names := make([]string, workers)
	for i := range names {
		names[i] = fmt.Sprint(t.Name(), "/", i)
	}
	run := func(cycles int) {
		var all sync.WaitGroup
		for _, name := range names {
			all.Go(func() {
				for range cycles {
					lock, err := e.Acquire(context.Background(), name, 0)
					if err != nil {
						t.Error(err)
						return
					}
					if err := lock.Release(context.Background()); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
	}
	run(cycles) // pools and buffers grow
	least := math.Inf(1)
	for range runs {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		run(cycles)
		runtime.ReadMemStats(&after)
		least = min(least, float64(after.Mallocs-before.Mallocs)/float64(workers*cycles))
	}
	return least
}

func TestCycleAllocatesLittle(t *testing.T) {
	if underRace || testing.Short() {
		t.Skip("counts the race detector's allocations too")
	}
	e := open(t, five(t))
	for _, c := range []struct {
		workers, cycles, runs int
		most                  float64
	}{{1024, 12, 5, 2.7}, {64, 80, 5, 2.7}, {1, 25, 300, 2.7}} {
		got := allocsPerCycle(t, e, c.workers, c.cycles, c.runs)
		t.Logf("%d workers: %.2f allocations per cycle", c.workers, got)
		require.LessOrEqual(t, got, c.most, "%d workers", c.workers)
	}
}
