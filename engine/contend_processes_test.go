package engine

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A herd is processes that take one name in turn, each with paths of its own to five masters.
type herd struct {
	processes  int
	near, far  time.Duration // there; back takes none
	hold, idle time.Duration
}

// run returns how long the processes have waited for the name, each time that they had it in
// so long.
func (h herd) run(t *testing.T, long time.Duration) (waits []time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(uint64(h.processes), 0))
		engines := scattered(t, rng, h.processes, h.near, h.far)
		ctx, cancel := context.WithTimeout(t.Context(), long)
		defer cancel()
		had := make(chan []time.Duration)
		for _, e := range engines {
			go func() {
				var waits []time.Duration
				for {
					start := time.Now()
					lock, err := e.Acquire(ctx, "name", 3*time.Second)
					if err != nil {
						break
					}
					waits = append(waits, time.Since(start))
					time.Sleep(h.hold)
					_ = lock.Release(ctx)
					time.Sleep(h.idle)
				}
				had <- waits
			}()
		}
		for range h.processes {
			waits = append(waits, <-had...)
		}
	})
	return waits
}

// Where each split vote wakes all who wait, so that they split the next one, 60 get a
// seventh of what 3 get.
func TestManyProcessesThatWantOneNameGetItHalfAsOftenAsFew(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates 60 processes")
	}
	often := func(processes int) int {
		h := herd{processes: processes, near: time.Millisecond, far: 2 * time.Millisecond, hold: time.Millisecond}
		return len(h.run(t, 2*time.Second))
	}
	few, many := often(3), often(60)
	t.Logf("%d of 60, %d of 3", many, few)
	require.Greater(t, many, few/2)
}

// Two that hold for little longer than an attempt takes find the name free soon as well.
// Where that alone is taken for a crowd, one in a hundred waits for 0.4 s, and some for 1.5 s.
func TestTwoProcessesThatHoldForShortAreNoCrowd(t *testing.T) {
	h := herd{processes: 2, near: 20 * time.Millisecond, far: 20 * time.Millisecond, hold: 30 * time.Millisecond, idle: 40 * time.Millisecond}
	waits := h.run(t, time.Minute)
	slices.Sort(waits)
	most := waits[len(waits)*99/100]
	t.Logf("%d times, at the 99th percentile after %v, at most %v", len(waits), most, waits[len(waits)-1])
	require.Less(t, most, 150*time.Millisecond)
}
