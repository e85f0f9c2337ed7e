package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/enginetest"
)

// verbs are the calls that acquire, by name. fn is nil for those that take none.
func verbs(e *engine.Engine) map[string]func(ctx context.Context, name string, fn func(context.Context) error) error {
	const ttl = 10 * time.Second
	release := func(l *engine.Lock, err error) error {
		if err == nil {
			err = l.Release(context.Background())
		}
		return err
	}
	return map[string]func(context.Context, string, func(context.Context) error) error{
		"Acquire": func(ctx context.Context, name string, _ func(context.Context) error) error {
			return release(e.Acquire(ctx, name, ttl))
		},
		"AcquireShared": func(ctx context.Context, name string, _ func(context.Context) error) error {
			return release(e.AcquireShared(ctx, name, ttl))
		},
		"AcquirePermit": func(ctx context.Context, name string, _ func(context.Context) error) error {
			return release(e.AcquirePermit(ctx, name, 1, ttl))
		},
		"AcquireAll": func(ctx context.Context, name string, _ func(context.Context) error) error {
			s, err := e.AcquireAll(ctx, []string{"free", name}, ttl)
			if err == nil {
				err = s.Release(context.Background())
			}
			return err
		},
		"Do": func(ctx context.Context, name string, fn func(context.Context) error) error {
			return e.Do(ctx, name, ttl, fn)
		},
		"DoShared": func(ctx context.Context, name string, fn func(context.Context) error) error {
			return e.DoShared(ctx, name, ttl, fn)
		},
		"DoPermit": func(ctx context.Context, name string, fn func(context.Context) error) error {
			return e.DoPermit(ctx, name, 1, ttl, fn)
		},
		"DoAll": func(ctx context.Context, name string, fn func(context.Context) error) error {
			return e.DoAll(ctx, []string{"free", name}, ttl, func(ctx context.Context, _ *engine.Set) error { return fn(ctx) })
		},
		"Lead": func(ctx context.Context, name string, fn func(context.Context) error) error {
			return e.Lead(ctx, name, ttl, func(ctx context.Context, _ *engine.Lock) error { return fn(ctx) })
		},
	}
}

// holds holds a name and a permit of it.
func holds(t *testing.T, e *engine.Engine, name string) (release func()) {
	lock, err := e.Acquire(t.Context(), name, 20*time.Second)
	require.NoError(t, err)
	permit, err := e.AcquirePermit(t.Context(), name, 1, 20*time.Second)
	require.NoError(t, err)
	return func() {
		require.NoError(t, lock.Release(t.Context()))
		require.NoError(t, permit.Release(t.Context()))
	}
}

const budget = 300 * time.Millisecond

func TestAnAcquireOfAnyKindWaitsForItsBudgetAndSaysWhy(t *testing.T) {
	for _, why := range []string{"held here", "held by another process", "no quorum"} {
		t.Run(why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, want := enginetest.New(t, engine.Config{}), engine.ErrTaken
				switch why {
				case "held here":
					holds(t, e.Engine, "name")
				case "held by another process":
					holds(t, e.Open(t, engine.Config{}), "name")
				default:
					e.NoQuorum()
					want = engine.ErrNoQuorum
				}
				for verb, call := range verbs(e.Engine) {
					for range 2 { // the budget is for each call
						began := time.Now()
						err := call(engine.WithWait(t.Context(), budget), "name", func(context.Context) error { return errors.New("was called") })
						require.Equal(t, budget, time.Since(began), verb)
						require.ErrorIs(t, err, want, verb)
						require.ErrorIs(t, err, engine.ErrNotAcquired, verb)
						require.ErrorIs(t, err, context.DeadlineExceeded, verb)
					}
				}
			})
		})
	}
}

func TestAcquireManyHasABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := enginetest.New(t, engine.Config{MasterTimeout: time.Second})
		for i := range 5 {
			e.Slow(i, budget+time.Millisecond)
		}
		began := time.Now()
		for _, r := range e.AcquireMany(engine.WithWait(t.Context(), budget), []string{"a", "b"}, 10*time.Second) {
			require.ErrorIs(t, r.Err, engine.ErrNoQuorum)
			require.ErrorIs(t, r.Err, context.DeadlineExceeded)
		}
		require.Equal(t, budget, time.Since(began))
		e.Heal()
		time.Sleep(time.Second)
		for _, r := range e.AcquireMany(engine.WithWait(t.Context(), budget), []string{"a", "b"}, 10*time.Second) {
			require.NoError(t, r.Err)
		}
	})
}

