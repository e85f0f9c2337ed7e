package servertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func TestDoHoldsTheLockWhileTheFunctionRuns(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	ran := false
	require.NoError(t, e.Do(t.Context(), t.Name(), 0, func(ctx context.Context) error {
		ran = true
		_, err := e.TryAcquire(ctx, t.Name(), 0)
		require.ErrorIs(t, err, engine.ErrTaken)
		return ctx.Err()
	}))
	require.True(t, ran)
	redistest.Gone(t, masters, t.Name())

	failure := errors.New("failure of fn")
	require.ErrorIs(t, e.Do(t.Context(), t.Name(), 0, func(context.Context) error { return failure }), failure)
	cycle(t, e, t.Name())
}

func TestDoReleasesWhenTheFunctionPanics(t *testing.T) {
	e := open(t, five(t))
	require.PanicsWithValue(t, "oops", func() {
		e.Do(t.Context(), t.Name(), 0, func(context.Context) error { panic("oops") })
	})
	cycle(t, e, t.Name())
}

func TestDoReleasesThoughItsContextHasEnded(t *testing.T) {
	e := open(t, five(t))
	ctx, cancel := context.WithCancel(t.Context())
	err := e.Do(ctx, t.Name(), 0, func(held context.Context) error {
		cancel()
		<-held.Done()
		return held.Err()
	})
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, engine.ErrNoQuorum)
	cycle(t, e, t.Name())
}

func TestDoEndsTheFunctionsContextOnLossAndSaysSo(t *testing.T) {
	t.Parallel()
	masters := five(t)
	e := open(t, masters)
	failed := errors.New("cut short")
	err := e.Do(t.Context(), t.Name(), 3*time.Second, func(ctx context.Context) error {
		await.True(t, func() bool { return e.Stats().Renewed >= 4 }) // past its ttl
		require.NoError(t, ctx.Err())
		redistest.Delete(t, masters, t.Name())
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), engine.ErrLost)
		return failed
	})
	require.ErrorIs(t, err, failed)
	require.ErrorIs(t, err, engine.ErrLost)
	require.ErrorIs(t, err, engine.ErrNotHeld)
	require.NotErrorIs(t, err, engine.ErrExpired, "known before validity ran out")
	require.EqualValues(t, 1, e.Stats().Lost)
}

func TestDoDoesNotRunWithoutTheLock(t *testing.T) {
	masters := five(t)
	e, holder := open(t, masters, func(c *engine.Config) { c.MaxAttempts, c.RetryHeld = 2, time.Minute }), open(t, masters)
	lock, err := holder.TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	require.NoError(t, lock.KeepAlive(0))
	everywhere(t, masters, lock)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	returned := make(chan error)
	go func() {
		returned <- e.Do(ctx, t.Name(), 0, func(context.Context) error {
			t.Error("ran without the lock")
			return nil
		})
	}()
	await.True(t, func() bool { return e.Stats().Taken > 0 })
	cancel()
	err = <-returned
	require.ErrorIs(t, err, engine.ErrTaken)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, lock.Release(t.Context()))
}

func TestTryDoAsksOnceAndRunsUnderTheLock(t *testing.T) {
	masters := five(t)
	e, other := open(t, masters), open(t, masters)
	require.ErrorIs(t, e.TryDo(t.Context(), t.Name(), 0, nil), engine.ErrInvalid)
	ran := false
	require.NoError(t, e.TryDo(t.Context(), t.Name(), 0, func(ctx context.Context) error {
		lock, ok := engine.LockFrom(ctx)
		require.True(t, ok)
		everywhere(t, masters, lock)
		err := other.TryDo(ctx, t.Name(), 0, func(context.Context) error {
			t.Error("ran without the lock")
			return nil
		})
		require.ErrorIs(t, err, engine.ErrTaken)
		ran = true
		return nil
	}))
	require.True(t, ran)
	require.EqualValues(t, 1, other.Stats().Taken, "one attempt")
	redistest.Gone(t, masters, t.Name())
}
