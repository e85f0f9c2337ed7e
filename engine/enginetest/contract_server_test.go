package enginetest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/testing/await"
)

func TestAnAcquiredLockIsValidUntilItIsReleased(t *testing.T) {
	everywhere(t, engine.Config{}, func(t *testing.T, w world, e *engine.Engine) {
		before := time.Now()
		lock := mustAcquire(t, e, "name", 10*time.Second)
		require.True(t, lock.Valid())
		require.Equal(t, "name", lock.Name())
		require.True(t, lock.Until().After(before))
		require.LessOrEqual(t, time.Until(lock.Until()), 10*time.Second-102*time.Millisecond, "drift is allowed for")
		require.NoError(t, lock.Release(t.Context()))
		require.ErrorIs(t, lock.Err(), engine.ErrNotHeld)
		require.ErrorIs(t, lock.Release(t.Context()), engine.ErrNotHeld)
		free(t, w)
	})
}

func TestALockOfAnotherEngineIsTaken(t *testing.T) {
	everywhere(t, engine.Config{}, func(t *testing.T, w world, e *engine.Engine) {
		other := w.open(t, engine.Config{MasterTimeout: await.Patience})
		held := mustAcquire(t, other, "name", 0)
		_, err := e.TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, engine.ErrTaken)
		require.ErrorIs(t, err, engine.ErrNotAcquired)
		var votes *engine.AttemptError
		require.ErrorAs(t, err, &votes)
		require.GreaterOrEqual(t, votes.Refused, 3)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := e.Acquire(ctx, "name", 0)
			ended <- err
		}()
		await.True(t, func() bool { return e.Stats().Taken+e.Stats().SplitVotes > 1 }, "it has asked") // the other has it at a majority at least
		cancel()
		err = <-ended
		require.ErrorIs(t, err, engine.ErrTaken)
		require.ErrorIs(t, err, context.Canceled)
		require.True(t, held.Valid())
	})
}

func TestOneOfAllHasTheLock(t *testing.T) {
	everywhere(t, engine.Config{}, func(t *testing.T, w world, e *engine.Engine) {
		var inside, turns atomic.Int32
		var callers sync.WaitGroup
		for _, e := range []*engine.Engine{e, w.open(t, engine.Config{MasterTimeout: await.Patience})} {
			for range 4 {
				callers.Go(func() {
					for range 5 {
						assert.NoError(t, e.Do(within(t), "name", 0, func(context.Context) error {
							assert.EqualValues(t, 1, inside.Add(1))
							time.Sleep(time.Millisecond)
							inside.Add(-1)
							turns.Add(1)
							return nil
						}))
					}
				})
			}
		}
		callers.Wait()
		require.EqualValues(t, 40, turns.Load())
	})
}

// slowPolls has such long delays that a poll comes too late.
var slowPolls = engine.Config{RetryHeld: time.Minute, MasterTimeout: await.Patience}

func TestAReleaseWakesTheWaitersOfOtherEngines(t *testing.T) {
	everywhere(t, slowPolls, func(t *testing.T, w world, e *engine.Engine) {
		held := mustAcquire(t, w.open(t, slowPolls), "name", 30*time.Second)
		got := make(chan error, 1)
		go func() {
			lock, err := e.Acquire(within(t), "name", 0)
			if err == nil {
				err = lock.Release(t.Context())
			}
			got <- err
		}()
		await.True(t, func() bool {
			for _, m := range e.Stats().Masters {
				if m.Reads == 0 {
					return false
				}
			}
			return true
		}, "it waits for the masters")
		require.NoError(t, held.Release(t.Context()))
		require.NoError(t, <-got)
	})
}

func TestTheEndOfALeaseWakesTheWaitersOfOtherEngines(t *testing.T) {
	everywhere(t, slowPolls, func(t *testing.T, w world, e *engine.Engine) {
		held := mustAcquire(t, w.open(t, slowPolls), "name", 3*time.Second)
		mustAcquire(t, e, "name", 0)
		require.ErrorIs(t, held.Err(), engine.ErrExpired)
		require.ErrorIs(t, held.Err(), engine.ErrLost)
		require.False(t, time.Now().Before(held.Until()))
	})
}