func TestTheBudgetBoundsNeitherTheWorkNorWhatItAcquires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := enginetest.New(t, engine.Config{})
		other := e.Open(t, engine.Config{})
		for verb, call := range verbs(e.Engine) {
			release, called := holds(t, other, "nested"), verb[0] == 'A'
			err := call(engine.WithWait(t.Context(), budget), "name", func(ctx context.Context) error {
				called = true
				_, bounded := ctx.Deadline()
				require.False(t, bounded, verb)
				time.AfterFunc(10*budget, release)
				lock, err := e.Acquire(ctx, "nested", 10*time.Second)
				require.NoError(t, err, verb)
				require.NoError(t, lock.Release(ctx), verb)
				_, err = other.Acquire(t.Context(), "nested", 10*time.Second)
				require.NoError(t, err)
				began := time.Now()
				_, err = e.Acquire(engine.WithWait(ctx, budget), "nested", 10*time.Second)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, budget, time.Since(began), "a budget of its own")
				return ctx.Err()
			})
			require.NoError(t, err, verb)
			require.True(t, called, verb)
			if verb[0] == 'A' {
				release()
			}
			e.Lose("nested")
		}
	})
}

func TestTheBudgetBoundsNeitherExtendNorRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := enginetest.New(t, engine.Config{MasterTimeout: time.Second})
		ctx := engine.WithWait(t.Context(), budget)
		lock, err := e.Acquire(ctx, "name", 10*time.Second)
		require.NoError(t, err)
		for i := range 5 {
			e.Slow(i, 2*budget)
		}
		time.Sleep(2 * budget)
		require.NoError(t, lock.Extend(ctx, 10*time.Second))
		require.NoError(t, lock.Release(ctx))
	})
}

// A leader that lost its lock campaigns again, for as long as at first.
func TestEachCampaignOfLeadHasTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := enginetest.New(t, engine.Config{})
		other := e.Open(t, engine.Config{})
		terms := 0
		began := time.Now()
		err := e.Lead(engine.WithWait(t.Context(), budget), "name", 10*time.Second, func(ctx context.Context, _ *engine.Lock) error {
			terms++
			time.Sleep(budget)
			took := make(chan *engine.Lock)
			go func() {
				lock, err := other.Acquire(t.Context(), "name", 20*time.Second)
				require.NoError(t, err)
				took <- lock
			}()
			time.Sleep(budget)
			e.Lose("name")
			lock := <-took
			<-ctx.Done()
			if terms < 3 {
				time.AfterFunc(budget/2, func() { _ = lock.Release(t.Context()) })
			}
			began = time.Now()
			return ctx.Err()
		})
		require.Equal(t, 3, terms)
		require.ErrorIs(t, err, engine.ErrTaken)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, budget, time.Since(began))
	})
}

func TestABudgetThatIsNotPositiveIsInvalidBeforeAnythingIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := enginetest.New(t, engine.Config{})
		before := e.Stats().Rounds
		for _, d := range []time.Duration{0, -time.Second} {
			ctx := engine.WithWait(t.Context(), d)
			for verb, call := range verbs(e.Engine) {
				err := call(ctx, "name", func(context.Context) error { return errors.New("was called") })
				require.ErrorIs(t, err, engine.ErrInvalid, verb)
				require.ErrorContains(t, err, "WithWait is "+d.String(), verb)
			}
			require.ErrorIs(t, e.AcquireMany(ctx, []string{"name"}, 0)[0].Err, engine.ErrInvalid)
		}
		require.Equal(t, before, e.Stats().Rounds)
	})
}

func TestTheCtxOfACallEndsItsWaitBeforeTheBudgetDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := enginetest.New(t, engine.Config{})
		holds(t, e.Engine, "name")
		for verb, call := range verbs(e.Engine) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(budget/2, cancel)
			began := time.Now()
			err := call(engine.WithWait(ctx, budget), "name", func(context.Context) error { return nil })
			require.Equal(t, budget/2, time.Since(began), verb)
			require.ErrorIs(t, err, context.Canceled, verb)
			require.NotErrorIs(t, err, context.DeadlineExceeded, verb)
			require.ErrorIs(t, err, engine.ErrTaken, verb)
		}
	})
}
