package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
	"muxlock/internal/testing/redistest"
	"muxlock/internal/token"
	"muxlock/pipeline"
)

func TestAcquireSetsTheTokenOnAllMastersAndReleaseDeletesIt(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	before := time.Now()
	lock, err := e.TryAcquire(t.Context(), t.Name(), 5*time.Second)
	require.NoError(t, err)
	require.True(t, lock.Valid())
	require.NoError(t, lock.Err())
	require.Equal(t, t.Name(), lock.Name())
	require.WithinRange(t, lock.Until(), before.Add(4900*time.Millisecond), time.Now().Add(4948*time.Millisecond))
	everywhere(t, masters, lock)
	for _, left := range redistest.PTTL(t, masters, t.Name()) {
		require.Positive(t, left)
		require.LessOrEqual(t, left, int64(5000))
		require.True(t, lock.Until().Before(time.Now().Add(time.Duration(left)*time.Millisecond)), "validity ends before the key")
	}
	require.NoError(t, lock.Release(t.Context()))
	require.False(t, lock.Valid())
	redistest.Gone(t, masters, t.Name())
	stats := e.Stats()
	require.Equal(t, []uint64{1, 1}, []uint64{stats.Acquired, stats.Released})
}

func TestOneHolderPerNameAcrossEngines(t *testing.T) {
	masters := five(t)
	one, two := open(t, masters), open(t, masters)
	a, err := one.Acquire(t.Context(), t.Name()+"/a", 0)
	require.NoError(t, err)
	_, err = two.TryAcquire(t.Context(), t.Name()+"/a", 0)
	require.ErrorIs(t, err, ErrTaken)
	_, err = one.TryAcquire(t.Context(), t.Name()+"/a", 0)
	require.ErrorIs(t, err, ErrTaken)
	b, err := two.TryAcquire(t.Context(), t.Name()+"/b", 0)
	require.NoError(t, err, "another name is free")
	require.NotEqual(t, a.Reveal(), b.Reveal())

	passed := make(chan *Lock)
	go func() {
		lock, _ := two.Acquire(context.Background(), t.Name()+"/a", 0)
		passed <- lock
	}()
	require.NoError(t, a.Release(t.Context()))
	next := <-passed
	require.NotNil(t, next, "a waiter gets it once it is released")
	require.NoError(t, next.Release(t.Context()))
	require.NoError(t, b.Release(t.Context()))
	redistest.Gone(t, masters, t.Name()+"/a", t.Name()+"/b")
}

func TestKeyOfAnotherLibraryOnAMajorityIsTaken(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	for _, m := range masters[:3] {
		require.Equal(t, "OK", redistest.Command(t, m, "SET", t.Name(), "foreign", "NX", "PX", "60000"))
	}
	_, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.ErrorIs(t, err, ErrTaken)
	require.ErrorIs(t, err, ErrNotAcquired)
	var attempt *AttemptError
	require.ErrorAs(t, err, &attempt)
	require.Equal(t, 5, attempt.Masters)
	require.Equal(t, 3, attempt.Refused)
	require.LessOrEqual(t, attempt.Granted, 2)
	require.Zero(t, attempt.Unknown)
	require.Contains(t, err.Error(), "of 5 masters")
	redistest.Gone(t, masters[3:], t.Name())
	require.Equal(t, []string{"foreign", "foreign", "foreign"}, redistest.Get(t, masters[:3], t.Name()))
	for _, m := range masters[:3] {
		redistest.Command(t, m, "DEL", t.Name())
	}
}