func TestExtendMovesTheEndOut(t *testing.T) {
	everywhere(t, engine.Config{}, func(t *testing.T, w world, e *engine.Engine) {
		lock := mustAcquire(t, e, "name", 5*time.Second)
		until := lock.Until()
		require.NoError(t, lock.Extend(t.Context(), 20*time.Second))
		require.Greater(t, lock.Until().Sub(until), 14*time.Second)
		until = lock.Until()
		require.NoError(t, lock.Extend(t.Context(), 3*time.Second))
		require.Equal(t, until, lock.Until(), "and never in")
	})
}

func TestALockThatIsKeptAliveOutlivesItsLease(t *testing.T) {
	everywhere(t, engine.Config{}, func(t *testing.T, w world, e *engine.Engine) {
		const ttl = 2 * await.Patience
		var locks []*engine.Lock
		for i := range 20 { // their renewals share a call of the batch script
			locks = append(locks, mustAcquire(t, e, fmt.Sprint("name", i), ttl))
			require.NoError(t, locks[i].KeepAlive(0))
		}
		select {
		case <-time.After(2 * ttl):
		case <-locks[0].Done():
		}
		other := w.open(t, engine.Config{MasterTimeout: await.Patience})
		for _, lock := range locks {
			require.NoError(t, lock.Err())
			_, err := other.TryAcquire(t.Context(), lock.Name(), 0)
			require.ErrorIs(t, err, engine.ErrTaken)
			require.NoError(t, lock.Release(t.Context()))
		}
	})
}

func TestALockWhoseKeyIsGoneIsLost(t *testing.T) {
	everywhere(t, engine.Config{}, func(t *testing.T, w world, e *engine.Engine) {
		lock := mustAcquire(t, e, "name", 10*time.Second)
		done := lock.Done()
		w.lose("name")
		require.ErrorIs(t, lock.Extend(t.Context(), 0), engine.ErrLost)
		<-done
		require.ErrorIs(t, lock.Err(), engine.ErrLost)
		require.ErrorIs(t, lock.Err(), engine.ErrNotHeld)
		require.ErrorIs(t, lock.Release(t.Context()), engine.ErrNotHeld)
		free(t, w)
	})
}

func TestALockThatAnotherHasIsLost(t *testing.T) {
	everywhere(t, engine.Config{}, func(t *testing.T, w world, e *engine.Engine) {
		lock := mustAcquire(t, e, "name", 10*time.Second)
		w.refuse("name")
		require.ErrorIs(t, lock.Extend(t.Context(), 0), engine.ErrLost)
		_, err := e.TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, engine.ErrTaken)
		w.lose("name")
		free(t, w)
	})
}

func TestDoEndsItsFunctionWhenTheLockIsLost(t *testing.T) {
	everywhere(t, engine.Config{}, func(t *testing.T, w world, e *engine.Engine) {
		failed := errors.New("stopped")
		err := e.Do(within(t), "name", 3*time.Second, func(ctx context.Context) error {
			w.lose("name")
			<-ctx.Done()
			assert.ErrorIs(t, context.Cause(ctx), engine.ErrLost)
			return failed
		})
		require.ErrorIs(t, err, failed)
		require.ErrorIs(t, err, engine.ErrLost)
		require.NoError(t, e.Do(within(t), "name", 0, func(context.Context) error { return nil }))
	})
}

func TestALockCanBeInspectedAdoptedAndReleasedByForce(t *testing.T) {
	everywhere(t, engine.Config{Holder: "host 1"}, func(t *testing.T, w world, e *engine.Engine) {
		other := w.open(t, engine.Config{Holder: "host 2", MasterTimeout: await.Patience})
		lock := mustAcquire(t, e, "name", 10*time.Second)
		await.Equal(t, masters, func() any { return len(w.keys()) }, "all masters have it")
		found, err := admin.Inspect(t.Context(), other, "name")
		require.NoError(t, err)
		require.True(t, found.Held)
		require.Equal(t, "host 1", found.Holder)
		require.LessOrEqual(t, found.Left, 10*time.Second)
		adopted, err := other.Adopt(t.Context(), "name", lock.Reveal(), 20*time.Second)
		require.NoError(t, err)
		require.True(t, adopted.Valid())
		deleted, err := admin.ForceRelease(t.Context(), other, found)
		require.NoError(t, err)
		require.GreaterOrEqual(t, deleted, 3)
		require.ErrorIs(t, lock.Extend(t.Context(), 0), engine.ErrLost)
		free(t, w)
		found, err = admin.Inspect(t.Context(), e, "name")
		require.NoError(t, err)
		require.False(t, found.Held)
	})
}

