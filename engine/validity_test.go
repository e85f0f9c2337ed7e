package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/redlock"
)

func mustAcquire(t *testing.T, e *Engine, name string, ttl time.Duration) *Lock {
	t.Helper()
	lock, err := e.Acquire(t.Context(), name, ttl)
	require.NoError(t, err)
	return lock
}

func TestDoneIsClosedAtUntilToTheNanosecond(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, _ *scripted) {
		start := time.Now()
		lock := mustAcquire(t, e, "name", 10*time.Second)
		valid := redlock.Validity(10*time.Second, 0, redlock.DefaultDrift)
		require.Equal(t, valid, lock.Until().Sub(start))
		held, cancel := lock.Context(t.Context())
		defer cancel()
		done := lock.Done()
		time.Sleep(time.Until(lock.Until()) - 1)
		synctest.Wait()
		require.True(t, lock.Valid())
		require.NoError(t, held.Err())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		<-done
		require.False(t, lock.Valid())
		require.ErrorIs(t, context.Cause(held), ErrLost)
		require.ErrorIs(t, context.Cause(held), ErrExpired)
		require.Equal(t, done, lock.Done())
		require.EqualValues(t, 1, e.Stats().Lost, "counted once")
	})
}

func TestLossIsFoundByWhoeverAsksFirst(t *testing.T) {
	for name, ask := range map[string]func(t *testing.T, l *Lock){
		"Err":    func(t *testing.T, l *Lock) { require.ErrorIs(t, l.Err(), ErrLost) },
		"Valid":  func(t *testing.T, l *Lock) { require.False(t, l.Valid()) },
		"Done":   func(t *testing.T, l *Lock) { <-l.Done() },
		"Extend": func(t *testing.T, l *Lock) { require.ErrorIs(t, l.Extend(t.Context(), 0), ErrLost) },
		"Context": func(t *testing.T, l *Lock) {
			ctx, cancel := l.Context(t.Context())
			defer cancel()
			require.ErrorIs(t, context.Cause(ctx), ErrLost)
		},
		"KeepAlive":  func(t *testing.T, l *Lock) { require.ErrorIs(t, l.KeepAlive(0), ErrLost) },
		"WarnBefore": func(t *testing.T, l *Lock) { require.ErrorIs(t, l.WarnBefore(1, func() {}), ErrLost) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *Engine, _ *scripted) {
				lock := mustAcquire(t, e, "name", time.Second)
				time.Sleep(time.Second)
				ask(t, lock)
				require.EqualValues(t, 1, e.Stats().Lost)
				require.Empty(t, e.keeper.leases)
			})
		})
	}
}

func TestTimerThatComesEarlyIsSetAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, _ *scripted) {
		lock := mustAcquire(t, e, "name", time.Second)
		done := lock.Done()
		lock.lock()
		lock.lease.renewal.until = lock.lease.renewal.until.Add(time.Second) // as an extend does that races the timer
		lock.unlock()
		time.Sleep(time.Second)
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("closed too early")
		default:
		}
		time.Sleep(time.Second)
		<-done
	})
}
