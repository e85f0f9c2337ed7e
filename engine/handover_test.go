package engine

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/fencing"
	"muxlock/internal/redlock"
	"muxlock/pipeline"
)

func handOver(d time.Duration) func(*Config) { return func(c *Config) { c.HandOverTime = d } }

func TestWaitersGetTheLockInOrderOfArrivalWithoutAskingTheMasters(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		var waiting []<-chan acquired
		for i := range 20 {
			waiting = append(waiting, goAcquire(t.Context(), e, 0))
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

func TestHandleOfBeforeReachesNobody(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		old := mustAcquire(t, e, "name", 0)
		held, cancel := old.Context(t.Context())
		defer cancel()
		done := old.Done()
		require.NoError(t, old.KeepAlive(0))
		require.NoError(t, old.WarnBefore(9*time.Second, func() { t.Error("warned") }))
		waiting := goAcquire(t.Context(), e, 0)
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

func TestExtendUnderWayAtTheHandOverIsTheNextHolders(t *testing.T) {
	for _, denied := range []bool{false, true} {
		t.Run(fmt.Sprint("denied=", denied), func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
				old := mustAcquire(t, e, "name", 0)
				waiting := goAcquire(t.Context(), e, 0)
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

func TestExtendOfTheHolderBeforeDoesNotLengthenTheRenewalsOfTheNext(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		old := mustAcquire(t, e, "name", 5*time.Second)
		waiting := goAcquire(t.Context(), e, 5*time.Second)
		extended := make(chan error, 1)
		go func() { extended <- old.Extend(t.Context(), 30*time.Second) }()
		synctest.Wait()
		require.NoError(t, old.Release(t.Context()))
		lock := requireGot(t, waiting)
		require.ErrorIs(t, <-extended, ErrNotHeld)
		require.NoError(t, lock.KeepAlive(0))
		time.Sleep(time.Minute)
		require.True(t, lock.Valid())
		require.Less(t, time.Until(lock.Until()), 5*time.Second, "a crashed holder blocks others no longer")
	})
}

func TestHandOverWithLittleLeftIsExtendedFirst(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		old := mustAcquire(t, e, "name", 0)
		time.Sleep(6 * time.Second)
		waiting := goAcquire(t.Context(), e, 0)
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
				waiting := goAcquire(t.Context(), e, 0)
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
		waiting := goAcquire(ctx, e, 0)
		require.NoError(t, old.Release(t.Context()))
		synctest.Wait() // the extend is under way
		cancel()
		require.ErrorIs(t, (<-waiting).err, context.Canceled)
		requireNothingLeft(t, e, s)
	}, handOver(time.Minute))
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
				lock.lease.term.HandOvers = int32(c.before)
				var waiting []<-chan acquired
				for range 4 {
					waiting = append(waiting, goAcquire(t.Context(), e, 0))
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
		first, second := goAcquire(ctx, e, 0), goAcquire(t.Context(), e, 0)
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

// For the race detector: a lease may be lost at the moment at which its next holder takes it.
func TestLeaseIsInheritedWhileTheEngineCloses(t *testing.T) {
	for range 200 {
		inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
			old := mustAcquire(t, e, "name", 0)
			time.Sleep(6 * time.Second)
			waiting := goAcquire(t.Context(), e, 0)
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
