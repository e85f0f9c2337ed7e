//go:build linux

package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

// fullPipe returns a full pipe that nobody reads.
func fullPipe(t testing.TB) *os.File {
	t.Helper()
	var ends [2]int
	require.NoError(t, unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK))
	for chunk := make([]byte, 4096); len(chunk) > 0; {
		if _, err := unix.Write(ends[1], chunk); err != nil {
			require.ErrorIs(t, err, unix.EAGAIN)
			chunk = chunk[:len(chunk)/2]
		}
	}
	require.NoError(t, unix.SetNonblock(ends[1], false))
	w := os.NewFile(uintptr(ends[1]), "full pipe")
	t.Cleanup(func() {
		w.Close()
		unix.Close(ends[0])
	})
	return w
}

// stoppedTerminal returns a terminal after Ctrl-S.
func stoppedTerminal(t testing.TB) *os.File {
	t.Helper()
	keys, terminal, err := pty.Open()
	require.NoError(t, err)
	t.Cleanup(func() {
		terminal.Close()
		keys.Close()
	})
	require.NoError(t, unix.IoctlSetInt(int(terminal.Fd()), unix.TCXONC, unix.TCOOFF))
	return terminal
}

// blocked lists the outputs of muxlock and its command that can block.
var blocked = map[string]func(t testing.TB, c *exec.Cmd){
	"stderr": func(t testing.TB, c *exec.Cmd) { c.Stderr, c.SysProcAttr = fullPipe(t), withoutTerminal },
	"stdout": func(t testing.TB, c *exec.Cmd) { c.Stdout, c.SysProcAttr = fullPipe(t), withoutTerminal },
	"terminal": func(t testing.TB, c *exec.Cmd) {
		terminal := stoppedTerminal(t)
		c.Stdin, c.Stdout, c.Stderr = terminal, terminal, terminal
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	},
}

// startBlocked starts a muxlock with an output that is blocked.
func (s *set) startBlocked(t testing.TB, output string, args ...string) *job {
	t.Helper()
	c := exec.Command(redistest.Program(t), args...)
	blocked[output](t, c)
	return s.launch(t, c)
}

// stubborn is a command that writes its process id to a file. It also writes to its outputs. Only SIGKILL ends it.
const stubborn = `trap '' TERM; { echo step; echo step >&2; } & echo $$ >"$0.new"; mv "$0.new" "$0"; while :; do sleep 0.01; done`

// awaitPid waits for the file that stubborn writes.
func awaitPid(t testing.TB, file string) (pid int) {
	t.Helper()
	await.Within(t, limit, func() bool {
		text, err := os.ReadFile(file)
		if err == nil {
			pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		return err == nil
	})
	return pid
}

func TestALossASignalAndTheEndOfTheWaitCountAlthoughAnOutputIsBlocked(t *testing.T) {
	t.Parallel()
	for output := range blocked {
		t.Run(output, func(t *testing.T) {
			t.Parallel()
			s, file := newSet(t), filepath.Join(t.TempDir(), "pid")
			j := s.startBlocked(t, output, "exec", quick, "--grace", "100ms", "name", "--", "sh", "-c", stubborn, file)
			pid := awaitPid(t, file)
			s.forced(t, "name")
			j.ends(t, exitLost)
			awaitGone(t, pid)

			address, calls := deafMaster(t)
			deaf := &set{env: []string{"MUXLOCK_MASTERS=" + address}}
			j = deaf.startBlocked(t, output, "exec", "name", "--", "true")
			<-calls // muxlock catches signals before it connects
			j.ends(t, exitSignal+int(syscall.SIGTERM), syscall.SIGTERM)
			deaf.startBlocked(t, output, "exec", "--wait", "300ms", "name", "--", "true").ends(t, exitTimeout)
		})
	}
}

// deafMaster returns the address of a master that closes every connection. The channel gets a value for each one.
func deafMaster(t *testing.T) (address string, calls <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	came := make(chan struct{}, 1000)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
			came <- struct{}{}
		}
	}()
	return l.Addr().String(), came
}

func TestLockEndsAlthoughItsOutputIsBlocked(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	j := s.startBlocked(t, "stdout", "lock", "name") // standard input is at its end
	j.ends(t, 0)
	require.Empty(t, redistest.Keys(t, s.masters...))
}
