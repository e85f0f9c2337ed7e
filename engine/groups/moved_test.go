package groups

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/clock"
	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
	"muxlock/internal/testing/await"
	"muxlock/pipeline"
)

// alone plays a process that has only one group: before the change, or after it.
func (w world) alone(t testing.TB, group string) *engine.Engine {
	t.Helper()
	cfg := w.config(group, "").Config
	cfg.Masters = w.groups(group)[group]
	e, err := engine.New(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

func (w world) slow(group string, d time.Duration) {
	for i := range 3 {
		w[fmt.Sprintf("%s%d:1", group, i)].Slow(d)
	}
}

// lose deletes a key at all masters of a group.
func (w world) lose(group, key string) {
	for i := range 3 {
		w[fmt.Sprintf("%s%d:1", group, i)].Delete(key)
	}
}

// asEither runs a test of a name that moves from a to b, and again from b to a.
func asEither(t *testing.T, test func(t *testing.T, w world, now, next string)) {
	for _, maps := range [][2]string{{"a", "b"}, {"b", "a"}} {
		t.Run(fmt.Sprint(maps), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, newWorld(t), maps[0], maps[1]) })
		})
	}
}

// ofEither is asEither of each of the two groups.
func ofEither(t *testing.T, test func(t *testing.T, w world, now, next, group string)) {
	for _, group := range []string{"a", "b"} {
		asEither(t, func(t *testing.T, w world, now, next string) { test(t, w, now, next, group) })
	}
}

func TestAMovedNameExcludesThoseWithEitherMap(t *testing.T) {
	ofEither(t, func(t *testing.T, w world, now, next, group string) {
		e := w.open(t, now, next)
		other := w.alone(t, group)
		lock, err := e.Acquire(within(t), "name", 0)
		require.NoError(t, err)
		_, err = other.TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, engine.ErrTaken)
		require.NoError(t, lock.Release(t.Context()))
		theirs, err := other.TryAcquire(t.Context(), "name", 3*time.Second)
		require.NoError(t, err)
		_, err = e.TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, engine.ErrTaken)
		synctest.Wait()
		require.Equal(t, group, w.having("name"), "nothing stays in the other one")
		lock, err = e.Acquire(within(t), "name", 0)
		require.NoError(t, err)
		require.False(t, theirs.Valid(), "it waited for the end of that lease")
		require.NoError(t, lock.Release(t.Context()))
		require.Empty(t, w.having("name"))
	})
}

// The readers hold the name for longer than one intent lasts, so the writer repeats its own.
func TestAWriterOfAMovedNameKeepsOutReadersOfEitherMap(t *testing.T) {
	ofEither(t, func(t *testing.T, w world, now, next, group string) {
		e := w.open(t, now, next)
		ctx, stop := context.WithCancel(t.Context())
		var readers sync.WaitGroup
		for i := range 3 {
			other := w.alone(t, group)
			readers.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				for ctx.Err() == nil {
					_ = other.DoShared(ctx, "name", 9*time.Second, func(context.Context) error {
						time.Sleep(3 * time.Second)
						return nil
					})
				}
			})
		}
		time.Sleep(10 * time.Second)
		begun := time.Now()
		lock, err := e.Acquire(within(t), "name", 0)
		assert.NoError(t, err)
		assert.Less(t, time.Since(begun), 5*time.Second, "one more gets in, and then all leave")
		stop()
		readers.Wait()
		if lock != nil {
			require.NoError(t, lock.Release(t.Context()))
		}
	})
}

func TestAMovedLockIsLostWithEitherGroup(t *testing.T) {
	ofEither(t, func(t *testing.T, w world, now, next, group string) {
		e := w.open(t, now, next)
		lock, err := e.Acquire(within(t), "name", 9*time.Second)
		require.NoError(t, err)
		require.NoError(t, lock.KeepAlive(0))
		time.Sleep(time.Minute)
		require.NoError(t, lock.Err(), "its renewals go to both")
		w.lose(group, "name")
		<-lock.Done()
		require.ErrorIs(t, lock.Err(), engine.ErrLost)
		synctest.Wait()
		require.Empty(t, w.having("name"))
	})
}

func TestARenewedMovedLockCountsTheVotesOfAllMasters(t *testing.T) {
	asEither(t, func(t *testing.T, w world, now, next string) {
		e := w.open(t, now, next)
		lock, err := e.Acquire(within(t), "name", 9*time.Second)
		require.NoError(t, err)
		require.NoError(t, lock.KeepAlive(0))
		heldOn := func() int {
			time.Sleep(10 * time.Second) // it is renewed meanwhile
			masters, _ := lock.HeldOn()
			return masters
		}
		require.Equal(t, 3, heldOn())
		for _, m := range []string{"a2:1", "b2:1"} {
			w[m].Down()
			require.Equal(t, 2, heldOn(), "as many as in the group with fewer")
			w[m].Up()
			time.Sleep(time.Minute)
		}
		require.NoError(t, lock.Release(t.Context()))
	})
}

