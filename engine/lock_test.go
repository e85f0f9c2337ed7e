package engine

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
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
	redistest.Put(t, masters[:3], t.Name(), "foreign")
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
	redistest.Delete(t, masters[:3], t.Name())
}

func TestKeyOfAnotherLibraryOnAMinorityDoesNotMatterAndStays(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	redistest.Put(t, masters[:2], t.Name(), "foreign")
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
	redistest.Delete(t, masters[:2], t.Name())
}

func TestAnotherLibraryIsRefusedWhileWeHoldTheLock(t *testing.T) {
	masters := five(t)
	lock := heldEverywhere(t, open(t, masters), masters, 0)
	for _, m := range masters {
		require.Nil(t, redistest.Command(t, m, "SET", t.Name(), "foreign", "NX", "PX", "60000"))
	}
	require.NoError(t, lock.Release(t.Context()))
}

func TestRefusedAttemptNeverTouchesTheHolder(t *testing.T) {
	masters := five(t)
	holder, other := open(t, masters), open(t, masters)
	lock := heldEverywhere(t, holder, masters, 20*time.Second)
	before := redistest.PTTL(t, masters, t.Name())
	for range 10 { // one by one, plain commands
		_, err := other.TryAcquire(t.Context(), t.Name(), 30*time.Second)
		require.ErrorIs(t, err, ErrTaken)
	}
	var many sync.WaitGroup // all at once, folded
	for range 100 {
		many.Go(func() {
			req := pipeline.Request{Op: pipeline.Acquire, Name: t.Name(), Token: token.New(), TTL: 30 * time.Second}
			if out, err := other.masters.pipe.Do(context.Background(), req); err != nil || out.Verdict != quorum.Denied {
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
	lock := heldEverywhere(t, open(t, masters), masters, 0)
	redistest.Delete(t, masters, t.Name())
	err := lock.Release(t.Context())
	require.ErrorIs(t, err, ErrNotHeld)
	require.NotErrorIs(t, err, ErrNotAcquired)
	require.ErrorContains(t, err, "of 5 masters 0 deleted it, ")
}

func TestReleaseAfterExpiryIsNotHeldAndTouchesNobody(t *testing.T) {
	t.Parallel()
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

func TestEvenNumberOfMastersNeedsMoreThanHalf(t *testing.T) {
	masters := five(t)[:4]
	e := open(t, masters)
	for _, m := range masters[:2] {
		redistest.Command(t, m, "SET", t.Name(), "foreign", "PX", "60000")
	}
	_, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.ErrorIs(t, err, ErrTaken)
	redistest.Gone(t, masters[2:], t.Name())
	redistest.Delete(t, masters[:2], t.Name())
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
