package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

func TestDoReleasesHoweverItEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		ctx, cancel := context.WithCancel(t.Context())
		err := e.Do(ctx, "name", 0, func(held context.Context) error {
			cancel()
			<-held.Done()
			return held.Err()
		})
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, ErrNoQuorum)
		require.PanicsWithValue(t, "oops", func() {
			_ = e.Do(t.Context(), "name", 0, func(context.Context) error { panic("oops") })
		})
		require.PanicsWithValue(t, "oops", func() {
			_ = e.Lead(t.Context(), "name", 0, func(context.Context, *Lock) error { panic("oops") })
		})
		require.Equal(t, s.count(pipeline.Acquire), s.count(pipeline.Release))
		own := errors.New("the function's own")
		before := s.requests()
		require.ErrorIs(t, e.TryDo(t.Context(), "name", 0, nil), ErrInvalid)
		require.ErrorIs(t, e.Do(t.Context(), "name", 0, nil), ErrInvalid)
		require.Equal(t, before, s.requests())
		require.ErrorIs(t, e.TryDo(t.Context(), "name", 0, func(ctx context.Context) error {
			require.ErrorIs(t, e.TryDo(ctx, "name", 0, func(context.Context) error { panic("not held twice") }), ErrTaken)
			return own
		}), own)
		requireNothingLeft(t, e, s)
	})
}
