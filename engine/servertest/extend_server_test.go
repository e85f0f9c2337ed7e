package servertest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/redlock"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func TestExtendLongerMovesTheEndOnAllMasters(t *testing.T) {
	const ttl = 20 * time.Second
	masters := five(t)
	lock := heldEverywhere(t, open(t, masters), masters, 5*time.Second)
	before := time.Now()
	require.NoError(t, lock.Extend(t.Context(), ttl))
	valid := redlock.Validity(ttl, 0, redlock.DefaultDrift)
	require.WithinRange(t, lock.Until(), before.Add(valid), time.Now().Add(valid))
	await.True(t, func() bool {
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
	lock := heldEverywhere(t, open(t, masters), masters, 25*time.Second)
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

func TestExtendLosesTheLockWhenAMajorityDeletedIt(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	lock := heldEverywhere(t, e, masters, 0)
	redistest.Delete(t, masters[:3], t.Name())
	done := lock.Done()
	held, cancel := lock.Context(t.Context())
	defer cancel()
	require.True(t, lock.Valid(), "not known yet")
	err := lock.Extend(t.Context(), 20*time.Second)
	require.ErrorIs(t, err, engine.ErrLost)
	require.NotErrorIs(t, err, engine.ErrNotAcquired)
	require.ErrorContains(t, err, "had it no more")
	<-done
	<-held.Done()
	require.ErrorIs(t, context.Cause(held), engine.ErrLost)
	require.ErrorIs(t, lock.Err(), engine.ErrLost)
	require.False(t, lock.Valid())
	require.Equal(t, uint64(1), e.Stats().Lost)
	require.Equal(t, []string{"", "", ""}, redistest.Get(t, masters[:3], t.Name()), "an extend creates no key")
	require.ErrorIs(t, lock.Extend(t.Context(), 0), engine.ErrLost, "final")
	require.ErrorIs(t, lock.Release(t.Context()), engine.ErrNotHeld)
	redistest.Gone(t, masters, t.Name())
}

func TestExtendLosesTheLockWhenAMajorityHasAnotherHolder(t *testing.T) {
	masters := five(t)
	lock := heldEverywhere(t, open(t, masters), masters, 0)
	for _, m := range masters[:3] {
		redistest.Command(t, m, "SET", t.Name(), "foreign", "PX", "60000")
	}
	require.ErrorIs(t, lock.Extend(t.Context(), 20*time.Second), engine.ErrLost)
	require.ErrorIs(t, lock.Release(t.Context()), engine.ErrNotHeld)
	redistest.Gone(t, masters[3:], t.Name())
	require.Equal(t, []string{"foreign", "foreign", "foreign"}, redistest.Get(t, masters[:3], t.Name()))
	for i, left := range redistest.PTTL(t, masters[:3], t.Name()) {
		require.LessOrEqual(t, left, int64(60000))
		redistest.Command(t, masters[i], "DEL", t.Name())
	}
}

func TestExtendSurvivesAMinorityThatDeletedIt(t *testing.T) {
	masters := five(t)
	lock := heldEverywhere(t, open(t, masters), masters, 0)
	redistest.Delete(t, masters[:2], t.Name())
	require.NoError(t, lock.Extend(t.Context(), 20*time.Second))
	require.True(t, lock.Valid())
	require.Equal(t, []string{"", ""}, redistest.Get(t, masters[:2], t.Name()), "an extend creates no key")
	require.NoError(t, lock.Release(t.Context()))
}

func TestExtendWithTooFewMastersLeavesTheOldUntil(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 3)
	e := open(t, masters)
	lock := heldEverywhere(t, e, masters, 20*time.Second)
	for _, m := range masters[:2] {
		require.NoError(t, m.Pause())
	}
	old := lock.Until()
	err := lock.Extend(t.Context(), 30*time.Second)
	require.ErrorIs(t, err, engine.ErrNoQuorum)
	require.NotErrorIs(t, err, engine.ErrLost)
	require.Equal(t, old, lock.Until())
	require.True(t, lock.Valid())
	for _, m := range masters[:2] {
		require.Contains(t, err.Error(), m.Addr(), "the error names the masters that did not answer")
		require.NoError(t, m.Resume())
	}
	await.True(t, func() bool { return lock.Extend(t.Context(), 30*time.Second) == nil })
	require.NoError(t, lock.Release(t.Context()))
	redistest.Gone(t, masters, t.Name())
}
