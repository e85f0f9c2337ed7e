package servertest

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

	"muxlock/engine"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
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
	require.ErrorIs(t, err, engine.ErrTaken)
	_, err = one.TryAcquire(t.Context(), t.Name()+"/a", 0)
	require.ErrorIs(t, err, engine.ErrTaken)
	b, err := two.TryAcquire(t.Context(), t.Name()+"/b", 0)
	require.NoError(t, err, "another name is free")
	require.NotEqual(t, a.Reveal(), b.Reveal())

	passed := make(chan *engine.Lock)
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
	require.ErrorIs(t, err, engine.ErrTaken)
	require.ErrorIs(t, err, engine.ErrNotAcquired)
	var attempt *engine.AttemptError
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

func TestSecondReleaseIsNotHeldAndTouchesNobody(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	first, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	require.NoError(t, first.Release(t.Context()))
	second, err := e.Acquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	everywhere(t, masters, second)
	require.ErrorIs(t, first.Release(t.Context()), engine.ErrNotHeld)
	require.ErrorIs(t, first.Extend(t.Context(), 0), engine.ErrNotHeld)
	require.ErrorIs(t, first.Err(), engine.ErrNotHeld)
	<-first.Done()
	everywhere(t, masters, second)
	require.NoError(t, second.Release(t.Context()))
}

func TestReleaseOfALockThatIsGoneSpeaksOfARelease(t *testing.T) {
	masters := five(t)
	lock := heldEverywhere(t, open(t, masters), masters, 0)
	redistest.Delete(t, masters, t.Name())
	err := lock.Release(t.Context())
	require.ErrorIs(t, err, engine.ErrNotHeld)
	require.NotErrorIs(t, err, engine.ErrNotAcquired)
	require.ErrorContains(t, err, "of 5 masters 0 deleted it, ")
}

func TestReleaseAfterExpiryIsNotHeldAndTouchesNobody(t *testing.T) {
	t.Parallel()
	masters := five(t)
	e := open(t, masters)
	old, err := e.TryAcquire(t.Context(), t.Name(), await.Patience+100*time.Millisecond)
	require.NoError(t, err)
	<-old.Done()
	require.ErrorIs(t, old.Err(), engine.ErrExpired)
	next, err := e.Acquire(t.Context(), t.Name(), 20*time.Second)
	require.NoError(t, err)
	require.ErrorIs(t, old.Extend(t.Context(), 0), engine.ErrLost)
	require.ErrorIs(t, old.Release(t.Context()), engine.ErrNotHeld)
	require.ErrorIs(t, old.Err(), engine.ErrNotHeld)
	require.True(t, next.Valid())
	require.GreaterOrEqual(t, having(t, masters, next), 3, "one may have had the old key for a moment longer")
	require.NoError(t, next.Release(t.Context()))
	require.Equal(t, uint64(1), e.Stats().NotHeld)
	require.Equal(t, uint64(1), e.Stats().Lost)
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
	require.ErrorIs(t, context.Cause(c), engine.ErrNotHeld)
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
	require.ErrorIs(t, err, engine.ErrTaken)
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
	engines := []*engine.Engine{open(t, masters), open(t, masters), open(t, masters)}
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
				case !errors.Is(err, engine.ErrTaken):
					t.Errorf("acquire: %v", err)
				}
			}
		})
	}
	all.Wait()
	redistest.Gone(t, masters, t.Name())
	var stats engine.Stats
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
