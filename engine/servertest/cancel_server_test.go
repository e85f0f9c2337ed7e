package servertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/draw"
	"muxlock/internal/testing/redistest"
)

func TestReleaseIsSentThoughItsContextHasEnded(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	lock, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := lock.Release(ctx); err != nil { // the verdict may be quicker
		require.ErrorIs(t, err, engine.ErrNoQuorum)
		require.ErrorIs(t, err, context.Canceled)
	}
	redistest.Gone(t, masters, t.Name())
}

func TestTenThousandAbandonedAcquiresLeaveNoGoroutineAndNoKey(t *testing.T) {
	masters := redistest.Masters(t, 5)
	e := open(t, masters)
	for i := range 50 {
		cycle(t, e, fmt.Sprint(i))
	}
	opened := func() bool { // the connections that waiters need
		for _, m := range e.Stats().Masters {
			if !m.Tracking {
				return false
			}
		}
		return true
	}
	holder, ctx := open(t, masters), t.Context()
	cycle(t, holder, "warm-up")
	held, err := holder.TryAcquire(ctx, "warm-up", 0)
	require.NoError(t, err)
	var waiting sync.WaitGroup
	waiting.Go(func() { _ = e.Do(ctx, "warm-up", 0, func(context.Context) error { return nil }) })
	await.True(t, opened)
	require.NoError(t, held.Release(ctx))
	waiting.Wait()
	before := runtime.NumGoroutine() + 1 // soon runs its condition in one
	seed := draw.Seed(t)
	var abandoned, acquired atomic.Int64
	var work sync.WaitGroup
	for g := range 64 {
		work.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(g)))
			for abandoned.Load() < 10_000 {
				limit := time.Duration(r.IntN(2000)) * time.Microsecond
				ctx, cancel := context.WithTimeout(context.Background(), limit)
				if r.IntN(2) == 0 {
					ctx, cancel = context.WithCancel(context.Background())
					time.AfterFunc(limit, cancel)
				}
				lock, err := e.Acquire(ctx, fmt.Sprint("name ", r.IntN(48)), 25*time.Second)
				switch {
				case err == nil:
					acquired.Add(1)
					lock.Release(ctx) // which may have ended as well
				case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
					abandoned.Add(1)
				default:
					t.Errorf("unexpected: %v", err)
				}
				cancel()
			}
		})
	}
	work.Wait()
	t.Logf("%d abandoned, %d acquired, largest round %d", abandoned.Load(), acquired.Load(), e.Stats().LargestRound)
	await.Equal(t, 0, func() any { return len(redistest.Keys(t, masters...)) }, "no key is left")
	await.True(t, func() bool { return runtime.NumGoroutine() <= before }, "no goroutine is left")
	require.Zero(t, e.Stats().Queued)
	cycle(t, e, t.Name())
}

func TestAcquireThatNeverAskedSaysWhatIsKnownOfTheMasters(t *testing.T) {
	e, links := bent(t, redistest.Masters(t, 3))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	missing := func() (m *engine.NotReadyError) {
		_, err := e.Acquire(ended, t.Name(), 0)
		require.ErrorIs(t, err, engine.ErrNoQuorum)
		require.ErrorIs(t, err, engine.ErrNotAcquired)
		require.ErrorIs(t, err, context.Canceled)
		errors.As(err, &m)
		return m
	}
	require.Nil(t, missing())
	for _, link := range links[:2] {
		link.RefuseDials(true)
		link.Cut()
	}
	await.Equal(t, 1, func() any { return upMasters(e) })
	m := missing()
	require.NotNil(t, m)
	require.Len(t, m.Causes, 2)
}
