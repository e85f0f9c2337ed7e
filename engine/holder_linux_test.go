package engine

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"muxlock/internal/redistest"
)

func TestHolderProcessStoppedForLongerThanItsLeaseFindsOutAtItsFirstCall(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 5)
	other := open(t, masters)
	runtime.LockOSThread() // the holder is killed when this thread ends
	defer runtime.UnlockOSThread()
	holder := exec.Command(os.Args[0])
	holder.Env = append(os.Environ(), holderEnv+"="+strings.Join(redistest.Addrs(masters), ","))
	holder.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := holder.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, holder.Start())
	defer func() {
		_ = holder.Process.Kill()
		_ = holder.Wait()
	}()
	lines := bufio.NewReader(out)
	for _, want := range []string{"held\n", "kept\n"} {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, want, line)
	}
	_, err = other.TryAcquire(t.Context(), "name", 0)
	require.ErrorIs(t, err, ErrTaken, "it is kept alive")

	require.NoError(t, holder.Process.Signal(syscall.SIGSTOP))
	require.NoError(t, unix.Waitid(unix.P_PID, holder.Process.Pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil))
	lock, err := other.Acquire(t.Context(), "name", 20*time.Second)
	taken := time.Now()
	require.NoError(t, err)
	has := having(t, masters, lock)
	require.GreaterOrEqual(t, has, 3)
	require.NoError(t, holder.Process.Signal(syscall.SIGCONT))

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
	gone(t, masters, "name")
}
