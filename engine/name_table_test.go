package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/pipeline"
)

// An acquired is what became of an Acquire, and when.
type acquired struct {
	lock *Lock
	err  error
	at   time.Time
}

// goAcquire starts an Acquire in a goroutine and returns once it waits for something.
func goAcquire(ctx context.Context, e *Engine, ttl time.Duration) <-chan acquired {
	got := make(chan acquired, 1)
	go func() {
		lock, err := e.Acquire(ctx, "name", ttl)
		got <- acquired{lock, err, time.Now()}
	}()
	synctest.Wait()
	return got
}

func requireGot(t *testing.T, from <-chan acquired) *Lock {
	t.Helper()
	got := <-from
	require.NoError(t, got.err)
	require.True(t, got.lock.Valid())
	return got.lock
}

func requireOpen(t *testing.T, from <-chan acquired, why string) {
	t.Helper()
	synctest.Wait()
	require.Empty(t, from, why)
}

// requireNothingLeft checks that the engine has forgotten all names, and the masters all locks.
func requireNothingLeft(t *testing.T, e *Engine, s *scripted) {
	t.Helper()
	time.Sleep(time.Second) // what was posted is done
	require.Empty(t, s.locked())
	require.Zero(t, namesOf(e))
	require.Empty(t, e.keeper.leases)
	require.Zero(t, e.Stats().Waiting)
}

func namesOf(e *Engine) (n int) {
	for i := range e.names.shards {
		s := &e.names.shards[i]
		s.mu.Lock()
		for _, state := range s.states {
			if !state.Idle() {
				n++
			}
		}
		s.mu.Unlock()
	}
	return n
}

// ops returns the kinds of requests as executed.
func (s *scripted) ops() (ops []pipeline.Op) {
	requests, _ := s.history()
	for _, req := range requests {
		ops = append(ops, req.Op)
	}
	return ops
}

// The waiter's ctx ends first, and it is served before it can leave the queue.
func TestWhatIsGrantedAtTheMomentOfLeavingGoesToTheNext(t *testing.T) {
	for name, grant := range map[string]func(l *Lock){
		"the lock": func(l *Lock) {
			l.endLocked(ErrNotHeld)
			l.lease.handOverLocked(l, l.since)
		},
		"a lease to extend": func(l *Lock) {
			l.lease.renewal.until = l.since.Add(time.Second)
			l.endLocked(ErrNotHeld)
			l.lease.handOverLocked(l, l.since)
		},
		"the contention": func(l *Lock) { l.lease.loseLocked(ErrExpired) },
		"the contention after others": func(l *Lock) {
			l.endLocked(ErrNotHeld)
			l.lease.endLocked()
			l.lease.state.contendNextLocked(true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
				lock := mustAcquire(t, e, "name", 0)
				ctx, cancel := context.WithCancel(t.Context())
				first, second := goAcquire(ctx, e, 0), goAcquire(t.Context(), e, 0)
				if strings.HasPrefix(name, "the contention") {
					s.drop("name")
				}
				begin := time.Now()
				lock.lock()
				cancel()
				grant(lock)
				lock.unlock()
				require.ErrorIs(t, (<-first).err, context.Canceled)
				got := <-second
				require.NoError(t, got.err)
				took := map[string]time.Duration{"the lock": 0, "a lease to extend": 1, "the contention": 1, "the contention after others": 3}
				require.Equal(t, took[name]*time.Millisecond, got.at.Sub(begin))
				require.Equal(t, name == "the lock", got.lock.lease.token == lock.lease.token)
				require.NoError(t, got.lock.Release(t.Context()))
				requireNothingLeft(t, e, s)
			})
		})
	}
}

func TestWaiterAsksTheMastersOnceTheLeaseHasRunOut(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0) // and never released
		first, second := goAcquire(t.Context(), e, 0), goAcquire(t.Context(), e, 0)
		time.Sleep(time.Until(lock.Until()) - 1)
		require.Equal(t, 1, s.requests())
		_, err := e.TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, ErrTaken)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Equal(t, 2, s.requests(), "at once")
		_, err = e.TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, ErrTaken)
		require.Equal(t, 2, s.requests(), "one of ours contends")
		require.ErrorIs(t, lock.Err(), ErrExpired)
		next := requireGot(t, first)
		requireOpen(t, second, "one holder")
		require.NoError(t, next.Release(t.Context()))
		require.NoError(t, requireGot(t, second).Release(t.Context()))
		requireNothingLeft(t, e, s)
	})
}