func TestKeyOfAnotherLibraryOnAMinorityDoesNotMatterAndStays(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	for _, m := range masters[:2] {
		require.Equal(t, "OK", redistest.Command(t, m, "SET", t.Name(), "foreign", "NX", "PX", "60000"))
	}
	lock, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	everywhere(t, masters[2:], lock)
	require.NoError(t, lock.Extend(t.Context(), 20*time.Second))
	require.NoError(t, lock.Release(t.Context()))
	redistest.Gone(t, masters[2:], t.Name())
	require.Equal(t, []string{"foreign", "foreign"}, redistest.Get(t, masters[:2], t.Name()))
	for _, left := range redistest.PTTL(t, masters[:2], t.Name()) {
		require.LessOrEqual(t, left, int64(60000))
	}
	for _, m := range masters[:2] {
		redistest.Command(t, m, "DEL", t.Name())
	}
}

func TestAnotherLibraryIsRefusedWhileWeHoldTheLock(t *testing.T) {
	masters := five(t)
	lock, err := open(t, masters).TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	everywhere(t, masters, lock)
	for _, m := range masters {
		require.Nil(t, redistest.Command(t, m, "SET", t.Name(), "foreign", "NX", "PX", "60000"))
	}
	require.NoError(t, lock.Release(t.Context()))
}

func TestRefusedAttemptNeverTouchesTheHolder(t *testing.T) {
	masters := five(t)
	holder, other := open(t, masters), open(t, masters)
	lock, err := holder.TryAcquire(t.Context(), t.Name(), 20*time.Second)
	require.NoError(t, err)
	everywhere(t, masters, lock)
	before := redistest.PTTL(t, masters, t.Name())
	for range 10 { // one by one, plain commands
		_, err := other.TryAcquire(t.Context(), t.Name(), 30*time.Second)
		require.ErrorIs(t, err, ErrTaken)
	}
	var many sync.WaitGroup // all at once, folded
	for range 100 {
		many.Go(func() {
			req := pipeline.Request{Op: pipeline.Acquire, Name: t.Name(), Token: token.New(), TTL: 30 * time.Second}
			if out, err := other.pipe.Do(context.Background(), req); err != nil || out.Verdict != quorum.Denied {
				t.Errorf("not refused: %v, %v", out, err)
			}
		})
	}
	many.Wait()
	cycle(t, other, t.Name()+"/behind") // what the attempts left behind has been sent before this
	require.Greater(t, other.Stats().LargestRound, 8)
	everywhere(t, masters, lock)
	for i, left := range redistest.PTTL(t, masters, t.Name()) {
		require.Positive(t, left)
		require.LessOrEqual(t, left, before[i])
	}
	require.NoError(t, lock.Release(t.Context()))
}

func TestSecondReleaseIsNotHeldAndTouchesNobody(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	first, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	require.NoError(t, first.Release(t.Context()))
	second, err := e.Acquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	everywhere(t, masters, second)
	require.ErrorIs(t, first.Release(t.Context()), ErrNotHeld)
	require.ErrorIs(t, first.Extend(t.Context(), 0), ErrNotHeld)
	require.ErrorIs(t, first.Err(), ErrNotHeld)
	<-first.Done()
	everywhere(t, masters, second)
	require.NoError(t, second.Release(t.Context()))
}

func TestReleaseOfALockThatIsGoneSpeaksOfARelease(t *testing.T) {
	masters := five(t)
	lock, err := open(t, masters).TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	everywhere(t, masters, lock)
	for _, m := range masters {
		redistest.Command(t, m, "DEL", t.Name())
	}
	err = lock.Release(t.Context())
	require.ErrorIs(t, err, ErrNotHeld)
	require.NotErrorIs(t, err, ErrNotAcquired)
	require.ErrorContains(t, err, "of 5 masters 0 deleted it, ")
}

func TestReleaseAfterExpiryIsNotHeldAndTouchesNobody(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	old, err := e.TryAcquire(t.Context(), t.Name(), patience+100*time.Millisecond)
	require.NoError(t, err)
	<-old.Done()
	require.ErrorIs(t, old.Err(), ErrExpired)
	next, err := e.Acquire(t.Context(), t.Name(), 20*time.Second)
	require.NoError(t, err)
	require.ErrorIs(t, old.Extend(t.Context(), 0), ErrLost)
	require.ErrorIs(t, old.Release(t.Context()), ErrNotHeld)
	require.ErrorIs(t, old.Err(), ErrNotHeld)
	require.True(t, next.Valid())
	require.GreaterOrEqual(t, having(t, masters, next), 3, "one may have had the old key for a moment longer")
	require.NoError(t, next.Release(t.Context()))
	require.Equal(t, uint64(1), e.Stats().NotHeld)
	require.Equal(t, uint64(1), e.Stats().Lost)
}

