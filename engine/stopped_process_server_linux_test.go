package engine

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"muxlock/internal/child"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/redistest"
)

// start starts this test binary as a process of its own, with the masters in env. It ends with the test.
func start(t *testing.T, env string, masters []*redisserver.Server) (*os.Process, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env+"="+strings.Join(redistest.Addrs(masters), ","))
	cmd.Stderr = os.Stderr
	out, in, err := os.Pipe() // StdoutPipe would be closed when the process ends, read or not
	require.NoError(t, err)
	cmd.Stdout = in
	ended, err := child.Start(cmd)
	require.NoError(t, err)
	require.NoError(t, in.Close())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		_ = out.Close()
	})
	return cmd.Process, bufio.NewReader(out)
}

// stop stops a process, and waits until it is.
func stop(t *testing.T, p *os.Process) {
	t.Helper()
	require.NoError(t, p.Signal(syscall.SIGSTOP))
	require.NoError(t, unix.Waitid(unix.P_PID, p.Pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil))
}

func TestAProcessThatWasStoppedSeesAPauseAsLong(t *testing.T) {
	t.Parallel()
	process, lines := start(t, measuredEnv, redistest.Masters(t, 1))
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "measuring\n", line)
	stop(t, process)
	time.Sleep(stoppedFor) // this is the fault
	require.NoError(t, process.Signal(syscall.SIGCONT))
	line, err = lines.ReadString('\n')
	require.NoError(t, err)
	var m Measurements
	require.NoError(t, json.Unmarshal([]byte(line), &m), line)
	last := m.Pauses.Buckets[len(m.Pauses.Buckets)-1]
	require.GreaterOrEqual(t, last.Most, stoppedFor-pausePeriod, line)
	require.Equal(t, last, Bucket{mostIn(bucketOf(slices.Max(took(m.Pauses)))), 1})
	require.Greater(t, m.Span, stoppedFor)
}
