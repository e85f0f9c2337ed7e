package redsync

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func TestWaiterInAnotherProcessIsWokenBeforeItsDelayIsOver(t *testing.T) {
	name := newName(t)
	here, there := New(open(t)), New(open(t))
	m := here.NewMutex(name, WithExpiry(30*time.Second))
	require.NoError(t, m.Lock())
	await.True(t, func() bool { return !slices.Contains(redistest.Get(t, five(t), name), "") }, "else the votes may be split, and its delay is as long")
	got := make(chan error)
	go func() {
		got <- there.NewMutex(name, WithExpiry(20*time.Second), WithTries(2), WithRetryDelay(time.Hour)).Lock()
	}()
	await.True(t, func() bool { return there.engine.Stats().Taken > 0 }, "it waits")
	unlock(t, m)
	require.NoError(t, <-got)
}

func TestLockIsHandedOverUnlessItsValueWasAskedFor(t *testing.T) {
	name := newName(t)
	for _, asked := range []bool{true, false} {
		e := open(t)
		sync := New(e)
		m, next := sync.NewMutex(name, WithExpiry(20*time.Second)), sync.NewMutex(name, WithExpiry(20*time.Second))
		require.NoError(t, m.Lock())
		value := ""
		if asked {
			value = m.Value()
		}
		got := make(chan error)
		go func() { got <- next.Lock() }()
		await.Equal(t, 1, func() any { return e.Stats().Waiting }, "it waits")
		unlock(t, m)
		require.NoError(t, <-got)
		require.Equal(t, asked, e.Stats().HandedOver == 0)
		require.Equal(t, value, m.Value(), "the next holder's is not shown")
		require.NotEqual(t, value, next.Value())
		unlock(t, next)
	}
}

func TestWithOneTryTheMastersAreAskedOnce(t *testing.T) {
	name, e := newName(t), open(t)
	require.NoError(t, New(open(t)).NewMutex(name).Lock())
	var taken *ErrTaken
	err := New(e).NewMutex(name, WithTries(1)).Lock()
	require.ErrorAs(t, err, &taken)
	require.ErrorIs(t, err, engine.ErrTaken)
	require.ErrorIs(t, err, engine.ErrNotAcquired)
	require.EqualValues(t, 1, e.Stats().Taken)
	require.ErrorAs(t, New(e).NewMutex(name, WithTries(2), WithRetryDelay(0)).Lock(), &taken)
	require.EqualValues(t, 3, e.Stats().Taken)
}

func TestEngineLockHasWhatRedsyncHasNot(t *testing.T) {
	name := newName(t)
	m := New(open(t)).NewMutex(name)
	require.Nil(t, m.EngineLock())
	require.NoError(t, m.Lock())
	lock := m.EngineLock()
	require.NoError(t, lock.KeepAlive(time.Minute))
	require.Equal(t, m.Name(), lock.Name())
	require.True(t, lock.Valid())
	unlock(t, m)
	<-lock.Done()
	require.ErrorIs(t, lock.Err(), engine.ErrNotHeld)
}