func TestExtendLongerMovesTheEndOnAllMasters(t *testing.T) {
	const ttl = 20 * time.Second
	masters := five(t)
	lock, err := open(t, masters).TryAcquire(t.Context(), t.Name(), 5*time.Second)
	require.NoError(t, err)
	everywhere(t, masters, lock)
	before := time.Now()
	require.NoError(t, lock.Extend(t.Context(), ttl))
	valid := redlock.Validity(ttl, 0, redlock.DefaultDrift)
	require.WithinRange(t, lock.Until(), before.Add(valid), time.Now().Add(valid))
	soon(t, func() bool {
		for _, left := range redistest.PTTL(t, masters, t.Name()) {
			ends := time.Now().Add(time.Duration(left) * time.Millisecond)
			if ends.Before(lock.Until()) || left > ttl.Milliseconds() {
				return false
			}
		}
		return true
	}, "no key ends before validity")
	require.True(t, lock.Valid())
	require.NoError(t, lock.Release(t.Context()))
}

func TestExtendDoesNotShortenWhatAnotherWithTheTokenAskedFor(t *testing.T) {
	masters := redistest.Masters(t, 3)
	lock, err := open(t, masters).Acquire(t.Context(), "name", 5*time.Second)
	require.NoError(t, err)
	everywhere(t, masters, lock)
	require.NotEmpty(t, lock.Reveal())
	for _, m := range masters {
		redistest.Command(t, m, "PEXPIRE", "name", "60000")
	}
	require.NoError(t, lock.Extend(t.Context(), 5*time.Second))
	for _, m := range masters {
		require.Greater(t, redistest.Command(t, m, "PTTL", "name").(int64), int64(10_000))
	}
	require.NoError(t, lock.Release(t.Context()))
}

func TestExtendShorterChangesNothing(t *testing.T) {
	masters := five(t)
	lock, err := open(t, masters).TryAcquire(t.Context(), t.Name(), 25*time.Second)
	require.NoError(t, err)
	everywhere(t, masters, lock)
	old := lock.Until()
	require.NoError(t, lock.Extend(t.Context(), 5*time.Second))
	require.Equal(t, old, lock.Until())
	require.NoError(t, lock.Extend(t.Context(), 0), "Config.TTL, 10 s")
	require.Equal(t, old, lock.Until())
	for _, left := range redistest.PTTL(t, masters, t.Name()) {
		require.True(t, old.Before(time.Now().Add(time.Duration(left)*time.Millisecond)), "%d ms", left)
	}
	require.NoError(t, lock.Release(t.Context()))
}

func TestExtendMovesTheTimerBehindDone(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, _ *scripted) {
		lock := mustAcquire(t, e, "name", time.Second)
		done, old := lock.Done(), lock.Until()
		require.NoError(t, lock.Extend(t.Context(), 5*time.Second))
		require.Greater(t, lock.Until().Sub(old), 3*time.Second)
		<-done
		require.Zero(t, time.Until(lock.Until()))
	})
}