func TestADeniedNameIsDenied(t *testing.T) {
	everywhere(t, engine.Config{}, func(t *testing.T, w world, e *engine.Engine) {
		w.deny("denied")
		_, err := e.Acquire(within(t), "denied", 0)
		require.ErrorIs(t, err, engine.ErrDenied)
		require.ErrorContains(t, err, "NOPERM")
		require.NoError(t, mustAcquire(t, e, "allowed", 0).Release(t.Context()))
	})
}

func TestManyAtOnce(t *testing.T) {
	everywhere(t, engine.Config{}, func(t *testing.T, w world, e *engine.Engine) {
		other := w.open(t, engine.Config{MasterTimeout: await.Patience})
		begin := make(chan struct{})
		var callers sync.WaitGroup
		for i := range 200 {
			callers.Go(func() {
				<-begin
				lock, err := e.Acquire(within(t), fmt.Sprint("name", i), 0)
				if assert.NoError(t, err) {
					_, err = other.TryAcquire(t.Context(), lock.Name(), 0)
					assert.ErrorIs(t, err, engine.ErrTaken)
					assert.NoError(t, lock.Extend(t.Context(), 20*time.Second))
					assert.NoError(t, lock.Release(t.Context()))
				}
			})
		}
		close(begin)
		callers.Wait()
		require.Greater(t, e.Stats().LargestRound, 8, "they share calls of the batch script")
		free(t, w)
	})
}

func TestFencesGrowFromHolderToHolder(t *testing.T) {
	cfg := engine.Config{Fencing: true, TTL: 3 * time.Second, MaxTTL: 3 * time.Second, HandOverTime: time.Minute, MasterTimeout: await.Patience}
	everywhere(t, cfg, func(t *testing.T, w world, e *engine.Engine) {
		last := uint64(0)
		next := func(lock *engine.Lock) {
			t.Helper()
			require.Greater(t, lock.Fence(), last)
			last = lock.Fence()
		}
		engines := []*engine.Engine{e, w.open(t, cfg)}
		for i := range 10 {
			lock := mustAcquire(t, engines[i%2], "name", 0)
			next(lock)
			require.NoError(t, lock.Extend(t.Context(), 0))
			require.NoError(t, lock.Release(t.Context()))
		}
		w.restart(4)
		await.True(t, func() bool {
			for _, e := range engines {
				if m := e.Stats().Masters[4]; !m.Up || m.Cause != nil || m.SetAside == 0 {
					return false
				}
			}
			return true
		}, "the others have given it its registers")
		w.down(0)
		w.down(1)
		for i := range 4 {
			lock := mustAcquire(t, engines[i%2], "name", 0)
			next(lock)
			require.NoError(t, lock.Release(t.Context()))
		}
	})
}

func TestManyNamesAreAcquiredAndReleasedAtOnceEachByItself(t *testing.T) {
	everywhere(t, engine.Config{}, func(t *testing.T, w world, e *engine.Engine) {
		held := mustAcquire(t, e, "name 1", 0)
		w.refuse("name 2")
		results := e.AcquireMany(t.Context(), []string{"name 0", "name 1", "name 2", "", "name 4"}, 0)
		var locks []*engine.Lock
		for i, kind := range []error{nil, engine.ErrTaken, engine.ErrTaken, engine.ErrInvalid, nil} {
			require.ErrorIs(t, results[i].Err, kind, i)
			require.Equal(t, kind == nil, results[i].Lock != nil, i)
			locks = append(locks, results[i].Lock)
		}
		w.lose("name 4")
		require.True(t, locks[0].Valid())
		errs := e.ReleaseMany(t.Context(), append(locks, held))
		for i, kind := range []error{nil, nil, nil, nil, engine.ErrNotHeld, nil} {
			require.ErrorIs(t, errs[i], kind, i)
		}
	})
}

