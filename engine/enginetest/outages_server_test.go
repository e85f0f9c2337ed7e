package enginetest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/enginetest"
	"muxlock/internal/testing/await"
)

func TestAMinorityThatIsDownChangesNothing(t *testing.T) {
	everywhere(t, engine.Config{}, func(t *testing.T, w world, e *engine.Engine) {
		before := mustAcquire(t, e, "before", 0)
		w.down(0)
		w.down(3)
		lock := mustAcquire(t, e, "name", 0)
		require.NoError(t, lock.Extend(t.Context(), 0))
		require.NoError(t, lock.Release(t.Context()))
		require.NoError(t, before.Release(t.Context()))
		w.up(0)
		w.up(3)
		free(t, w)
	})
}

func TestWithoutAMajorityThereIsNoQuorum(t *testing.T) {
	everywhere(t, engine.Config{}, func(t *testing.T, w world, e *engine.Engine) {
		held := mustAcquire(t, e, "held", 0)
		for i := range 3 {
			w.down(i)
		}
		_, err := e.TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, engine.ErrNoQuorum)
		require.ErrorIs(t, err, engine.ErrNotAcquired)
		var cause engine.MasterError
		require.ErrorAs(t, err, &cause)
		require.Contains(t, cause.Master, ":")
		require.ErrorIs(t, held.Extend(t.Context(), 0), engine.ErrNoQuorum)
		require.True(t, held.Valid(), "the old end stands")
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		await.True(t, func() bool { return errors.Is(e.Ready(ended), engine.ErrNoQuorum) }, "it knows")
		for i := range 3 {
			w.up(i)
		}
		require.NoError(t, e.Ready(within(t)))
		require.NoError(t, held.Release(t.Context()))
		free(t, w)
	})
}

func TestWhatSlowMastersGrantedIsReleased(t *testing.T) {
	everywhere(t, engine.Config{}, func(t *testing.T, w world, e *engine.Engine) {
		for i := range 3 {
			w.slow(i, 5*time.Second)
		}
		_, err := e.TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, engine.ErrNoQuorum)
		for i := range 3 {
			w.slow(i, 0)
		}
		free(t, w)
	})
}

func TestAMinorityThatIsSlowDelaysNobody(t *testing.T) {
	everywhere(t, engine.Config{}, func(t *testing.T, w world, e *engine.Engine) {
		w.slow(1, 20*time.Second)
		w.slow(2, 20*time.Second)
		for range 10 {
			require.NoError(t, mustAcquire(t, e, "name", 0).Release(t.Context()))
		}
		w.slow(1, 0)
		w.slow(2, 0)
		free(t, w)
	})
}

func TestMastersThatWereRestartedDoNotVoteAtOnce(t *testing.T) {
	cfg := engine.Config{TTL: 3 * await.Patience, MaxTTL: 3 * await.Patience}
	everywhere(t, cfg, func(t *testing.T, w world, e *engine.Engine) {
		held := mustAcquire(t, e, "held", 0)
		require.NoError(t, held.KeepAlive(0))
		for i := range 3 {
			w.restart(i)
		}
		_, err := e.TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, engine.ErrNoQuorum)
		await.True(t, func() bool {
			_, err = e.TryAcquire(t.Context(), "held too", 0)
			return errors.Is(err, engine.ErrRestarted)
		}, "that is why")
		require.NoError(t, e.Ready(within(t)))
		<-held.Done()
		require.ErrorIs(t, held.Err(), engine.ErrLost, "a majority has forgotten it")
		free(t, w)
	})
}

func TestAKeptLockOutlastsTheRestartOfEveryMaster(t *testing.T) {
	for _, fencing := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			e := enginetest.New(t, engine.Config{Fencing: fencing})
			lock := mustAcquire(t, e.Engine, "name", 0)
			require.NoError(t, lock.KeepAlive(0))
			waits, other := make(chan struct{}), e.Open(t, engine.Config{Fencing: fencing})
			go func() {
				defer close(waits)
				assert.NoError(t, other.Do(t.Context(), "name", 0, func(context.Context) error { return nil }))
			}()
			for i := range 9 {
				e.Restart(i % masters)
				start := time.Now()
				require.NoError(t, e.AllVote(t.Context()))
				require.WithinRange(t, time.Now(), start.Add(31*time.Second), start.Add(33*time.Second))
				time.Sleep(time.Second)
				require.NoError(t, lock.Err(), i)
				on, _ := lock.HeldOn()
				require.Equal(t, masters, on, i)
				require.Zero(t, e.Stats().Eroded)
			}
			require.NoError(t, lock.Release(t.Context()))
			<-waits
		})
	}
}

func TestAllVoteEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := enginetest.New(t, engine.Config{})
		require.NoError(t, e.AllVote(t.Context()))
		ended := e.Open(t, engine.Config{})
		e.Down(3)
		require.NoError(t, ended.Close(), "it never learns that the master is back")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, e.AllVote(ctx), context.DeadlineExceeded, "a master is down")
		e.NoQuorum()
		require.ErrorIs(t, e.AllVote(ctx), context.DeadlineExceeded)
		e.Heal()
		require.NoError(t, e.AllVote(t.Context()))
	})
}

func TestAllVoteWaitsForARestartInRealTime(t *testing.T) {
	t.Parallel()
	e := enginetest.New(t, engine.Config{TTL: time.Second, MaxTTL: time.Second, MasterTimeout: 900 * time.Millisecond})
	e.Restart(0)
	start := time.Now()
	require.NoError(t, e.AllVote(within(t)))
	require.GreaterOrEqual(t, time.Since(start), 2*time.Second-time.Second/10)
	for _, m := range e.Stats().Masters {
		require.NoError(t, m.Cause)
	}
}
