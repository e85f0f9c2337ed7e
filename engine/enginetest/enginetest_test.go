package enginetest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/engine/enginetest"
	"muxlock/internal/testing/await"
)

func TestALostLockIsNoticedAtOnce(t *testing.T) {
	for how, lose := range map[string]func(*enginetest.Engine, string){"lost": (*enginetest.Engine).Lose, "refused": (*enginetest.Engine).Refuse} {
		t.Run(how, func(t *testing.T) {
			e := enginetest.New(t, engine.Config{Prefix: "locks:"})
			other := e.Open(t, engine.Config{Prefix: "locks:"})
			for i, holder := range []*engine.Engine{e.Engine, other} {
				name := strings.Repeat("x", i+1)
				lock := mustAcquire(t, holder, name, 30*time.Second)
				kept := mustAcquire(t, holder, "kept", 30*time.Second)
				lose(e, name)
				require.ErrorIs(t, lock.Err(), engine.ErrLost)
				require.NoError(t, kept.Err())
				require.NoError(t, kept.Release(t.Context()))
			}
		})
	}
}

func TestAFaultOfANameIsOneOfItsReadersAndPermits(t *testing.T) {
	for how, lose := range map[string]func(*enginetest.Engine, string){"lost": (*enginetest.Engine).Lose, "refused": (*enginetest.Engine).Refuse} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := enginetest.New(t, engine.Config{})
				first, err := e.AcquireShared(t.Context(), "name", 10*time.Second)
				require.NoError(t, err)
				time.Sleep(time.Second) // too late to join that lease
				second, err := e.AcquireShared(t.Context(), "name", 10*time.Second)
				require.NoError(t, err)
				permit, err := e.AcquirePermit(t.Context(), "name", 3, 10*time.Second)
				require.NoError(t, err)
				lose(e, "name")
				for _, l := range []*engine.Lock{first, second, permit} {
					require.ErrorIs(t, l.Err(), engine.ErrLost)
				}
				_, err = e.TryAcquirePermit(t.Context(), "name", 3, 0)
				require.Equal(t, how == "refused", errors.Is(err, engine.ErrTaken), err)
				e.Heal()
				e.Deny("name")
				_, err = e.TryAcquirePermit(t.Context(), "name", 3, 0)
				require.ErrorIs(t, err, engine.ErrDenied)
			})
		})
	}
}

func TestHealEndsAllFaults(t *testing.T) {
	e := enginetest.New(t, engine.Config{MasterTimeout: await.Patience})
	e.Refuse("refused")
	e.Deny("denied")
	_, err := e.TryAcquire(t.Context(), "refused", 0)
	require.ErrorIs(t, err, engine.ErrTaken)
	_, err = e.TryAcquire(t.Context(), "denied", 0)
	require.ErrorIs(t, err, engine.ErrDenied)
	e.NoQuorum()
	_, err = e.TryAcquire(t.Context(), "name", 0)
	require.ErrorIs(t, err, engine.ErrNoQuorum)
	for i := range masters {
		e.Slow(i, time.Hour)
	}
	e.Heal()
	require.NoError(t, e.Ready(within(t)))
	for _, name := range []string{"refused", "denied", "name"} {
		mustAcquire(t, e.Engine, name, 0)
	}
}

func TestThereAreAsManyMastersAsAreNamed(t *testing.T) {
	e := enginetest.New(t, engine.Config{Masters: []string{"rediss://user:password@10.0.0.1:6380", "unix:///socket", "10.0.0.3:6379"}, MasterTimeout: await.Patience})
	require.Len(t, e.Stats().Masters, 3)
	mustAcquire(t, e.Engine, "name", 0)
	e.Down(0)
	mustAcquire(t, e.Engine, "another name", 0)
	e.Heal()
	e.NoQuorum()
	_, err := e.TryAcquire(t.Context(), "a third name", 0)
	require.ErrorIs(t, err, engine.ErrNoQuorum)
}

// A recorder is a test that keeps the text of its failure.
type recorder struct {
	testing.TB
	fatal []any
}

func (r *recorder) Fatal(why ...any) {
	r.fatal = why
	panic(r)
}

func TestAWrongConfigFailsTheTest(t *testing.T) {
	r := &recorder{TB: t}
	require.Panics(t, func() { enginetest.New(r, engine.Config{TTL: -1}) })
	require.ErrorIs(t, r.fatal[len(r.fatal)-1].(error), engine.ErrInvalid)
	require.Contains(t, fmt.Sprintln(r.fatal...), "enginetest: Config.TTL: ")
}

