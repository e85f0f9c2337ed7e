package servertest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func TestStoppedMajorityIsNoQuorumInTimeAndLeavesNothingLocked(t *testing.T) {
	const ttl = 25 * time.Second
	t.Parallel()
	masters := redistest.Masters(t, 5)
	e := open(t, masters)
	for _, m := range masters[:3] {
		require.NoError(t, m.Pause())
	}
	var names []string
	for i := range 3 {
		names = append(names, fmt.Sprint(t.Name(), i))
		ctx, cancel := context.WithTimeout(t.Context(), ttl/2)
		begin := time.Now()
		_, err := e.TryAcquire(ctx, names[i], ttl)
		cancel()
		t.Logf("attempt %d took %v with MasterTimeout %v", i, time.Since(begin), await.Patience)
		require.ErrorIs(t, err, engine.ErrNoQuorum)
		require.ErrorIs(t, err, engine.ErrNotAcquired)
		require.NotErrorIs(t, err, context.DeadlineExceeded, "it ends by itself")
		for _, m := range masters[:3] {
			require.Contains(t, err.Error(), m.Addr())
		}
	}
	redistest.Gone(t, masters[3:], names...)
	for _, m := range masters[:3] {
		require.NoError(t, m.Resume())
	}
	await.Equal(t, 5, func() any { return upMasters(e) })
	await.Equal(t, 0, func() any { return pendingReleases(e) }, "second releases are sent")
	redistest.Gone(t, masters, names...)
	cycle(t, e, names[0])
}

func TestScriptFlushCostsNoCall(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	stop := make(chan struct{})
	var work sync.WaitGroup
	for i := range 32 {
		work.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				lock, err := e.TryAcquire(context.Background(), fmt.Sprint(t.Name(), "/", i, "/", n), 0)
				if err == nil {
					err = lock.Extend(context.Background(), 20*time.Second)
				}
				if err == nil {
					err = lock.Release(context.Background())
				}
				if err != nil {
					t.Errorf("call failed: %v", err)
					return
				}
			}
		})
	}
	for range 20 {
		for _, m := range masters {
			redistest.Command(t, m, "SCRIPT", "FLUSH")
		}
	}
	close(stop)
	work.Wait()
	for _, m := range masters { // and in the plain commands of a lone caller
		redistest.Command(t, m, "SCRIPT", "FLUSH")
	}
	lock, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	require.NoError(t, lock.Extend(t.Context(), 20*time.Second))
	for _, m := range masters {
		redistest.Command(t, m, "SCRIPT", "FLUSH")
	}
	require.NoError(t, lock.Release(t.Context()))
	for _, m := range e.Stats().Masters {
		require.Zero(t, m.SetAside)
	}
	require.Positive(t, e.Stats().Acquired)
	await.Equal(t, 0, func() any { return len(ownKeys(t, masters)) })
}
