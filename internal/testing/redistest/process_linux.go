package redistest

import (
	"bufio"
	"muxlock/internal/child"
	"muxlock/internal/redisserver"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// StartSelf starts this test binary as a process of its own, with the masters in env. It ends with the test.
func StartSelf(t testing.TB, env string, masters []*redisserver.Server) (*os.Process, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env+"="+strings.Join(Addrs(masters), ","))
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

// StopProcess stops a process, and waits until it is.
func StopProcess(t testing.TB, p *os.Process) {
	t.Helper()
	require.NoError(t, p.Signal(syscall.SIGSTOP))
	require.NoError(t, unix.Waitid(unix.P_PID, p.Pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil))
}