func TestManyReadOrOneWrites(t *testing.T) {
	everywhere(t, engine.Config{}, func(t *testing.T, w world, e *engine.Engine) {
		other := w.open(t, engine.Config{MasterTimeout: await.Patience})
		var readers []*engine.Lock
		for _, e := range []*engine.Engine{e, e, other} {
			lock, err := e.TryAcquireShared(t.Context(), "name", 0)
			require.NoError(t, err)
			require.Zero(t, lock.Fence())
			readers = append(readers, lock)
		}
		_, err := other.TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, engine.ErrTaken)
		require.ErrorIs(t, e.DoShared(t.Context(), "name", 0, func(ctx context.Context) error {
			_, err := e.Acquire(ctx, "name", 0)
			return err
		}), engine.ErrInvalid)
		written := make(chan *engine.Lock)
		go func() {
			lock, _ := e.Acquire(context.Background(), "name", 0)
			written <- lock
		}()
		for _, l := range readers {
			require.NoError(t, l.Extend(t.Context(), 0))
			require.NoError(t, l.Release(t.Context()))
		}
		writer := <-written
		require.NotNil(t, writer)
		_, err = other.TryAcquireShared(t.Context(), "name", 0)
		require.ErrorIs(t, err, engine.ErrTaken)
		require.NoError(t, writer.Release(t.Context()))
		reader, err := other.AcquireShared(t.Context(), "name", 0)
		require.NoError(t, err)
		w.lose("name")
		require.ErrorIs(t, reader.Extend(t.Context(), 0), engine.ErrLost)
	})
}

func TestNamesOfASetAreAcquiredWholeOrNotAtAll(t *testing.T) {
	everywhere(t, engine.Config{}, func(t *testing.T, w world, e *engine.Engine) {
		names := []string{"name 0", "name 1", "name 2"}
		w.refuse("name 1")
		_, err := e.TryAcquireAll(t.Context(), names, 0)
		require.ErrorIs(t, err, engine.ErrTaken)
		require.ErrorContains(t, err, `"name 1"`)
		for _, name := range []string{"name 0", "name 2"} {
			require.NoError(t, mustAcquire(t, e, name, 0).Release(t.Context()))
		}
		names[1] = "name 3"
		err = e.DoAll(t.Context(), names, 0, func(ctx context.Context, set *engine.Set) error {
			require.True(t, set.Valid())
			_, err := e.TryAcquire(ctx, "name 3", 0)
			require.ErrorIs(t, err, engine.ErrTaken)
			w.lose("name 3")
			require.ErrorIs(t, set.Extend(ctx, 0), engine.ErrLost)
			<-ctx.Done()
			return nil
		})
		require.ErrorIs(t, err, engine.ErrLost)
		require.ErrorContains(t, err, `"name 3"`)
		for _, name := range names {
			require.NoError(t, mustAcquire(t, e, name, 0).Release(t.Context()))
		}
	})
}

func TestWrongCallsAreInvalidAndSendNothing(t *testing.T) {
	everywhere(t, engine.Config{}, func(t *testing.T, w world, e *engine.Engine) {
		for _, name := range []string{"", "__muxlock__:x"} {
			_, err := e.TryAcquire(t.Context(), name, 0)
			require.ErrorIs(t, err, engine.ErrInvalid)
		}
		_, err := e.TryAcquire(t.Context(), "name", -1)
		require.ErrorIs(t, err, engine.ErrInvalid)
		require.Zero(t, e.Stats().Requests)
		lock := mustAcquire(t, e, "name", 0)
		require.NoError(t, e.Close())
		require.ErrorIs(t, lock.Err(), engine.ErrClosed)
		require.ErrorIs(t, lock.Err(), engine.ErrLost)
		_, err = e.TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, engine.ErrClosed)
	})
}
