package enginetest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
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
		soon(t, func() bool { return errors.Is(e.Ready(ended), engine.ErrNoQuorum) }, "it knows")
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
			lock := mustAcquire(t, e, "name", 0)
			require.NoError(t, lock.Release(t.Context()))
		}
		w.slow(1, 0)
		w.slow(2, 0)
		free(t, w)
	})
}

func TestMastersThatWereRestartedDoNotVoteAtOnce(t *testing.T) {
	cfg := engine.Config{TTL: 3 * patience, MaxTTL: 3 * patience}
	everywhere(t, cfg, func(t *testing.T, w world, e *engine.Engine) {
		held := mustAcquire(t, e, "held", 0)
		require.NoError(t, held.KeepAlive(0))
		for i := range 3 {
			w.restart(i)
		}
		_, err := e.TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, engine.ErrNoQuorum)
		soon(t, func() bool {
			_, err = e.TryAcquire(t.Context(), "held too", 0)
			return errors.Is(err, engine.ErrRestarted)
		}, "that is why")
		require.NoError(t, e.Ready(within(t)))
		<-held.Done()
		require.ErrorIs(t, held.Err(), engine.ErrLost, "a majority has forgotten it")
		free(t, w)
	})
}
