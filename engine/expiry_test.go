package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
	"muxlock/pipeline"
)

// bubbleLock is a lock that has just been acquired, in a synctest bubble: nothing of
// what is tried on it asks the masters.
func bubbleLock(ttl time.Duration) *Lock {
	e := &Engine{cfg: Config{}.withDefaults()}
	return newLock(e, pipeline.Request{Name: "name", Token: secret, TTL: ttl}, clock.Now())
}

func TestDoneIsClosedAtUntilToTheNanosecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock := bubbleLock(10 * time.Second)
		valid := validity(10*time.Second, 0, defaultDrift)
		require.Equal(t, valid, time.Until(lock.Until()))
		held, cancel := lock.Context(t.Context())
		defer cancel()
		done := lock.Done()
		time.Sleep(valid - 1)
		synctest.Wait()
		require.True(t, lock.Valid())
		require.NoError(t, held.Err())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		<-done
		require.False(t, lock.Valid())
		require.ErrorIs(t, context.Cause(held), ErrLost)
		require.Equal(t, done, lock.Done())
		require.Equal(t, uint64(1), lock.e.counts.lost.Load(), "counted once")
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
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lock := bubbleLock(time.Second)
				time.Sleep(time.Second)
				ask(t, lock)
				require.Equal(t, uint64(1), lock.e.counts.lost.Load())
				require.Nil(t, lock.timer)
			})
		})
	}
}

func TestTimerThatComesEarlyIsSetAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock := bubbleLock(time.Second)
		done := lock.Done()
		lock.mu.Lock()
		lock.until = lock.until.Add(time.Second) // as an extend does that races the timer
		lock.mu.Unlock()
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