func TestTryAcquireIsRefusedWithoutARequestWhileTheNameIsHeldOrWaitedForHere(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		refused := func(why string) {
			t.Helper()
			before := s.requests()
			_, err := e.TryAcquire(t.Context(), "name", 0)
			require.ErrorIs(t, err, ErrTaken, why)
			require.ErrorIs(t, err, ErrNotAcquired)
			require.Equal(t, before, s.requests(), why)
		}
		lock := mustAcquire(t, e, "name", 0)
		refused("held")
		require.EqualValues(t, 1, e.Stats().Taken)
		require.NoError(t, lock.Release(t.Context()))

		s.set(func() { s.keys["name"] = scriptedKey{token: "another's", ends: time.Now().Add(5 * time.Second)} })
		waiting := goAcquire(t.Context(), e, 0)
		time.Sleep(time.Second + 100*time.Microsecond)
		refused("one of ours contends")
		lock = requireGot(t, waiting)

		time.Sleep(time.Until(lock.Until()))
		before := s.requests()
		_, err := e.TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, ErrTaken, "the key lives a little longer than validity")
		require.Equal(t, before+2, s.requests(), "asked, and undone")
		time.Sleep(time.Second)
		lock, err = e.TryAcquire(t.Context(), "name", 0)
		require.NoError(t, err)
		require.NoError(t, lock.Release(t.Context()))
		requireNothingLeft(t, e, s)
	})
}

func TestLeasesThatNobodyReleasesDoNotPileUp(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and many names")
	}
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		s.set(func() { s.delay = 0 })
		most, all := 0, 0
		for i := range 100_000 {
			_, err := e.TryAcquire(t.Context(), fmt.Sprint(i), 300*time.Millisecond)
			require.NoError(t, err)
			if i%10 == 0 {
				time.Sleep(time.Millisecond) // about 3000 are valid at a time
			}
			if i%1000 == 0 {
				for j := range e.names.shards {
					all += len(e.names.shards[j].states) // idle ones too
				}
				most, all = max(most, all), 0
			}
		}
		t.Logf("at most %d names", most)
		require.LessOrEqual(t, most, 2*3000+nameShards*sweepFrom)
	})
}

// For the race detector: the state is done with before the waiter reads it again.
func TestLockGrantedAndLostBeforeItsWaiterCouldLeave(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		ctx, cancel := context.WithCancel(t.Context())
		waiting := goAcquire(ctx, e, 0)
		lock.lock()
		cancel()
		lock.endLocked(ErrNotHeld)
		lock.lease.handOverLocked(lock, lock.since)
		lock.lease.loseLocked(ErrExpired)
		lock.unlock()
		require.ErrorIs(t, (<-waiting).err, context.Canceled)
		requireNothingLeft(t, e, s)
	})
}

func TestNamesOfABurstAreForgottenWhenItIsOver(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and many names")
	}
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		s.set(func() { s.delay = 0 })
		states := func() (n int) {
			for i := range e.names.shards {
				e.names.shards[i].mu.Lock()
				n += len(e.names.shards[i].states)
				e.names.shards[i].mu.Unlock()
			}
			return n
		}
		const burst = 10_000
		for range 3 {
			locks := make([]*Lock, burst)
			for i := range locks {
				lock, err := e.TryAcquire(t.Context(), fmt.Sprint(i), time.Second)
				require.NoError(t, err)
				locks[i] = lock
			}
			require.GreaterOrEqual(t, states(), burst)
			for i, lock := range locks {
				if i%2 == 0 { // the others run out
					require.NoError(t, lock.Release(t.Context()))
				}
			}
			time.Sleep(2 * sweepEvery)
			require.Zero(t, states())
		}
	})
}
