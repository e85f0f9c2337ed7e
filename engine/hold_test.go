package engine

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestContextOfDoAndLeadCarriesTheInnermostLock(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		_, under := LockFrom(t.Context())
		require.False(t, under)
		var outer *Lock
		require.NoError(t, e.Lead(t.Context(), "outer", 0, func(ctx context.Context, lock *Lock) error {
			var under bool
			outer, under = LockFrom(ctx)
			require.True(t, under)
			require.Same(t, lock, outer)
			return e.Do(ctx, "inner", 0, func(ctx context.Context) error {
				derived, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				inner, under := LockFrom(derived)
				require.True(t, under)
				require.Equal(t, "inner", inner.Name())
				return nil
			})
		}))
		require.False(t, outer.Valid())
	})
}

func TestReleaseWithoutAContextReleases(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		var none context.Context
		for range 2 { // a name that stays locked here would block the second
			lock := mustAcquire(t, e, "name", 0)
			require.NotPanics(t, func() { require.NoError(t, lock.Release(none)) })
		}
		lock := mustAcquire(t, e, "name", 0)
		waiting := line(t.Context(), e, 0)
		require.NoError(t, lock.Release(none))
		require.NoError(t, requireGot(t, waiting).Release(none))
		requireNothingLeft(t, e, s)
	})
}

func TestDoWithoutAFunctionIsInvalidBeforeAnythingIsSent(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		var err error
		require.NotPanics(t, func() { err = e.Do(t.Context(), "name", 0, nil) })
		require.ErrorIs(t, err, ErrInvalid)
		require.Zero(t, s.requests())
	})
}

func TestLocksAreNotReentrant(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		require.NoError(t, e.Do(t.Context(), "name", 0, func(ctx context.Context) error {
			_, err := e.TryAcquire(ctx, "name", 0)
			require.ErrorIs(t, err, ErrTaken)
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			err = e.Do(ctx, "name", 0, func(context.Context) error { panic("not held twice") })
			require.ErrorIs(t, err, ErrTaken)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, e.Lead(ctx, "name", 0, never), context.DeadlineExceeded)
			return nil
		}))
		requireNothingLeft(t, e, s)
	})
}