// A process of another step has the slot in the second group only.
func TestASlotThatOneGroupRefusesIsReleasedInTheOther(t *testing.T) {
	asEither(t, func(t *testing.T, w world, now, next string) {
		e := w.open(t, now, next)
		defer e.Close()
		first, err := e.TryAcquirePermit(t.Context(), "name", 2, 9*time.Second)
		require.NoError(t, err)
		_, two := e.r.find("name")
		theirs, err := w.alone(t, two.id).TryAcquirePermit(t.Context(), "name", 2, 9*time.Second)
		require.NoError(t, err)
		for range 10 {
			_, err = e.TryAcquirePermit(t.Context(), "name", 2, 9*time.Second)
			require.ErrorIs(t, err, engine.ErrTaken)
		}
		require.NoError(t, theirs.Release(t.Context()))
		synctest.Wait()
		require.Empty(t, w.having(fmt.Sprintf("__muxlock__:slot:%d:name", theirs.Slot())))
		require.NoError(t, first.Release(t.Context()))
	})
}

func TestAMovedLockEndsWhenOneGroupAnswersNoMore(t *testing.T) {
	ofEither(t, func(t *testing.T, w world, now, next, group string) {
		e := w.open(t, now, next)
		lock, err := e.Acquire(within(t), "name", 9*time.Second)
		require.NoError(t, err)
		require.NoError(t, lock.KeepAlive(0))
		until := lock.Until()
		w.slow(group, time.Hour)
		<-lock.Done()
		require.ErrorIs(t, lock.Err(), engine.ErrExpired)
		require.Zero(t, time.Since(until))
	})
}

// A release is pending at a master that is away for as long as the lock may live.
func TestAttemptsAtAMovedNameLeaveNothingBehindForALongOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		e := w.open(t, "a", "b")
		held, err := w.alone(t, "a").Acquire(t.Context(), "name", 30*time.Second)
		require.NoError(t, err)
		w["b0:1"].Down()
		pending := func() int { return e.Groups()["b"].Stats().Masters[0].PendingReleases }
		synctest.Wait()
		for range 100 {
			_, err := e.TryAcquire(t.Context(), "name", 5*time.Second)
			require.ErrorIs(t, err, engine.ErrTaken)
		}
		synctest.Wait()
		require.Positive(t, pending())
		time.Sleep(10 * time.Second)
		require.Zero(t, pending())
		require.True(t, held.Valid())
	})
}

func TestARequestThatCannotBeSentToBothGroupsIsNotWon(t *testing.T) {
	w := newWorld(t)
	e := w.open(t, "a", "b")
	e.r.all[1].pipe.Close()
	require.ErrorIs(t, e.r.Of("name").Start(pipeline.Request{Op: pipeline.Extend, Name: "name", Token: "token", TTL: time.Second}, nil), engine.ErrClosed)
	_, err := e.TryAcquire(t.Context(), "name", 0)
	require.ErrorIs(t, err, engine.ErrClosed)
	await.Equal(t, "", func() any { return w.having("name") }, "it is released in the first one")
}

func TestOperatorsSeeAndReleaseAMovedNameOfEitherGroup(t *testing.T) {
	ofEither(t, func(t *testing.T, w world, now, next, group string) {
		e := w.open(t, now, next).Engine
		inspect := func() admin.Inspection {
			t.Helper()
			synctest.Wait() // the third master votes, too
			found, err := admin.Inspect(t.Context(), e, "name")
			require.NoError(t, err)
			return found
		}
		other := w.alone(t, group)
		lock, err := other.Acquire(t.Context(), "name", 0)
		require.NoError(t, err)
		found := inspect()
		require.True(t, found.Held)
		require.Equal(t, group, found.Masters[0].Address[:1])
		deleted, err := admin.ForceRelease(t.Context(), e, found)
		require.NoError(t, err)
		require.Equal(t, 3, deleted)
		require.ErrorIs(t, lock.Extend(t.Context(), 0), engine.ErrLost)
		_, err = admin.ForceRelease(t.Context(), e, found)
		require.ErrorIs(t, err, engine.ErrNotHeld)

		_, err = other.TryAcquireShared(t.Context(), "name", 0)
		require.NoError(t, err)
		found = inspect()
		require.Equal(t, 1, found.Readers)
		_, err = admin.ForceRelease(t.Context(), e, found)
		require.NoError(t, err)
		require.False(t, inspect().Held)
		_, err = e.Acquire(t.Context(), "name", 0)
		require.NoError(t, err)
		deleted, err = admin.ForceRelease(t.Context(), e, inspect())
		require.NoError(t, err)
		require.Equal(t, 3, deleted, "of either group")
		require.Empty(t, w.having("name"))
	})
}

