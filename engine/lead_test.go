package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/redlock"
	"muxlock/pipeline"
)

// lead has fn lead "name" and returns where Lead's error comes.
func lead(ctx context.Context, e *Engine, fn func(context.Context, *Lock) error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- e.Lead(ctx, "name", 0, fn) }()
	synctest.Wait()
	return done
}

func never(context.Context, *Lock) error { panic("nobody leads") }

// A report is when lines with one message were logged.
type report struct {
	message string
	mu      sync.Mutex // guards the following
	logged  []time.Time
}

func (r *report) config(c *Config) {
	logTo(func(line slog.Record) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if line.Message == r.message {
			r.logged = append(r.logged, time.Now())
		}
	})(c)
}

// times returns when, once all that goes on has come to rest.
func (r *report) times() []time.Time {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.logged)
}

const overstays, fails = "leader goes on without its lock", "leader failed"

func TestLeaderLeadsUntilItReturnsNilWhateverBoundsOtherCalls(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		other := newEngine(Config{Masters: make([]string, 5)}.withDefaults(), s, new(record))
		defer other.Close()
		before := mustAcquire(t, other, "name", 0)
		time.AfterFunc(5*time.Second, func() { _ = before.Release(context.Background()) })
		begin := time.Now()
		require.NoError(t, e.Lead(t.Context(), "name", 0, func(ctx context.Context, lock *Lock) error {
			require.GreaterOrEqual(t, time.Since(begin), 5*time.Second, "there is one leader at a time")
			time.Sleep(time.Hour)
			require.True(t, lock.Valid())
			return ctx.Err()
		}))
		requireNothingLeft(t, e, s)
	}, func(c *Config) { c.MaxAttempts = 1 })
}

func TestLeadersContextEndsAThirdOfTheLeaseBeforeValidityAndTheLockIsKeptUntilItReturns(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		other := newEngine(e.cfg, s, new(record))
		defer other.Close()
		var tokens []string
		var left time.Time
		require.NoError(t, e.Lead(t.Context(), "name", 0, func(ctx context.Context, lock *Lock) error {
			if tokens = append(tokens, lock.lease.token); len(tokens) == 2 {
				require.Less(t, time.Since(left), 10*time.Millisecond, "its error is no failure of its own: no pause")
				return nil
			}
			time.Sleep(5 * time.Second)
			s.set(func() { s.away = true })
			<-ctx.Done()
			require.Equal(t, third, time.Until(lock.Until()))
			require.True(t, lock.Valid())
			require.ErrorIs(t, context.Cause(ctx), errEnding)
			require.ErrorIs(t, context.Cause(ctx), ErrNoQuorum)
			require.NotErrorIs(t, context.Cause(ctx), ErrLost)

			s.set(func() { s.away = false })
			time.Sleep(5 * lease10)
			require.True(t, lock.Valid())
			_, err := other.TryAcquire(t.Context(), "name", 0)
			require.ErrorIs(t, err, ErrTaken, "never released while it runs")
			left = time.Now()
			return ctx.Err()
		}))
		require.Len(t, tokens, 2)
		require.NotEqual(t, tokens[0], tokens[1])
		requireNothingLeft(t, e, s)
	})
}

func TestLeaderThatFailsIsReleasedReportedAndPausesBeforeItCampaignsAgain(t *testing.T) {
	reported := report{message: fails}
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		var failed time.Time
		var pauses []time.Duration
		done := lead(t.Context(), e, func(_ context.Context, lock *Lock) error {
			if !failed.IsZero() {
				pauses = append(pauses, time.Since(failed))
			}
			if len(pauses) == 20 {
				return nil
			}
			failed = time.Now()
			return errors.New("its own")
		})
		time.Sleep(500 * time.Millisecond)
		require.Empty(t, s.locked(), "released meanwhile")
		require.NoError(t, <-done)
		from, to := redlock.TermDelay(lease10)
		different := make(map[time.Duration]bool)
		for _, pause := range pauses {
			require.GreaterOrEqual(t, pause, from)
			require.LessOrEqual(t, pause, to+10*time.Millisecond)
			different[pause] = true
		}
		require.Greater(t, len(different), 10, "random")
		require.Len(t, reported.times(), 20)
		requireNothingLeft(t, e, s)
	}, reported.config)
}

func TestLeaderWhoseLockIsLostCampaignsAgainOnceItHasReturned(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		terms := 0
		require.NoError(t, e.Lead(t.Context(), "name", 0, func(ctx context.Context, lock *Lock) error {
			if terms++; terms == 2 {
				return nil
			}
			s.drop("name")
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), ErrNotHeld)
			require.ErrorIs(t, context.Cause(ctx), ErrLost)
			time.Sleep(time.Hour)
			require.Equal(t, 1, s.count(pipeline.Acquire), "not before")
			return nil // of a term that is over: not the end
		}))
		require.Equal(t, 2, terms)
		requireNothingLeft(t, e, s)
	})
}

func TestLeaderThatWasStoppedAndReturnsBeforeItsTimersRunHasLostTheLock(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		terms := 0
		require.NoError(t, e.Lead(t.Context(), "name", 0, func(ctx context.Context, lock *Lock) error {
			if terms++; terms == 1 {
				lock.lock()
				lock.lease.renewal.until = lock.lease.renewal.until.Add(-lease10)
				lock.unlock()
			}
			return ctx.Err()
		}))
		require.Equal(t, 2, terms)
	})
}

