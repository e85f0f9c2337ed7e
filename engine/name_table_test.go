package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/fencing"
	"muxlock/internal/redlock"
	"muxlock/pipeline"
)

// An acquired is what became of an Acquire, and when.
type acquired struct {
	lock *Lock
	err  error
	at   time.Time
}

// line starts an Acquire in a goroutine and returns once it waits for something.
func line(ctx context.Context, e *Engine, ttl time.Duration) <-chan acquired {
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
			if !state.idleLocked() {
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

func handOver(d time.Duration) func(*Config) { return func(c *Config) { c.HandOverTime = d } }

func TestWaitersGetTheLockInOrderOfArrivalWithoutAskingTheMasters(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		var waiting []<-chan acquired
		for i := range 20 {
			waiting = append(waiting, line(t.Context(), e, 0))
			require.Equal(t, i+1, e.Stats().Waiting)
		}
		begin := time.Now()
		for i := range waiting {
			require.NoError(t, lock.Release(t.Context()))
			require.False(t, lock.Valid())
			next := requireGot(t, waiting[i])
			require.Equal(t, lock.lease.token, next.lease.token)
			for _, later := range waiting[i+1:] {
				requireOpen(t, later, "not before its turn")
			}
			lock = next
		}
		require.Zero(t, time.Since(begin))
		require.Equal(t, 1, s.requests(), "the first acquire")
		require.NoError(t, lock.Release(t.Context()))
		require.Equal(t, []pipeline.Op{pipeline.Acquire, pipeline.Release}, s.ops())
		stats := e.Stats()
		require.Equal(t, []uint64{21, 20, 1}, []uint64{stats.Acquired, stats.HandedOver, stats.Released})
		requireNothingLeft(t, e, s)
	})
}

func TestOneOfAProcessAsksTheMastersAtATime(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		first, second := line(t.Context(), e, 0), line(t.Context(), e, 0)
		_, err := e.TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, ErrTaken)
		require.Equal(t, 1, s.requests())
		require.NoError(t, requireGot(t, first).Release(t.Context()))
		require.NoError(t, requireGot(t, second).Release(t.Context()))
		requireNothingLeft(t, e, s)
	})
}

func TestHandleOfBeforeReachesNobody(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		old := mustAcquire(t, e, "name", 0)
		held, cancel := old.Context(t.Context())
		defer cancel()
		done := old.Done()
		waiting := line(t.Context(), e, 0)
		require.NoError(t, old.Release(t.Context()))
		lock := requireGot(t, waiting)
		until := lock.Until()

		<-done
		<-old.Done()
		require.ErrorIs(t, context.Cause(held), ErrNotHeld)
		require.False(t, old.Valid())
		for _, err := range []error{
			old.Err(), old.Release(t.Context()), old.Extend(t.Context(), 20*time.Second), old.KeepAlive(0),
			old.WarnBefore(time.Hour, func() { t.Error("warned") }),
		} {
			require.ErrorIs(t, err, ErrNotHeld)
			require.NotErrorIs(t, err, ErrLost)
		}
		late, cancel := old.Context(t.Context())
		defer cancel()
		require.ErrorIs(t, context.Cause(late), ErrNotHeld)
		require.Equal(t, 1, s.requests(), "only the acquire")
		require.True(t, lock.Valid())
		require.Equal(t, until, lock.Until())
		time.Sleep(5 * time.Second)
		require.Equal(t, 1, s.requests(), "the old holder's wish to keep it alive is gone too")
		require.NoError(t, lock.Release(t.Context()))
		requireNothingLeft(t, e, s)
	})
}

func TestKeepAliveEndsWithTheHolderWhoAskedForIt(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		old := mustAcquire(t, e, "name", 0)
		require.NoError(t, old.KeepAlive(0))
		require.NoError(t, old.WarnBefore(9*time.Second, func() { t.Error("warned") }))
		waiting := line(t.Context(), e, 0)
		require.NoError(t, old.Release(t.Context()))
		lock := requireGot(t, waiting)
		<-lock.Done()
		require.ErrorIs(t, lock.Err(), ErrExpired)
		require.Zero(t, s.count(pipeline.Extend))
	})
}