func TestAServiceThatChecksItsMastersFirstStarts(t *testing.T) {
	e := enginetest.New(t, engine.Config{MasterTimeout: await.Patience})
	report, err := admin.Check(t.Context(), e.Engine)
	require.NoError(t, err)
	require.NoError(t, report.Err())
	e.NoQuorum()
	await.True(t, func() bool {
		report, err = admin.Check(t.Context(), e.Engine)
		require.NoError(t, err)
		return errors.Is(report.Err(), admin.ErrUnfit)
	}, "the engine knows that they are down")
}

func TestHealLeavesALockThatWasHadAfterARefusal(t *testing.T) {
	e := enginetest.New(t, engine.Config{MasterTimeout: await.Patience})
	e.Refuse("name")
	e.Lose("name")
	lock := mustAcquire(t, e.Engine, "name", 0)
	e.Heal()
	require.NoError(t, lock.Extend(t.Context(), 0))
}

func TestARestartedMasterStillRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := enginetest.New(t, engine.Config{})
		e.Refuse("name")
		e.Refuse("lost")
		e.Lose("lost") // the refusal
		for i := range masters {
			e.Restart(i)
		}
		time.Sleep(time.Minute) // no master votes sooner
		require.NoError(t, e.Ready(t.Context()))
		_, err := e.TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, engine.ErrTaken)
		mustAcquire(t, e.Engine, "lost", 0)
	})
}

func TestAFaultIsKnownToEveryEngineWhenItsCallReturns(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for how, fault := range map[string]func(*enginetest.Engine){
		"no quorum": (*enginetest.Engine).NoQuorum,
		"restart": func(e *enginetest.Engine) {
			for i := range masters {
				e.Restart(i)
			}
		},
	} {
		test := func(t *testing.T) {
			e := enginetest.New(t, engine.Config{})
			other := e.Open(t, engine.Config{})
			fault(e)
			require.ErrorIs(t, e.Ready(ended), engine.ErrNoQuorum)
			require.ErrorIs(t, other.Ready(ended), engine.ErrNoQuorum)
			require.NoError(t, other.Close())
			fault(e) // again, with an engine that does not notice
			require.ErrorIs(t, e.Ready(ended), engine.ErrNoQuorum)
		}
		t.Run(how+" in a bubble", func(t *testing.T) { synctest.Test(t, test) })
		t.Run(how+" in real time", test)
	}
}

func TestALockIsLostAlsoBesideAnExtendUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := enginetest.New(t, engine.Config{MasterTimeout: await.Patience})
		lock := mustAcquire(t, e.Engine, "name", 0)
		for i := range masters {
			e.Slow(i, time.Second)
		}
		extended := make(chan error, 1)
		go func() { extended <- lock.Extend(context.Background(), 0) }()
		synctest.Wait() // the masters have done it, and answer later
		e.Lose("name")
		require.ErrorIs(t, lock.Err(), engine.ErrLost)
		<-extended
	})
}

func TestLoseReturnsWhileTheNextOneHoldsTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := enginetest.New(t, engine.Config{})
		for i := range masters {
			e.Slow(i, time.Millisecond) // the writer has the lock before all readers were asked
		}
		var readers []*engine.Lock
		for range 5 {
			reader, err := e.Open(t, engine.Config{}).AcquireShared(t.Context(), "name", 0)
			require.NoError(t, err)
			readers = append(readers, reader)
		}
		writer := e.Open(t, engine.Config{})
		lost, next := make(chan struct{}), make(chan error, 1)
		go func() {
			next <- writer.Do(t.Context(), "name", 0, func(ctx context.Context) error {
				<-lost
				return ctx.Err()
			})
		}()
		time.Sleep(time.Second) // it waits by now
		go func() {
			defer close(lost)
			e.Lose("name")
		}()
		select {
		case <-lost:
		case <-time.After(5 * time.Second):
			t.Fatal("Lose has not returned")
		}
		for _, reader := range readers {
			require.ErrorIs(t, reader.Err(), engine.ErrLost)
		}
		require.NoError(t, <-next, "it has lost nothing")
	})
}

func TestALostLockOfADeniedNameIsNoticedOnceTheNameIsAllowed(t *testing.T) {
	e := enginetest.New(t, engine.Config{MasterTimeout: await.Patience})
	lock := mustAcquire(t, e.Engine, "name", 0)
	e.Deny("name")
	e.Lose("name")
	require.NoError(t, lock.Err(), "nobody could tell")
	e.NoQuorum()
	e.Lose("name")
	require.NoError(t, lock.Err(), "nor can anybody now")
	e.Heal()
	require.NoError(t, e.Ready(within(t)))
	require.ErrorIs(t, lock.Extend(t.Context(), 0), engine.ErrLost)
}