func TestExtendLosesTheLockWhenAMajorityDeletedIt(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	lock, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	everywhere(t, masters, lock)
	for _, m := range masters[:3] {
		redistest.Command(t, m, "DEL", t.Name())
	}
	done := lock.Done()
	held, cancel := lock.Context(t.Context())
	defer cancel()
	require.True(t, lock.Valid(), "not known yet")
	err = lock.Extend(t.Context(), 20*time.Second)
	require.ErrorIs(t, err, ErrLost)
	require.NotErrorIs(t, err, ErrNotAcquired)
	require.ErrorContains(t, err, "had it no more")
	<-done
	<-held.Done()
	require.ErrorIs(t, context.Cause(held), ErrLost)
	require.ErrorIs(t, lock.Err(), ErrLost)
	require.False(t, lock.Valid())
	require.Equal(t, uint64(1), e.Stats().Lost)
	require.Equal(t, []string{"", "", ""}, redistest.Get(t, masters[:3], t.Name()), "an extend creates no key")
	require.ErrorIs(t, lock.Extend(t.Context(), 0), ErrLost, "final")
	require.ErrorIs(t, lock.Release(t.Context()), ErrNotHeld)
	redistest.Gone(t, masters, t.Name())
}

func TestExtendLosesTheLockWhenAMajorityHasAnotherHolder(t *testing.T) {
	masters := five(t)
	lock, err := open(t, masters).TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	everywhere(t, masters, lock)
	for _, m := range masters[:3] {
		redistest.Command(t, m, "SET", t.Name(), "foreign", "PX", "60000")
	}
	require.ErrorIs(t, lock.Extend(t.Context(), 20*time.Second), ErrLost)
	require.ErrorIs(t, lock.Release(t.Context()), ErrNotHeld)
	redistest.Gone(t, masters[3:], t.Name())
	require.Equal(t, []string{"foreign", "foreign", "foreign"}, redistest.Get(t, masters[:3], t.Name()))
	for i, left := range redistest.PTTL(t, masters[:3], t.Name()) {
		require.LessOrEqual(t, left, int64(60000))
		redistest.Command(t, masters[i], "DEL", t.Name())
	}
}

func TestExtendSurvivesAMinorityThatDeletedIt(t *testing.T) {
	masters := five(t)
	lock, err := open(t, masters).TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	everywhere(t, masters, lock)
	for _, m := range masters[:2] {
		redistest.Command(t, m, "DEL", t.Name())
	}
	require.NoError(t, lock.Extend(t.Context(), 20*time.Second))
	require.True(t, lock.Valid())
	require.Equal(t, []string{"", ""}, redistest.Get(t, masters[:2], t.Name()), "an extend creates no key")
	require.NoError(t, lock.Release(t.Context()))
}

func TestExtendWithTooFewMastersLeavesTheOldUntil(t *testing.T) {
	masters := redistest.Masters(t, 3)
	e := open(t, masters)
	lock, err := e.TryAcquire(t.Context(), t.Name(), 20*time.Second)
	require.NoError(t, err)
	everywhere(t, masters, lock)
	for _, m := range masters[:2] {
		require.NoError(t, m.Pause())
	}
	old := lock.Until()
	err = lock.Extend(t.Context(), 30*time.Second)
	require.ErrorIs(t, err, ErrNoQuorum)
	require.NotErrorIs(t, err, ErrLost)
	require.Equal(t, old, lock.Until())
	require.True(t, lock.Valid())
	for _, m := range masters[:2] {
		require.Contains(t, err.Error(), m.Addr(), "the error names the masters that did not answer")
		require.NoError(t, m.Resume())
	}
	soon(t, func() bool { return lock.Extend(t.Context(), 30*time.Second) == nil })
	require.NoError(t, lock.Release(t.Context()))
	redistest.Gone(t, masters, t.Name())
}

func TestValidityRunsOutByTheLocalClock(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, _ *scripted) {
		lock := mustAcquire(t, e, "name", time.Second)
		held, cancel := lock.Context(t.Context())
		defer cancel()
		child, cancelChild := context.WithTimeout(held, time.Hour)
		defer cancelChild()
		require.True(t, lock.Valid())
		require.NoError(t, held.Err())
		<-lock.Done()
		require.Zero(t, time.Until(lock.Until()))
		<-child.Done()
		for _, err := range []error{lock.Err(), context.Cause(held), context.Cause(child)} {
			require.ErrorIs(t, err, ErrLost)
			require.ErrorIs(t, err, ErrExpired)
			require.NotErrorIs(t, err, ErrNotAcquired)
		}
		require.False(t, lock.Valid())
		late, cancelLate := lock.Context(t.Context())
		defer cancelLate()
		require.ErrorIs(t, context.Cause(late), ErrLost, "a context of a lost lock has ended")
		require.Equal(t, uint64(1), e.Stats().Lost)
		require.ErrorIs(t, lock.Extend(t.Context(), 0), ErrLost)
	})
}