func TestExtendUnderWayAtTheHandOverIsTheNextHolders(t *testing.T) {
	for _, denied := range []bool{false, true} {
		t.Run(fmt.Sprint("denied=", denied), func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
				old := mustAcquire(t, e, "name", 0)
				waiting := line(t.Context(), e, 0)
				if denied {
					s.drop("name")
				}
				begin := time.Now()
				extended := make(chan error, 1)
				go func() { extended <- old.Extend(t.Context(), 20*time.Second) }()
				synctest.Wait()
				require.NoError(t, old.Release(t.Context()))
				lock := requireGot(t, waiting)
				require.ErrorIs(t, <-extended, ErrNotHeld)
				require.ErrorIs(t, old.Err(), ErrNotHeld)
				require.NotErrorIs(t, old.Err(), ErrLost)
				if denied {
					require.ErrorIs(t, lock.Err(), ErrLost)
					require.ErrorIs(t, lock.Err(), ErrNotHeld)
					return
				}
				require.True(t, lock.Valid())
				require.Equal(t, redlock.Validity(20*time.Second, 0, redlock.DefaultDrift), lock.Until().Sub(begin))
			})
		})
	}
}

func TestWaiterThatLeavesLeavesNoTrace(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		var waiting []<-chan acquired
		var leave []context.CancelFunc
		for range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			waiting, leave = append(waiting, line(ctx, e, 0)), append(leave, cancel)
		}
		for _, i := range []int{2, 0, 4} { // from the middle, the front and the back
			leave[i]()
			err := (<-waiting[i]).err
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, ErrTaken)
			require.ErrorIs(t, err, ErrNotAcquired)
		}
		require.Equal(t, 2, e.Stats().Waiting)
		require.NoError(t, lock.Release(t.Context()))
		lock = requireGot(t, waiting[1])
		leave[3]()
		require.ErrorIs(t, (<-waiting[3]).err, context.Canceled)
		require.NoError(t, lock.Release(t.Context()))
		require.Equal(t, []pipeline.Op{pipeline.Acquire, pipeline.Release}, s.ops())
		requireNothingLeft(t, e, s)
	})
}

// The waiter's ctx ends first, and it is served before it can leave the queue.
func TestWhatIsGrantedAtTheMomentOfLeavingGoesToTheNext(t *testing.T) {
	for name, grant := range map[string]func(l *Lock){
		"the lock": func(l *Lock) {
			l.endLocked(ErrNotHeld)
			l.lease.handOverLocked(l.since)
		},
		"a lease to extend": func(l *Lock) {
			l.lease.until = l.since.Add(time.Second)
			l.endLocked(ErrNotHeld)
			l.lease.handOverLocked(l.since)
		},
		"the contention": func(l *Lock) { l.lease.loseLocked(ErrExpired) },
		"the contention after others": func(l *Lock) {
			l.endLocked(ErrNotHeld)
			l.lease.endLocked()
			l.lease.state.contendNextLocked(true, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
				lock := mustAcquire(t, e, "name", 0)
				ctx, cancel := context.WithCancel(t.Context())
				first, second := line(ctx, e, 0), line(t.Context(), e, 0)
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

// Many leave at once, so that the release finds some of them between waking and leaving.
func TestDeadlineAtTheInstantOfTheReleaseLosesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		served := 0
		for i := range 500 {
			const hold = 5 * time.Millisecond
			off := time.Duration(i%3 - 1) // nanoseconds after the deadline
			lock := mustAcquire(t, e, "name", 0)
			begin := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), hold)
			var leaving []<-chan acquired
			for range 16 {
				leaving = append(leaving, line(ctx, e, 0))
			}
			staying := line(t.Context(), e, 0)
			go func() {
				time.Sleep(hold + off)
				_ = lock.Release(t.Context())
			}()
			for _, from := range leaving {
				if got := <-from; got.err == nil {
					served++
					require.LessOrEqual(t, off, time.Duration(0))
					require.NoError(t, got.lock.Release(t.Context()))
				} else {
					require.ErrorIs(t, got.err, context.DeadlineExceeded)
					require.GreaterOrEqual(t, off, time.Duration(0))
				}
			}
			got := <-staying
			require.NoError(t, got.err)
			require.Equal(t, hold+off, got.at.Sub(begin), "no time is lost")
			cancel()
			require.NoError(t, got.lock.Release(t.Context()))
		}
		t.Logf("served %d of 8000", served)
		requireNothingLeft(t, e, s)
	})
}

func TestHandOverWithLittleLeftIsExtendedFirst(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		old := mustAcquire(t, e, "name", 0)
		time.Sleep(6 * time.Second)
		waiting := line(t.Context(), e, 0)
		begin := time.Now()
		require.NoError(t, old.Release(t.Context()))
		require.Zero(t, time.Since(begin), "the next one extends")
		_, err := e.TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, ErrTaken)
		lock := requireGot(t, waiting)
		require.Equal(t, time.Millisecond, time.Since(begin))
		require.Equal(t, []pipeline.Op{pipeline.Acquire, pipeline.Extend}, s.ops())
		require.Equal(t, redlock.Validity(lease10, 0, redlock.DefaultDrift), lock.Until().Sub(begin))
		require.Equal(t, old.lease.token, lock.lease.token)
		require.NoError(t, lock.Release(t.Context()))
		requireNothingLeft(t, e, s)
	}, handOver(time.Minute))
}

