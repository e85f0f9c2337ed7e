package servertest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func mustAcquireShared(t testing.TB, e *engine.Engine, name string, ttl time.Duration) *engine.Lock {
	t.Helper()
	lock, err := e.AcquireShared(context.Background(), name, ttl)
	require.NoError(t, err)
	return lock
}

func TestManyReadOrOneWritesOnRealMasters(t *testing.T) {
	for name, option := range map[string]func(*engine.Config){"": durable, "fenced": fenced} {
		t.Run(name, func(t *testing.T) {
			masters := redistest.Masters(t, 5)
			if name != "" {
				masters = shortSet(t, 5)
			}
			e, other := open(t, masters, option, shortLease), open(t, masters, option, shortLease)
			first, second := mustAcquireShared(t, e, t.Name(), 0), mustAcquireShared(t, other, t.Name(), 0)
			require.NoError(t, second.KeepAlive(0)) // on a busy machine it is needed for longer than its lease
			require.True(t, first.Valid() && second.Valid())
			require.Zero(t, first.Fence())
			require.Zero(t, e.Stats().FencesRaised, "a reader raises no register")
			require.Empty(t, first.Reveal())
			for _, writer := range []*engine.Engine{e, other} {
				_, err := writer.TryAcquire(t.Context(), t.Name(), 0)
				require.ErrorIs(t, err, engine.ErrTaken)
			}
			require.NoError(t, first.Extend(t.Context(), 0))
			require.NoError(t, first.Release(t.Context()))
			require.ErrorIs(t, first.Release(t.Context()), engine.ErrNotHeld)
			_, err := e.TryAcquire(t.Context(), t.Name(), 0)
			require.ErrorIs(t, err, engine.ErrTaken, "one still reads")
			got := make(chan *engine.Lock)
			go func() { got <- mustAcquire(t, e, t.Name(), 0) }()
			await.True(t, func() bool {
				lock, err := open(t, masters, option, shortLease).TryAcquireShared(t.Context(), t.Name(), 0)
				if err == nil {
					require.NoError(t, lock.Release(t.Context()))
				}
				return err != nil
			}, "a writer that waits keeps new readers out")
			require.True(t, second.Valid())
			require.NoError(t, second.Release(t.Context()))
			writer := <-got
			require.Equal(t, name != "", writer.Fence() > 0)
			_, err = other.TryAcquireShared(t.Context(), t.Name(), 0)
			require.ErrorIs(t, err, engine.ErrTaken)
			require.NoError(t, writer.Release(t.Context()))
			require.NoError(t, mustAcquireShared(t, other, t.Name(), 0).Release(t.Context()))
		})
	}
}

func TestReaderIsReleasedAtAMasterThatWasAway(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 3)
	e, links := bent(t, masters)
	stays := mustAcquireShared(t, open(t, masters), t.Name(), 0)
	lock := mustAcquireShared(t, e, t.Name(), 0)
	readers := func(m int) int64 { n, _ := redistest.Command(t, masters[m], "ZCARD", t.Name()).(int64); return n }
	await.True(t, func() bool { return readers(0) == 2 && readers(1) == 2 && readers(2) == 2 })
	links[2].BlackHole(true)
	require.NoError(t, lock.Release(t.Context()))
	await.True(t, func() bool { return !e.Stats().Masters[2].Up })
	require.EqualValues(t, 2, readers(2))
	links[2].BlackHole(false)
	links[2].Cut()
	await.Equal(t, 1, func() any { return readers(2) })
	require.NoError(t, stays.Extend(t.Context(), 0))
}

func TestReaderWhoseContextEndsIsReleased(t *testing.T) {
	masters := redistest.Masters(t, 3)
	e, links := bent(t, masters, masterTimeout(5*time.Second))
	stays := mustAcquireShared(t, open(t, masters), t.Name(), 0)
	for _, l := range links {
		l.HoldReplies(true)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { _, err := e.AcquireShared(ctx, t.Name(), 0); done <- err }()
	readers := func(n int64) func() bool {
		return func() bool {
			for _, m := range masters {
				if there, _ := redistest.Command(t, m, "EVAL", "return redis.call('TYPE', KEYS[1]).ok == 'zset' and redis.call('ZCARD', KEYS[1]) or 1", "1", t.Name()).(int64); there != n {
					return false
				}
			}
			return true
		}
	}
	await.True(t, readers(2))
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	for _, l := range links {
		l.HoldReplies(false)
	}
	await.True(t, readers(1))
	require.NoError(t, stays.Extend(t.Context(), 0))
}
