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

// allocsPerCycle runs cycles on own names in many goroutines and returns the heap
// allocations of the whole process per cycle.
func allocsPerCycle(t testing.TB, e *Engine, workers, cycles int) float64 {
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
	run(max(1, cycles/10)) // pools and buffers grow
	least := math.Inf(1)   // of five: on a busy machine a cycle takes long, and what runs beside it allocates, too
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		run(cycles / 5)
		runtime.ReadMemStats(&after)
		least = min(least, float64(after.Mallocs-before.Mallocs)/float64(workers*(cycles/5)))
	}
	return least
}

func TestCycleAllocatesLittle(t *testing.T) {
	if underRace || testing.Short() {
		t.Skip("counts the race detector's allocations too")
	}
	e := open(t, five(t))
	for _, c := range []struct {
		workers, cycles int
		most            float64
	}{{1024, 60, 2.7}, {64, 400, 2.7}, {1, 2000, 4}} {
		got := allocsPerCycle(t, e, c.workers, c.cycles)
		t.Logf("%d workers: %.2f allocations per cycle", c.workers, got)
		require.LessOrEqual(t, got, c.most, "%d workers", c.workers)
	}
}