func TestInheritedLeaseThatCannotBeExtendedIsContendedFor(t *testing.T) {
	for name, spoil := range map[string]func(s *scripted){
		"masters away": func(s *scripted) { s.set(func() { s.away = true }) },
		"key deleted":  func(s *scripted) { s.drop("name") },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
				old := mustAcquire(t, e, "name", 0)
				time.Sleep(6 * time.Second)
				waiting := line(t.Context(), e, 0)
				spoil(s)
				begin := time.Now()
				require.NoError(t, old.Release(t.Context()))
				if name == "masters away" {
					time.Sleep(time.Second)
					requireOpen(t, waiting, "it goes on asking")
					require.Positive(t, e.Stats().NoQuorum)
					s.set(func() { s.away = false })
					s.drop("name") // its pending release is the pipeline's affair
				}
				lock := requireGot(t, waiting)
				require.NotEqual(t, old.lease.token, lock.lease.token, "a lease of its own")
				require.Equal(t, 2, s.count(pipeline.Acquire))
				if name == "key deleted" {
					require.Equal(t, time.Millisecond+redlock.Validity(lease10, 0, redlock.DefaultDrift), lock.Until().Sub(begin))
				}
				require.NoError(t, lock.Release(t.Context()))
				requireNothingLeft(t, e, s)
			}, handOver(time.Minute))
		})
	}
}

func TestWaiterThatLeavesWhileItExtendsAnInheritedLeaseLeavesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		old := mustAcquire(t, e, "name", 0)
		time.Sleep(6 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		waiting := line(ctx, e, 0)
		require.NoError(t, old.Release(t.Context()))
		synctest.Wait() // the extend is under way
		cancel()
		require.ErrorIs(t, (<-waiting).err, context.Canceled)
		requireNothingLeft(t, e, s)
	}, handOver(time.Minute))
}

func TestLockHandedOverIsKeptAliveForWhatItsHolderAskedFor(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		old := mustAcquire(t, e, "name", 0)
		waiting := line(t.Context(), e, 15*time.Second)
		require.NoError(t, old.Release(t.Context()))
		lock := requireGot(t, waiting)
		require.NoError(t, lock.KeepAlive(0))
		time.Sleep(8 * time.Second)
		require.Equal(t, 2, s.count(pipeline.Extend), "at half of what is asked for, and a third later")
		requests, _ := s.history()
		require.Equal(t, 15*time.Second, requests[2].TTL)
	})
}

func TestBoundOfHandOversEndsWithARealRelease(t *testing.T) {
	for name, c := range map[string]struct {
		bound  time.Duration
		before int
	}{
		"by count": {time.Minute, fencing.MaxHandOvers - 2},
		"by time":  {20 * time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
				lock := mustAcquire(t, e, "name", 0)
				token := lock.lease.token
				lock.lease.handed = c.before
				var waiting []<-chan acquired
				for range 4 {
					waiting = append(waiting, line(t.Context(), e, 0))
				}
				for i := range 2 { // handed over
					time.Sleep(9 * time.Millisecond)
					require.NoError(t, lock.Release(t.Context()))
					lock = requireGot(t, waiting[i])
				}
				require.Equal(t, 1, s.requests())
				time.Sleep(2 * time.Millisecond)
				begin := time.Now()
				require.NoError(t, lock.Release(t.Context()))
				require.Equal(t, time.Millisecond, time.Since(begin), "the masters were asked")
				require.Empty(t, s.locked())
				_, err := e.TryAcquire(t.Context(), "name", 0)
				require.ErrorIs(t, err, ErrTaken, "the waiter contends")
				lock = requireGot(t, waiting[2])
				require.Equal(t, 4*time.Millisecond, time.Since(begin), "release, others first, acquire")
				require.Equal(t, 3*time.Millisecond+redlock.Validity(lease10, 0, redlock.DefaultDrift), lock.Until().Sub(begin))
				require.NotEqual(t, token, lock.lease.token)
				require.Equal(t, []pipeline.Op{pipeline.Acquire, pipeline.Release, pipeline.Acquire}, s.ops())
				require.NoError(t, lock.Release(t.Context()))
				lock = requireGot(t, waiting[3])
				require.Len(t, s.ops(), 3, "a new bound")
				require.NoError(t, lock.Release(t.Context()))
				requireNothingLeft(t, e, s)
			}, handOver(c.bound))
		})
	}
}

