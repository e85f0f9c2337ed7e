package redsynctest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
)

// Redsync polls for the name that an engine's goroutines hand each other.
func TestRedsyncBesideAnEngineGetsAQuarterOfAFairShareAtLeast(t *testing.T) {
	if testing.Short() {
		t.Skip("takes five seconds")
	}
	addrs := redistest.Addrs(redistest.Masters(t, 3))
	var holds [2]atomic.Int64
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for i, lib := range []library{openShim(t, addrs), openRedsync(t, addrs)} {
		for range 8 {
			all.Go(func() {
				for {
					m := lib("name", expiry(8*time.Second), delay(20*time.Millisecond), tries(1000))
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
	ours, theirs := holds[0].Load(), holds[1].Load()
	t.Logf("engine %d, Redsync %d", ours, theirs)
	require.Greater(t, theirs, (ours+theirs)/8)
}