func TestValidityNeedsNoTimerUnlessSomebodyWatches(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, _ *scripted) {
		lock := mustAcquire(t, e, "name", time.Second)
		require.Empty(t, e.keeper.leases)
		time.Sleep(time.Until(lock.Until()) - 1)
		require.True(t, lock.Valid())
		require.Empty(t, e.keeper.leases)
		time.Sleep(time.Nanosecond)
		require.False(t, lock.Valid())
		select {
		case <-lock.Done():
		default:
			t.Fatal("Done of a lost lock is closed already")
		}
	})
}

func TestContextOfALockEndsWithReleaseParentOrItsCancel(t *testing.T) {
	e := open(t, five(t))
	lock, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	parent, cancelParent := context.WithCancel(t.Context())
	a, cancelA := lock.Context(t.Context())
	b, cancelB := lock.Context(parent)
	c, cancelC := lock.Context(t.Context())
	defer cancelB()
	defer cancelC()
	cancelA()
	require.ErrorIs(t, a.Err(), context.Canceled)
	cancelParent()
	<-b.Done()
	require.ErrorIs(t, context.Cause(b), context.Canceled)
	require.NoError(t, c.Err())
	require.True(t, lock.Valid())
	require.NoError(t, lock.Release(t.Context()))
	<-c.Done()
	require.ErrorIs(t, context.Cause(c), ErrNotHeld)
	cancelA() // twice is fine
}

func TestDoHoldsTheLockWhileTheFunctionRuns(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	ran := false
	require.NoError(t, e.Do(t.Context(), t.Name(), 0, func(ctx context.Context) error {
		ran = true
		_, err := e.TryAcquire(ctx, t.Name(), 0)
		require.ErrorIs(t, err, ErrTaken)
		return ctx.Err()
	}))
	require.True(t, ran)
	redistest.Gone(t, masters, t.Name())

	failure := errors.New("failure of fn")
	require.ErrorIs(t, e.Do(t.Context(), t.Name(), 0, func(context.Context) error { return failure }), failure)
	cycle(t, e, t.Name())
}

func TestDoReleasesWhenTheFunctionPanics(t *testing.T) {
	e := open(t, five(t))
	require.PanicsWithValue(t, "oops", func() {
		e.Do(t.Context(), t.Name(), 0, func(context.Context) error { panic("oops") })
	})
	cycle(t, e, t.Name())
}

func TestDoReleasesThoughItsContextHasEnded(t *testing.T) {
	e := open(t, five(t))
	ctx, cancel := context.WithCancel(t.Context())
	err := e.Do(ctx, t.Name(), 0, func(held context.Context) error {
		cancel()
		<-held.Done()
		return held.Err()
	})
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrNoQuorum)
	cycle(t, e, t.Name())
}

func TestDoEndsTheFunctionsContextOnLossAndSaysSo(t *testing.T) {
	t.Parallel()
	masters := five(t)
	e := open(t, masters)
	failed := errors.New("cut short")
	err := e.Do(t.Context(), t.Name(), 3*time.Second, func(ctx context.Context) error {
		soon(t, func() bool { return e.Stats().Renewed >= 4 }) // past its ttl
		require.NoError(t, ctx.Err())
		for _, m := range masters {
			redistest.Command(t, m, "DEL", t.Name())
		}
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), ErrLost)
		return failed
	})
	require.ErrorIs(t, err, failed)
	require.ErrorIs(t, err, ErrLost)
	require.ErrorIs(t, err, ErrNotHeld)
	require.NotErrorIs(t, err, ErrExpired, "known before validity ran out")
	require.EqualValues(t, 1, e.Stats().Lost)
}