func TestOtherProcessesGoFirstAlsoWhenTheNextInLineLeaves(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		ctx, cancel := context.WithCancel(t.Context())
		first, second := line(ctx, e, 0), line(t.Context(), e, 0)
		time.Sleep(2 * time.Millisecond)
		require.NoError(t, lock.Release(t.Context()))
		left := time.Now()
		cancel() // while it yields
		require.ErrorIs(t, (<-first).err, context.Canceled)
		got := <-second
		require.NoError(t, got.err)
		require.Equal(t, 3*time.Millisecond, got.at.Sub(left))
	}, handOver(time.Millisecond))
}

func TestWaiterAsksTheMastersOnceTheLeaseHasRunOut(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0) // and never released
		first, second := line(t.Context(), e, 0), line(t.Context(), e, 0)
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

func TestWaiterFromBeforeTheGrantAsksOnceTheLeaseHasRunOut(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		first, second := line(t.Context(), e, 0), line(t.Context(), e, 0)
		lock := requireGot(t, first) // and never released
		time.Sleep(time.Until(lock.Until()))
		synctest.Wait()
		require.Equal(t, 2, s.requests())
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

		s.set(func() { s.keys["name"] = scriptedKey{"another's", time.Now().Add(5 * time.Second)} })
		waiting := line(t.Context(), e, 0)
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

func TestCloseEndsAllWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		done := lock.Done()
		kept := mustAcquire(t, e, "kept", 0)
		require.NoError(t, kept.KeepAlive(0))
		s.set(func() { s.keys["other"] = scriptedKey{"another's", time.Now().Add(time.Hour)} })
		errs := make(chan error, 3)
		go func() {
			_, err := e.Acquire(t.Context(), "other", 0) // contends
			errs <- err
		}()
		go func() {
			_, err := e.Acquire(t.Context(), "other", 0) // waits behind it, or the other way round
			errs <- err
		}()
		go func() {
			errs <- e.Do(t.Context(), "done", 0, func(ctx context.Context) error {
				<-ctx.Done()
				return context.Cause(ctx)
			})
		}()
		waiting := []<-chan acquired{line(t.Context(), e, 0), line(t.Context(), e, 0)}
		time.Sleep(time.Second)
		asking := make(chan error, 1)
		go func() {
			_, err := e.TryAcquire(t.Context(), "asked for", 0) // is granted while the engine closes
			asking <- err
		}()
		synctest.Wait()

		begin := time.Now()
		var closing sync.WaitGroup
		for range 2 {
			closing.Go(func() { _ = e.Close() })
		}
		for _, w := range waiting {
			got := <-w
			require.ErrorIs(t, got.err, ErrClosed)
			require.ErrorIs(t, got.err, ErrTaken, "it was in line")
			require.Zero(t, got.at.Sub(begin), "at once")
		}
		<-done
		for range cap(errs) {
			require.ErrorIs(t, <-errs, ErrClosed)
		}
		require.ErrorIs(t, <-asking, ErrClosed)
		for _, l := range []*Lock{lock, kept} {
			require.ErrorIs(t, l.Err(), ErrLost)
			require.ErrorIs(t, l.Err(), ErrClosed)
		}
		closing.Wait()
		for _, err := range []error{
			lock.KeepAlive(0), lock.Extend(t.Context(), 0), lock.Release(t.Context()),
			e.Do(t.Context(), "name", 0, func(context.Context) error { return errors.New("not to be run") }),
		} {
			require.ErrorIs(t, err, ErrClosed)
		}
		require.Zero(t, namesOf(e))
		require.Empty(t, e.keeper.leases)
		require.Zero(t, e.Stats().Waiting)
	})
}

func TestLeasesThatNobodyReleasesDoNotPileUp(t *testing.T) {
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
		waiting := line(ctx, e, 0)
		lock.lock()
		cancel()
		lock.endLocked(ErrNotHeld)
		lock.lease.handOverLocked(lock.since)
		lock.lease.loseLocked(ErrExpired)
		lock.unlock()
		require.ErrorIs(t, (<-waiting).err, context.Canceled)
		requireNothingLeft(t, e, s)
	})
}

// For the race detector: a lease may be lost at the moment at which its next holder takes it.
func TestLeaseIsInheritedWhileTheEngineCloses(t *testing.T) {
	for range 200 {
		inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
			old := mustAcquire(t, e, "name", 0)
			time.Sleep(6 * time.Second)
			waiting := line(t.Context(), e, 0)
			require.NoError(t, old.Release(t.Context()))
			time.Sleep(time.Millisecond) // the extend is confirmed now
			require.NoError(t, e.Close())
			if got := <-waiting; got.err == nil {
				require.ErrorIs(t, got.lock.Err(), ErrClosed)
			} else {
				require.ErrorIs(t, got.err, ErrClosed)
			}
			require.Zero(t, namesOf(e))
		}, handOver(time.Minute))
	}
}

func TestNamesOfABurstAreForgottenWhenItIsOver(t *testing.T) {
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
		const burst = 50_000
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