func TestLeaderThatIgnoresItsContextIsReportedOnceItHasNoLock(t *testing.T) {
	for name, spoil := range map[string]func(s *scripted){
		"masters away": func(s *scripted) { s.set(func() { s.away = true }) },
		"key deleted":  func(s *scripted) { s.drop("name") },
	} {
		t.Run(name, func(t *testing.T) {
			reported := report{message: overstays}
			inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
				terms := 0
				require.NoError(t, e.Lead(t.Context(), "name", 0, func(ctx context.Context, lock *Lock) error {
					if terms++; terms == 2 {
						return nil
					}
					spoil(s)
					<-ctx.Done()
					ended := time.Now()
					time.Sleep(third - time.Millisecond)
					require.Empty(t, reported.times())
					time.Sleep(time.Hour)
					require.Equal(t, []time.Time{ended.Add(third)}, reported.times(), "once")
					require.False(t, lock.Valid())
					s.set(func() { s.away = false })
					time.Sleep(time.Hour)
					require.Equal(t, 1, s.count(pipeline.Acquire), "no new term while it runs")
					return nil
				}))
				require.Len(t, reported.times(), 1)
			}, reported.config)
		})
	}
}

func TestEndOfTheContextEndsTheTermAndTheLockIsKeptUntilTheLeaderReturns(t *testing.T) {
	reported := report{message: overstays}
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		own := errors.New("its own")
		for _, returned := range []error{nil, own, context.Canceled} {
			ctx, cancel := context.WithCancel(t.Context())
			done := lead(ctx, e, func(ctx context.Context, lock *Lock) error {
				<-ctx.Done()
				time.Sleep(time.Minute)
				require.True(t, lock.Valid(), "it may clean up for as long as it takes")
				return returned
			})
			time.Sleep(time.Second)
			cancel()
			err := <-done
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, returned == own, errors.Is(err, own))
			if returned != own {
				require.EqualError(t, err, "context canceled", "once")
			}
			requireNothingLeft(t, e, s)
		}
		require.Empty(t, reported.times(), "it had the lock")
	}, reported.config)
}

func TestEndOfTheContextEndsACampaignAndAPause(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		other := newEngine(e.cfg, s, new(record))
		defer other.Close()
		held := mustAcquire(t, other, "name", 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := e.Lead(ctx, "name", 0, never)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, ErrTaken)
		require.NoError(t, held.Release(t.Context()))

		own := errors.New("its own")
		ctx, cancel = context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		begin := time.Now()
		err = e.Lead(ctx, "name", 0, func(context.Context, *Lock) error { return own })
		require.Equal(t, 500*time.Millisecond, time.Since(begin))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, own)
		requireNothingLeft(t, e, s)
	})
}

func TestLeadRefusesBadArgumentsBeforeAnythingIsSent(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		require.ErrorIs(t, e.Lead(t.Context(), "", 0, never), ErrInvalid)
		require.ErrorIs(t, e.Lead(t.Context(), "name", -1, never), ErrInvalid)
		require.ErrorIs(t, e.Lead(t.Context(), "name", time.Hour, never), ErrInvalid)
		require.ErrorIs(t, e.Lead(t.Context(), "name", 0, nil), ErrInvalid)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, e.Lead(ctx, "name", 0, never), context.Canceled)
		require.Zero(t, s.requests())
	})
}

func TestCloseEndsTermAndCampaign(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		leads := lead(t.Context(), e, func(ctx context.Context, lock *Lock) error {
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), ErrClosed)
			return ctx.Err()
		})
		campaigns := lead(t.Context(), e, never)
		time.Sleep(time.Second)
		require.NoError(t, e.Close())
		require.ErrorIs(t, <-leads, ErrClosed)
		require.ErrorIs(t, <-campaigns, ErrClosed)
		require.ErrorIs(t, e.Lead(t.Context(), "name", 0, never), ErrClosed)
	})
}

func TestLockOfALeaderIsReleasedAtTheMastersAndNotHandedOver(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		var tokens []string
		briefly := func(ctx context.Context, lock *Lock) error {
			tokens = append(tokens, lock.lease.token)
			time.Sleep(time.Second)
			return nil
		}
		first, second, waiting := lead(t.Context(), e, briefly), lead(t.Context(), e, briefly), goAcquire(t.Context(), e, 0)
		require.NoError(t, <-first)
		require.NoError(t, <-second)
		last := requireGot(t, waiting)
		require.NotEqual(t, tokens[0], tokens[1])
		require.NotEqual(t, tokens[1], last.lease.token)
		require.Zero(t, e.Stats().HandedOver)
		require.NoError(t, last.Release(t.Context()))
		requireNothingLeft(t, e, s)
	}, handOver(time.Minute))
}

func TestLockThatIsLostBeforeTheTermBeginsHasNoTerm(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		time.Sleep(lease10)
		ended, failed, err := lock.term(t.Context(), third, never)
		require.True(t, ended)
		require.NoError(t, failed)
		require.ErrorIs(t, err, ErrExpired)
		requireNothingLeft(t, e, s)
	})
}

func TestALargeDriftEndsNoTerm(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, _ *scripted) {
		terms := 0
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_ = e.Lead(ctx, "name", 0, func(ctx context.Context, _ *Lock) error {
			terms++
			<-ctx.Done()
			return nil
		})
		require.Equal(t, 1, terms, "renewals go well")
	}, func(c *Config) { c.Drift, c.TTL = 0.5, 10*time.Second })
}
