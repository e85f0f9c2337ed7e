package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/redlock"
	"muxlock/pipeline"
)

// extending starts an Extend in a goroutine and returns once it waits for something.
func extending(ctx context.Context, l *Lock, ttl time.Duration) <-chan error {
	got := make(chan error, 1)
	go func() { got <- l.Extend(ctx, ttl) }()
	synctest.Wait()
	return got
}

func TestExtendsOfOneLeaseAreAskedForOneAtATime(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		s.set(func() { s.delay = 100 * time.Millisecond })
		var all []<-chan error
		for range 20 {
			all = append(all, extending(t.Context(), lock, 20*time.Second))
			time.Sleep(time.Millisecond)
		}
		require.Equal(t, 1+1, s.requests(), "one is under way")
		begin := time.Now()
		for _, got := range all {
			require.NoError(t, <-got)
		}
		require.Equal(t, 1+2, s.requests(), "all that came later share one")
		require.Less(t, time.Since(begin), 200*time.Millisecond)
		require.GreaterOrEqual(t, lock.Until().Sub(begin), redlock.Validity(20*time.Second, 0, redlock.DefaultDrift))
	})
}

func TestContextOfAnExtendEndsItsOwnWaitOnly(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		begin := time.Now()
		s.set(func() { s.delay = 100 * time.Millisecond })
		ctx, cancel := context.WithCancel(t.Context())
		first := extending(ctx, lock, 25*time.Second)
		second := extending(t.Context(), lock, 20*time.Second)
		third := extending(ctx, lock, 28*time.Second)
		cancel()
		require.ErrorIs(t, <-first, context.Canceled)
		require.ErrorIs(t, <-third, context.Canceled)
		require.Zero(t, time.Since(begin))
		require.NoError(t, <-second)
		require.Equal(t, 1, s.count(pipeline.Extend))
		require.Equal(t, redlock.Validity(25*time.Second, 0, redlock.DefaultDrift), lock.Until().Sub(begin), "what was sent goes on")
	})
}

func TestExtendThatWaitsForAnotherDoesNotOutliveItsHandle(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		old := mustAcquire(t, e, "name", 0)
		waiting := goAcquire(t.Context(), e, 0)
		s.set(func() { s.delay = 100 * time.Millisecond })
		first := extending(t.Context(), old, 20*time.Second)
		second := extending(t.Context(), old, 25*time.Second)
		require.NoError(t, old.Release(t.Context()))
		lock := requireGot(t, waiting)
		require.ErrorIs(t, <-first, ErrNotHeld)
		require.ErrorIs(t, <-second, ErrNotHeld)
		time.Sleep(time.Second)
		require.Equal(t, 1, s.count(pipeline.Extend))
		require.NoError(t, lock.Release(t.Context()))
		requireNothingLeft(t, e, s)
	})
}

func TestHolderWhoExtendsWhenWarnedIsWarnedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		warned := 0
		require.NoError(t, lock.WarnBefore(3*time.Second, func() {
			if warned++; warned <= 5 {
				require.NoError(t, lock.Extend(context.Background(), 10*time.Second))
			}
		}))
		<-lock.Done()
		synctest.Wait()
		require.Equal(t, 6, warned)
	})
}

func TestWhatIsConfirmedAfterTheEndOfValidityIsUndone(t *testing.T) {
	for name, extend := range map[string]func(l *Lock) error{
		"extend": func(l *Lock) error { return l.Extend(context.Background(), 20*time.Second) },
		"extend, caller gone": func(l *Lock) error {
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			defer cancel()
			return l.Extend(ctx, 20*time.Second)
		},
		"renewal": func(l *Lock) error { return l.KeepAlive(0) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
				lock := mustAcquire(t, e, "name", 0)
				time.Sleep(time.Until(lock.Until()) - 50*time.Millisecond)
				s.set(func() { s.delay = 150 * time.Millisecond })
				begin := time.Now()
				err := extend(lock)
				time.Sleep(time.Until(begin.Add(200 * time.Millisecond)))
				require.Equal(t, []string{"name"}, s.locked(), "the masters extended")
				require.ErrorIs(t, errors.Join(err, lock.Err()), ErrLost)
				require.ErrorIs(t, lock.Err(), ErrExpired)
				require.Zero(t, e.Stats().Renewed)
				time.Sleep(300 * time.Millisecond)
				require.Empty(t, s.locked())
			})
		})
	}
}

func TestHolderRenewsWithItsOwnTTLAndAReleaseIsKeptForTheLongest(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		old := mustAcquire(t, e, "name", 25*time.Second)
		waiting := goAcquire(t.Context(), e, 5*time.Second)
		require.NoError(t, old.Release(t.Context()))
		lock := requireGot(t, waiting)
		require.NoError(t, lock.KeepAlive(0))
		time.Sleep(30 * time.Second)
		crash := time.Now()
		require.NoError(t, lock.Err())
		s.mu.Lock()
		ends := s.keys["name"].ends
		s.mu.Unlock()
		require.LessOrEqual(t, ends.Sub(crash), 5*time.Second, "a crashed holder blocks others no longer")
		require.NoError(t, lock.Release(t.Context()))
		requests, _ := s.history()
		for _, req := range requests {
			switch req.Op {
			case pipeline.Extend:
				require.Equal(t, 5*time.Second, req.TTL)
			case pipeline.Release:
				require.Equal(t, 25*time.Second, req.TTL, "a master may have that acquire still to come")
			}
		}
	})
}

func TestInheritedLeaseIsRenewedWithTheNextHoldersTTL(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		old := mustAcquire(t, e, "name", 25*time.Second)
		time.Sleep(23 * time.Second)
		waiting := goAcquire(t.Context(), e, 5*time.Second)
		require.NoError(t, old.Release(t.Context()))
		lock := requireGot(t, waiting)
		require.NoError(t, lock.KeepAlive(0))
		time.Sleep(10 * time.Second)
		requests, _ := s.history()
		require.Greater(t, len(requests), 3)
		for _, req := range requests[1:] {
			require.Equal(t, 5*time.Second, req.TTL)
		}
	}, handOver(time.Minute))
}

func TestExtendForLongerThatFailsLeavesTheRenewalsAsOftenAsTheyWere(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 1500*time.Millisecond)
		require.NoError(t, lock.KeepAlive(0))
		s.set(func() { s.away = true })
		require.ErrorIs(t, lock.Extend(t.Context(), 30*time.Second), ErrNoQuorum)
		time.Sleep(time.Until(lock.Until()) - 400*time.Millisecond)
		s.set(func() { s.away = false })
		time.Sleep(5 * time.Second)
		require.NoError(t, lock.Err())
	})
}
