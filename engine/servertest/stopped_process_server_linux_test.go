package servertest

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/redistest"
)

func TestHolderProcessStoppedForLongerThanItsLeaseFindsOutAtItsFirstCall(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 5)
	other := open(t, masters)
	holder, lines := redistest.StartSelf(t, holderEnv, masters)
	for _, want := range []string{"held\n", "kept\n"} {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, want, line)
	}
	_, err := other.TryAcquire(t.Context(), "name", 0)
	require.ErrorIs(t, err, engine.ErrTaken, "it is kept alive")

	redistest.StopProcess(t, holder)
	lock, err := other.Acquire(t.Context(), "name", 20*time.Second)
	taken := time.Now()
	require.NoError(t, err)
	has := having(t, masters, lock)
	require.GreaterOrEqual(t, has, 3)
	require.NoError(t, holder.Signal(syscall.SIGCONT))

	var last int64
	var closed, lost bool
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	_, err = fmt.Sscan(line, &last, &closed, &lost)
	require.NoError(t, err, line)
	t.Logf("valid until %v before it was another's", taken.Sub(time.Unix(0, last)))
	require.Less(t, last, taken.UnixNano(), "never valid once another had the lock")
	require.True(t, closed, "Done")
	require.True(t, lost, "Extend")
	require.True(t, lock.Valid())
	require.GreaterOrEqual(t, having(t, masters, lock), has)
	require.NoError(t, lock.Release(t.Context()))
	redistest.Gone(t, masters, "name")
}

func TestProcessStoppedUnderLoadSetsNoMasterAside(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 5)
	callers, lines := redistest.StartSelf(t, loadEnv, masters)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "under load\n", line)
	redistest.StopProcess(t, callers)
	time.Sleep(loadTimeout * 3 / 2) // this is the fault: nobody reads for longer than masters may take
	require.NoError(t, callers.Signal(syscall.SIGCONT))
	line, err = lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "stopped, 0 failed, 0 set aside\n", line)
}
