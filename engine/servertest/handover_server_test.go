package servertest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/await"
)

// TestOneOfAnotherProcessGetsItsTurnBesideManyOfOurs has 64 goroutines of one engine pass
// a lock among themselves, and one of another engine want it too.
func TestOneOfAnotherProcessGetsItsTurnBesideManyOfOurs(t *testing.T) {
	masters := five(t)
	many, one := open(t, masters), open(t, masters)
	const turns = 10
	ctx, cancel := context.WithCancel(t.Context())
	var crowd sync.WaitGroup
	for range 64 {
		crowd.Go(func() {
			for ctx.Err() == nil {
				if lock, err := many.Acquire(ctx, t.Name(), 0); err == nil {
					_ = lock.Release(context.Background())
				}
			}
		})
	}
	await.True(t, func() bool { return many.Stats().HandedOver > 0 })
	before, start := many.Stats().Acquired, time.Now()
	for range turns {
		require.NoError(t, mustAcquire(t, one, t.Name(), 0).Release(t.Context()))
	}
	took := time.Since(start)
	acquired := many.Stats().Acquired - before
	cancel()
	crowd.Wait()
	t.Logf("one: %.0f a second, 64 others: %.0f a second", turns/took.Seconds(), float64(acquired)/took.Seconds())
}