// engineOfItsOwn returns an engine whose masters a test may end.
func engineOfItsOwn(t *testing.T) ([]*redisserver.Server, *engine.Engine) {
	t.Helper()
	masters := redistest.Masters(t, 3)
	e, err := engine.New(t.Context(), engine.Config{Masters: redistest.Addrs(masters), MastersAreNew: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return masters, e
}

func TestLockThatMastersDoNotAnswerFails(t *testing.T) {
	name := newName(t)
	masters, e := engineOfItsOwn(t)
	for _, m := range masters {
		require.NoError(t, m.Pause())
	}
	m := New(e).NewMutex(name, WithTries(2), WithRetryDelay(0))
	var failed *RedisError
	require.ErrorAs(t, m.TryLock(), &failed)
	require.ErrorAs(t, m.Lock(), &failed)
	for _, m := range masters {
		require.NoError(t, m.Resume())
	}
	await.True(t, func() bool { return m.Lock() == nil }, "what was sent is undone")

	err := m.redsync.spent(context.DeadlineExceeded) // the bound ended the first attempt
	require.ErrorIs(t, err, ErrFailed)
	require.ErrorIs(t, err, context.DeadlineExceeded, "as with Redsync")
}

func TestEveryWaiterOfAProcessLearnsWhichMastersAreAway(t *testing.T) {
	name := newName(t)
	masters, e := engineOfItsOwn(t)
	for _, m := range masters {
		redistest.Down(t, m)
	}
	errs := make(chan error)
	for range 3 { // one of them asks the masters, the others wait for it
		go func() { errs <- New(e).NewMutex(name, WithTries(5), WithRetryDelay(100*time.Millisecond)).Lock() }()
	}
	for range 3 {
		err := <-errs
		var failed *RedisError
		require.ErrorIs(t, err, engine.ErrNoQuorum)
		require.ErrorIs(t, err, engine.ErrNotAcquired)
		require.ErrorAs(t, err, &failed)
		require.NotErrorIs(t, err, ErrFailed, "no ctx of theirs has ended")
		require.NotErrorIs(t, err, context.DeadlineExceeded)
	}
}

func TestDriftFactorCountsBeyondTheDriftOfTheEngine(t *testing.T) {
	for _, drift := range []float64{0.0001, 0.01, 0.2} {
		e, err := engine.New(t.Context(), engine.Config{Masters: redistest.Addrs(five(t)), MastersAreNew: true, Drift: drift})
		require.NoError(t, err)
		for factor, beyond := range map[float64]float64{0: 0, drift: 0, drift + 0.1: 0.1, 0.4: 0.4 - drift} {
			m := New(e).NewMutex(newName(t), WithExpiry(20*time.Second), WithDriftFactor(factor))
			require.NoError(t, m.Lock())
			require.InDelta(t, beyond*20, m.EngineLock().Until().Sub(m.Until()).Seconds(), 1e-6, "%v beside %v", factor, drift)
		}
		m := New(e).NewMutex(newName(t))
		require.NoError(t, m.Lock())
		require.Equal(t, m.EngineLock().Until(), m.Until(), "without the option")
		require.NoError(t, e.Close())
	}
}

func TestLockThatLeavesNoValidityIsGivenBack(t *testing.T) {
	name := newName(t)
	sync := New(open(t))
	m := sync.NewMutex(name)
	m.driftFactor = 2 // no option takes it
	require.ErrorIs(t, m.Lock(), ErrFailed)
	require.Nil(t, m.EngineLock())
	require.NoError(t, sync.NewMutex(name).TryLock())
}

func TestExtendThatLeavesNoValidityFails(t *testing.T) {
	name := newName(t)
	m := New(open(t)).NewMutex(name)
	require.NoError(t, m.Lock())
	m.driftFactor = 2
	ok, err := m.Extend()
	require.False(t, ok)
	require.ErrorIs(t, err, ErrExtendFailed)
	ok, err = m.Valid()
	require.False(t, ok)
	require.Error(t, err)
}

// The masters' clocks may be slow: the key is still there when validity has run out.
func TestLostLockIsTakenAgainAlsoWhereItsKeyIsLeft(t *testing.T) {
	name := newName(t)
	m := New(open(t)).NewMutex(name, WithExpiry(3*time.Second), WithSetNXOnExtend())
	require.NoError(t, m.Lock())
	lost, value := m.EngineLock(), m.Value()
	for _, master := range five(t) {
		await.Equal(t, int64(1), func() any { return redistest.Command(t, master, "PEXPIRE", name, "60000") }, "it has the key")
	}
	<-lost.Done()
	ok, err := m.Extend()
	require.NoError(t, err)
	require.True(t, ok)
	require.NotEqual(t, value, m.Value())
	unlock(t, m)
}

func TestNoContextIsBackground(t *testing.T) {
	name := newName(t)
	var none context.Context
	m := New(open(t)).NewMutex(name)
	require.NoError(t, m.LockContext(none))
	for _, call := range []func(context.Context) (bool, error){m.ExtendContext, m.ValidContext, m.UnlockContext} {
		ok, err := call(none)
		require.NoError(t, err)
		require.True(t, ok)
	}
	require.NoError(t, m.TryLockContext(none))
}

func TestErrorsAreOneLineWithoutTheValue(t *testing.T) {
	name := newName(t)
	e := open(t)
	sync := New(e)
	m := sync.NewMutex(name)
	require.NoError(t, m.Lock())
	value := m.Value()
	for call, err := range calls(sync.NewMutex(name, WithValue("none of "+value), WithTries(2), WithRetryDelay(0))) {
		require.Error(t, err, call)
		require.NotContains(t, err.Error(), value)
		require.Equal(t, 1, len(strings.Split(err.Error(), "\n")), err.Error())
	}
}

func TestClosedEngineIsSeen(t *testing.T) {
	name := newName(t)
	e := open(t)
	m := New(e).NewMutex(name)
	require.NoError(t, m.Lock())
	require.NoError(t, e.Close())
	_, extend := m.Extend()
	_, unlock := m.Unlock()
	for _, err := range []error{extend, unlock, m.Lock(), m.TryLock()} {
		require.ErrorIs(t, err, engine.ErrClosed)
	}
}

func TestLocksOfThisProcessAreForgottenOnceTheyEnd(t *testing.T) {
	name := newName(t)
	sync := New(open(t))
	keptName := newName(t)
	kept := sync.NewMutex(keptName, WithExpiry(30*time.Second))
	require.NoError(t, kept.Lock())
	require.NotEmpty(t, kept.Value())
	for range 1000 {
		m := sync.NewMutex(name)
		require.NoError(t, m.Lock())
		require.Same(t, m.EngineLock(), sync.shown.find(m.Value(), name))
		require.Nil(t, sync.shown.find(m.Value(), "another name"))
		unlock(t, m)
		require.Nil(t, sync.shown.find(m.Value(), name))
		require.LessOrEqual(t, len(sync.shown.locks), 64)
	}
	require.Same(t, kept.EngineLock(), sync.shown.find(kept.Value(), keptName))
}
