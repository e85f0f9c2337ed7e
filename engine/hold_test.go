package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
	"muxlock/pipeline"
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
				innermost := func(ctx context.Context) string {
					lock, _ := LockFrom(ctx)
					return lock.Name()
				}
				return errors.Join(
					e.DoAll(ctx, []string{"a", "b"}, 0, func(ctx context.Context, _ *Set) error {
						require.Equal(t, "inner", innermost(ctx), "a Set is no lock")
						return nil
					}),
					e.DoShared(ctx, "read", 0, func(ctx context.Context) error {
						require.Equal(t, "read", innermost(ctx))
						return nil
					}),
					e.DoPermit(ctx, "permit", 2, 0, func(ctx context.Context) error {
						require.Equal(t, "permit", innermost(ctx))
						return nil
					}),
				)
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
		waiting := goAcquire(t.Context(), e, 0)
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

func TestDoHoldsTheLockWhileTheFunctionRuns(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	ran := false
	require.NoError(t, e.Do(t.Context(), t.Name(), 0, func(ctx context.Context) error {
		ran = true
		_, err := e.TryAcquire(ctx, t.Name(), 0)
		require.ErrorIs(t, err, ErrTaken)
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
	require.NotErrorIs(t, err, ErrNoQuorum)
	cycle(t, e, t.Name())
}

func TestDoEndsTheFunctionsContextOnLossAndSaysSo(t *testing.T) {
	t.Parallel()
	masters := five(t)
	e := open(t, masters)
	failed := errors.New("cut short")
	err := e.Do(t.Context(), t.Name(), 3*time.Second, func(ctx context.Context) error {
		soon(t, func() bool { return e.Stats().Renewed >= 4 }) // past its ttl
		require.NoError(t, ctx.Err())
		redistest.Delete(t, masters, t.Name())
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), ErrLost)
		return failed
	})
	require.ErrorIs(t, err, failed)
	require.ErrorIs(t, err, ErrLost)
	require.ErrorIs(t, err, ErrNotHeld)
	require.NotErrorIs(t, err, ErrExpired, "known before validity ran out")
	require.EqualValues(t, 1, e.Stats().Lost)
}

func TestDoDoesNotRunWithoutTheLock(t *testing.T) {
	masters := five(t)
	e, holder := open(t, masters, func(c *Config) { c.MaxAttempts, c.RetryHeld = 2, time.Minute }), open(t, masters)
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
	soon(t, func() bool { return e.Stats().Taken > 0 })
	cancel()
	err = <-returned
	require.ErrorIs(t, err, ErrTaken)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, lock.Release(t.Context()))
}

func TestTryDoAsksOnceAndRunsUnderTheLock(t *testing.T) {
	masters := five(t)
	e, other := open(t, masters), open(t, masters)
	require.ErrorIs(t, e.TryDo(t.Context(), t.Name(), 0, nil), ErrInvalid)
	ran := false
	require.NoError(t, e.TryDo(t.Context(), t.Name(), 0, func(ctx context.Context) error {
		lock, ok := LockFrom(ctx)
		require.True(t, ok)
		everywhere(t, masters, lock)
		err := other.TryDo(ctx, t.Name(), 0, func(context.Context) error {
			t.Error("ran without the lock")
			return nil
		})
		require.ErrorIs(t, err, ErrTaken)
		ran = true
		return nil
	}))
	require.True(t, ran)
	require.EqualValues(t, 1, other.Stats().Taken, "one attempt")
	redistest.Gone(t, masters, t.Name())
}

func TestDoKeepsTheLockAliveWhileTheFunctionRuns(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		err := e.Do(t.Context(), "name", 0, func(ctx context.Context) error {
			time.Sleep(time.Minute)
			return ctx.Err()
		})
		require.NoError(t, err)
		require.Greater(t, s.count(pipeline.Extend), 15)
		requireNothingLeft(t, e, s)
	})
}

func TestFunctionOfDoBoundsItsRenewals(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		begin := time.Now()
		err := e.Do(t.Context(), "name", 0, func(ctx context.Context) error {
			lock, _ := LockFrom(ctx)
			require.NoError(t, lock.KeepAlive(time.Minute))
			select {
			case <-ctx.Done():
			case <-time.After(time.Hour):
			}
			held := time.Since(begin)
			require.Greater(t, held, time.Minute)
			require.LessOrEqual(t, held, time.Minute+lease10)
			return context.Cause(ctx)
		})
		require.ErrorIs(t, err, ErrLost)
		require.ErrorIs(t, err, ErrExpired)
		requireNothingLeft(t, e, s)
	})
}

func TestDoCancelsTheFunctionWithTheCauseOfTheLoss(t *testing.T) {
	for name, spoil := range map[string]func(s *scripted){
		"masters away": func(s *scripted) { s.set(func() { s.away = true }) },
		"key deleted":  func(s *scripted) { s.drop("name") },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
				own := errors.New("the function's own")
				cause := map[string]error{"masters away": ErrNoQuorum, "key deleted": ErrNotHeld}[name]
				err := e.Do(t.Context(), "name", 0, func(ctx context.Context) error {
					spoil(s)
					<-ctx.Done()
					require.ErrorIs(t, context.Cause(ctx), ErrLost)
					require.ErrorIs(t, context.Cause(ctx), cause)
					return fmt.Errorf("%w: %w", own, context.Cause(ctx))
				})
				require.ErrorIs(t, err, own)
				require.ErrorIs(t, err, ErrLost)
				require.ErrorIs(t, err, cause)
				require.Equal(t, 1, strings.Count(err.Error(), ErrLost.Error()), err)
			})
		})
	}
}