func TestDoDoesNotRunWithoutTheLock(t *testing.T) {
	masters := five(t)
	e, holder := open(t, masters, func(c *Config) { c.MaxAttempts, c.RetryHeld = 2, time.Minute }), open(t, masters)
	lock, err := holder.TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	require.NoError(t, lock.KeepAlive(0))
	everywhere(t, masters, lock)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	returned := make(chan error)
	go func() {
		returned <- e.Do(ctx, t.Name(), 0, func(context.Context) error {
			t.Error("ran without the lock")
			return nil
		})
	}()
	soon(t, func() bool { return e.Stats().Taken > 0 })
	cancel()
	err = <-returned
	require.ErrorIs(t, err, ErrTaken)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, lock.Release(t.Context()))
}

func TestTryDoAsksOnceAndRunsUnderTheLock(t *testing.T) {
	masters := five(t)
	e, other := open(t, masters), open(t, masters)
	require.ErrorIs(t, e.TryDo(t.Context(), t.Name(), 0, nil), ErrInvalid)
	ran := false
	require.NoError(t, e.TryDo(t.Context(), t.Name(), 0, func(ctx context.Context) error {
		lock, ok := LockFrom(ctx)
		require.True(t, ok)
		everywhere(t, masters, lock)
		err := other.TryDo(ctx, t.Name(), 0, func(context.Context) error {
			t.Error("ran without the lock")
			return nil
		})
		require.ErrorIs(t, err, ErrTaken)
		ran = true
		return nil
	}))
	require.True(t, ran)
	require.EqualValues(t, 1, other.Stats().Taken, "one attempt")
	redistest.Gone(t, masters, t.Name())
}

func TestLockInALogHasItsNameAndEndAndNoToken(t *testing.T) {
	e := open(t, five(t))
	lock, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	var b strings.Builder
	slog.New(slog.NewJSONHandler(&b, nil)).Info("held", "lock", lock)
	var line struct {
		Lock map[string]any `json:"lock"`
	}
	require.NoError(t, json.Unmarshal([]byte(b.String()), &line))
	until, err := lock.Until().MarshalText()
	require.NoError(t, err)
	require.Equal(t, map[string]any{"name": t.Name(), "until": string(until)}, line.Lock)
	require.NoError(t, lock.Release(t.Context()))
}

func TestNamesAreBytes(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	names := []string{
		"\x00", "a\x00b", "\r\n", "a\r\nSET b c\r\n", "\xff\xfe", "{a}b", "{", "*?[a]", "$5", " ", "\"'\\",
		"ünïcødé", strings.Repeat("x", 512), strings.Repeat("\xff", 512), "__muxlock__", "__muxlock_", "-", "+1",
	}
	for i, name := range names {
		if len(name) < 256 {
			names[i] += "|" + t.Name()
		}
	}
	all := func(work func(name string) error) {
		var every sync.WaitGroup
		for _, name := range names {
			every.Go(func() {
				if err := work(name); err != nil {
					t.Errorf("%q: %v", name, err)
				}
			})
		}
		every.Wait()
	}
	for _, how := range []string{"one by one", "folded"} {
		locks, mu := make(map[string]*Lock), sync.Mutex{}
		take := func(name string) error {
			lock, err := e.TryAcquire(context.Background(), name, 0)
			mu.Lock()
			defer mu.Unlock()
			locks[name] = lock
			return err
		}
		extend := func(name string) error { return locks[name].Extend(context.Background(), 20*time.Second) }
		release := func(name string) error { return locks[name].Release(context.Background()) }
		run := all
		if how == "one by one" {
			run = func(work func(string) error) {
				for _, name := range names {
					require.NoError(t, work(name), "%q", name)
				}
			}
		}
		run(take)
		for _, name := range names {
			require.NotNil(t, locks[name])
			everywhere(t, masters[:2], locks[name])
		}
		run(extend)
		run(release)
		redistest.Gone(t, masters[:2], names...)
	}
}

