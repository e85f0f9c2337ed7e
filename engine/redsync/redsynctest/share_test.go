package redsynctest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
)

// Redsync polls for the name that engines' goroutines hand each other. RESULTS and package redsync have the figures.
func TestRedsyncBesideEnginesGetsAQuarterOfAFairShareAtLeast(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	addrs := redistest.Addrs(redistest.Masters(t, 3))
	for engines := 1; engines <= 2; engines++ {
		t.Run(fmt.Sprint(engines), func(t *testing.T) {
			processes := []library{openRedsync(t, addrs)} // as far as the masters can tell
			for range engines {
				processes = append(processes, openShim(t, addrs))
			}
			least, share := 1/float64(len(processes))/4, 0.0
			for tries := 0; tries < 4 && share <= least; tries++ { // who polls has what a busy machine leaves it
				share = shareOfFirst(t, processes)
			}
			require.Greater(t, share, least)
		})
	}
}

// shareOfFirst has eight goroutines of each process want one name for five seconds.
func shareOfFirst(t *testing.T, processes []library) float64 {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	name, holds := newKey(t), make([]atomic.Int64, len(processes))
	var all sync.WaitGroup
	for i, process := range processes {
		for range 8 {
			all.Go(func() {
				for {
					m := process(name, expiry(8*time.Second), delay(20*time.Millisecond), tries(1000))
					if m.LockContext(ctx) != nil {
						return
					}
					holds[i].Add(1)
					time.Sleep(time.Millisecond)
					_, _ = m.Unlock()
				}
			})
		}
	}
	all.Wait()
	var sum int64
	for i := range holds {
		sum += holds[i].Load()
	}
	share := float64(holds[0].Load()) / float64(sum)
	t.Logf("Redsync had %.0f %% of %d holds", 100*share, sum)
	return share
}