func TestAMovedNameIsFreeOnlyIfBothGroupsSayIt(t *testing.T) {
	ofEither(t, func(t *testing.T, w world, now, next, group string) {
		e := w.open(t, now, next).Engine
		away := map[string]string{"a": "b", "b": "a"}[group]
		other := w.alone(t, group)
		for i := range 3 {
			w[fmt.Sprintf("%s%d:1", away, i)].Down()
		}
		w[group+"0:1"].Set("name", "a value that is left of an attempt")
		_, err := admin.Inspect(t.Context(), e, "name")
		require.ErrorIs(t, err, engine.ErrNoQuorum)
		_, err = other.Acquire(t.Context(), "name", 0)
		require.NoError(t, err)
		found, err := admin.Inspect(t.Context(), e, "name")
		require.NoError(t, err)
		require.True(t, found.Held, "whatever the other one would say")
	})
}

func TestAnOutcomeIsThatOfBothGroupsInAnyOrder(t *testing.T) {
	won, denied, none := quorum.Won, quorum.Denied, quorum.NoQuorum
	for _, c := range [][3]quorum.Verdict{
		{won, won, won}, {won, denied, denied}, {won, none, none}, {denied, denied, denied}, {denied, none, denied}, {none, none, none},
	} {
		one, two := pipeline.Outcome{Verdict: c[0], Sent: clock.Now()}, pipeline.Outcome{Verdict: c[1], Sent: clock.Now().Add(time.Second)}
		for _, joined := range []pipeline.Outcome{both(one, two), both(two, one)} {
			require.Equal(t, c[2], joined.Verdict)
			require.True(t, joined.Verdict != won || joined.Sent == one.Sent, "the earlier lease ends first")
		}
	}
}

// The lease in the first group began earlier.
func TestValidityOfAMovedLockCountsFromTheFirstRequest(t *testing.T) {
	ofEither(t, func(t *testing.T, w world, now, next, group string) {
		e := w.open(t, now, next)
		allowed := redlock.DriftAllowance(9*time.Second, redlock.DefaultDrift)
		w.slow(group, time.Second)
		begun := time.Now()
		lock, err := e.Acquire(within(t), "name", 9*time.Second)
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(begun), time.Second)
		require.Equal(t, 9*time.Second-allowed, lock.Until().Sub(begun))
		begun = time.Now()
		require.NoError(t, lock.Extend(t.Context(), 9*time.Second))
		require.Equal(t, 9*time.Second-allowed, lock.Until().Sub(begun))
		require.NoError(t, lock.Release(t.Context()))
	})
}

func TestAnAbandonedAcquireLeavesNothingInEitherGroup(t *testing.T) {
	ofEither(t, func(t *testing.T, w world, now, next, group string) {
		e := w.open(t, now, next)
		w.slow(group, time.Second)
		set := []string{"{name}/1", "{name}/2"}
		for _, acquire := range []func(context.Context) error{
			func(ctx context.Context) error { _, err := e.Acquire(ctx, "name", 0); return err },
			func(ctx context.Context) error { _, err := e.TryAcquireAll(ctx, set, 0); return err },
			func(ctx context.Context) error { _, err := e.TryAcquireShared(ctx, "read", 0); return err },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			require.ErrorIs(t, acquire(ctx), context.DeadlineExceeded)
			require.ErrorIs(t, acquire(ctx), context.DeadlineExceeded, "it is over")
			cancel()
		}
		time.Sleep(3 * time.Second)
		for _, name := range append(set, "name", "read") {
			require.Empty(t, w.having(name))
		}
	})
}

func TestProcessesOfNeighbouringMapsExcludeEachOther(t *testing.T) {
	w := newWorld(t)
	both := []*engine.Engine{w.open(t, "a", "b").Engine, w.open(t, "a", "b").Engine}
	both = append(both, w.open(t, "b", "a").Engine)
	for _, group := range []string{"a", "b"} {
		var inside, turns atomic.Int32
		var callers sync.WaitGroup
		for _, e := range append(both, w.alone(t, group), w.alone(t, group)) {
			for range 3 {
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
		require.EqualValues(t, 75, turns.Load(), "nobody waits in a ring")
	}
}