func TestWrongTypeOfOneKeyHitsOnlyItsOwnCallInABatch(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	locks := make([]*Lock, 64)
	each := func(work func(i int)) {
		var all sync.WaitGroup
		for i := range locks {
			all.Go(func() { work(i) })
		}
		all.Wait()
	}
	each(func(i int) {
		var err error
		if locks[i], err = e.TryAcquire(context.Background(), fmt.Sprint(t.Name(), i), 0); err != nil {
			t.Error(err)
		}
	})
	require.False(t, t.Failed())
	everywhere(t, masters, locks[7])
	for _, m := range masters {
		redistest.Command(t, m, "DEL", locks[7].Name())
		redistest.Command(t, m, "LPUSH", locks[7].Name(), "x")
	}
	errs := make([]error, len(locks))
	each(func(i int) { errs[i] = locks[i].Extend(context.Background(), 20*time.Second) })
	require.Greater(t, e.Stats().LargestRound, 8, "folded")
	require.ErrorIs(t, errs[7], ErrNoQuorum)
	require.ErrorContains(t, errs[7], "WRONGTYPE")
	errs[7] = nil
	require.NoError(t, errors.Join(errs...))
	each(func(i int) { errs[i] = locks[i].Release(context.Background()) })
	require.Error(t, errs[7])
	errs[7] = nil
	require.NoError(t, errors.Join(errs...))
	_, err := e.TryAcquire(t.Context(), locks[7].Name(), 0)
	require.ErrorIs(t, err, ErrTaken, "something is there")
	for i, m := range e.Stats().Masters {
		require.True(t, m.Up, "one name's trouble is not its master's")
		require.Zero(t, m.SetAside)
		require.Equal(t, int64(1), redistest.Command(t, masters[i], "DEL", locks[7].Name()), "still there")
	}
}

func TestEvenNumberOfMastersNeedsMoreThanHalf(t *testing.T) {
	masters := five(t)[:4]
	e := open(t, masters)
	for _, m := range masters[:2] {
		redistest.Command(t, m, "SET", t.Name(), "foreign", "PX", "60000")
	}
	_, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.ErrorIs(t, err, ErrTaken)
	redistest.Gone(t, masters[2:], t.Name())
	for _, m := range masters[:2] {
		redistest.Command(t, m, "DEL", t.Name())
	}
	cycle(t, e, t.Name())
}

func TestOneMasterIsEnough(t *testing.T) {
	e := open(t, five(t)[:1])
	cycle(t, e, t.Name())
}

func TestOppositeOrdersOfAcquireAndReleaseLeaveNothing(t *testing.T) {
	masters := five(t)
	engines := []*Engine{open(t, masters), open(t, masters), open(t, masters)}
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			for range 50 {
				lock, err := engines[i%len(engines)].TryAcquire(context.Background(), t.Name(), 0)
				switch {
				case err == nil:
					if err := lock.Release(context.Background()); err != nil {
						t.Errorf("release: %v", err)
					}
				case !errors.Is(err, ErrTaken):
					t.Errorf("acquire: %v", err)
				}
			}
		})
	}
	all.Wait()
	redistest.Gone(t, masters, t.Name())
	var stats Stats
	for _, e := range engines {
		one := e.Stats()
		stats.Acquired += one.Acquired
		stats.Taken += one.Taken
		stats.SplitVotes += one.SplitVotes
		stats.Released += one.Released
	}
	t.Logf("acquired %d, taken %d, split %d", stats.Acquired, stats.Taken, stats.SplitVotes)
	require.Equal(t, uint64(32*50), stats.Acquired+stats.Taken+stats.SplitVotes)
	require.Equal(t, stats.Acquired, stats.Released)
	require.Positive(t, stats.Acquired)
}
