//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

// onTerminal starts a muxlock on a terminal of its own and returns the terminal. out collects what muxlock and its command
// write there.
func (s *set) onTerminal(t *testing.T, args ...string) (j *job, terminal *os.File) {
	t.Helper()
	return s.runOnTerminal(t, exec.Command(redistest.Program(t), args...))
}

// underShell starts a shell with job control that starts muxlock in the foreground of the returned terminal. The shell
// continues muxlock for each line it reads, and writes the exit status when muxlock ends or stops.
func (s *set) underShell(t *testing.T, args ...string) (shell *job, terminal *os.File) {
	t.Helper()
	const script = `"$0" "$@"; while echo "shell: $?"; read -r line; do fg; done`
	return s.runOnTerminal(t, exec.Command("sh", append([]string{"-mc", script, redistest.Program(t)}, args...)...))
}

func (s *set) runOnTerminal(t *testing.T, c *exec.Cmd) (j *job, terminal *os.File) {
	t.Helper()
	j = &job{Cmd: c, out: newLines(), done: make(chan struct{})}
	j.Env = cleanEnv(s.env...)
	terminal, err := pty.Start(j.Cmd)
	require.NoError(t, err)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(j.out, terminal) // ends with an error when the last writer is gone
	}()
	go func() {
		defer close(j.done)
		j.Wait()
		<-drained
	}()
	t.Cleanup(func() {
		j.Process.Kill()
		<-j.done
		terminal.Close()
	})
	return j, terminal
}

// Otherwise the command would get each Ctrl-C twice, and many programs take the second for impatience.
func TestOnATerminalSIGINTIsLeftToTheTerminalAndOthersPassedOn(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	j, terminal := s.onTerminal(t, "exec", "name", "--", "sh", "-c", `trap 'echo interrupted' INT; trap 'echo hung up' HUP; trap 'exit 5' TERM`+forever)
	j.out.await(t, "ready")
	_, err := terminal.WriteString("\x03")
	require.NoError(t, err)
	j.out.await(t, "interrupted")
	j.signal(t, syscall.SIGINT, syscall.SIGHUP) // no key sends the latter
	j.out.await(t, "hung up")
	j.ends(t, 5, syscall.SIGTERM)
	require.Equal(t, 1, strings.Count(j.out.String(), "interrupted"))
}

func TestOnATerminalSIGWINCHIsLeftToTheTerminalAndUSR1PassedOn(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	j, terminal := s.onTerminal(t, "exec", "name", "--", "sh", "-c", `trap 'echo resized' WINCH; trap 'n=$((n+1)); echo asked $n' USR1; trap 'exit 5' TERM; echo ready; while :; do sleep 0.02; done`)
	j.out.await(t, "ready")
	require.NoError(t, pty.Setsize(terminal, &pty.Winsize{Rows: 30, Cols: 100}))
	j.out.await(t, "resized")
	j.signal(t, syscall.SIGWINCH)
	for _, asked := range []string{"asked 1", "asked 2"} { // of signals that are sent at once, the first may come last
		j.signal(t, syscall.SIGUSR1)
		j.out.await(t, asked)
	}
	j.ends(t, 5, syscall.SIGTERM)
	require.Equal(t, 1, strings.Count(j.out.String(), "resized"))
}

// Otherwise the command would go on after the lease, beside the next holder.
func TestCtrlZStopsACommandThatIgnoresIt(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	shell, terminal := s.underShell(t, "exec", "name", "--", "sh", "-c", `trap '' TSTP; trap 'exit 5' TERM; echo $$ $PPID.; while :; do sleep 0.02; done`)
	command, muxlock := shell.pids(t)
	_, err := terminal.WriteString("\x1a")
	require.NoError(t, err)
	shell.out.await(t, "shell: "+strconv.Itoa(exitSignal+int(syscall.SIGTTOU)))
	awaitState(t, command, "T")
	awaitState(t, muxlock, "T")
	_, err = terminal.WriteString("\n")
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(muxlock, syscall.SIGTERM))
	shell.out.await(t, "shell: 5")
}

// ctrlZUntil presses Ctrl-Z until a text has been written. One press has time to be answered before the next.
func (j *job) ctrlZUntil(t *testing.T, terminal io.Writer, want string) {
	t.Helper()
	await.Within(t, limit, func() bool {
		_, err := io.WriteString(terminal, "\x1a")
		require.NoError(t, err)
		for pressed := time.Now(); time.Since(pressed) < 10*stopTime; time.Sleep(time.Millisecond) {
			if strings.Contains(j.out.String(), want) {
				return true
			}
		}
		return false
	}, want)
}

func TestCtrlZStopsMuxlockWhileItHoldsOnAfterItsCommand(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	shell, terminal := s.underShell(t, "exec", "--ttl", "30s", "--hold-at-least", "1h", "name", "--", "sh", "-c", `echo $$ $PPID.`)
	command, muxlock := shell.pids(t)
	await.Within(t, limit, func() bool { return syscall.Kill(command, 0) != nil })
	// Again and again: a Ctrl-Z that comes before muxlock knows of the command's end stops nothing.
	shell.ctrlZUntil(t, terminal, "shell: "+strconv.Itoa(exitSignal+int(syscall.SIGTTOU)))
	awaitState(t, muxlock, "T")
	_, err := terminal.WriteString("\n")
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(muxlock, syscall.SIGTERM))
	shell.out.await(t, "shell: 0")
}

// Such is the first process of a container, or muxlock under ssh -t without a shell.
func TestCtrlZStopsNothingThatNobodyCouldContinue(t *testing.T) {
	t.Parallel()
	for where, attr := range map[string]*syscall.SysProcAttr{"process 1": {Cloneflags: syscall.CLONE_NEWPID}, "orphaned group": {}} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			if attr.Cloneflags != 0 && os.Getuid() != 0 {
				t.Skip("needs root")
			}
			s := newSet(t)
			c := exec.Command(redistest.Program(t), "exec", "name", "--", "sh", "-c", `trap 'echo asked' TSTP; trap 'echo continued' CONT; trap 'exit 5' TERM; echo ready; while :; do sleep 0.02; done`)
			c.SysProcAttr = attr
			j, terminal := s.runOnTerminal(t, c)
			j.out.await(t, "ready")
			// Again and again: a command that a busy machine gives no turn within stopTime is continued before it is asked.
			j.ctrlZUntil(t, terminal, "asked")
			j.out.await(t, "continued")
			j.ends(t, 5, syscall.SIGTERM)
			require.Empty(t, redistest.Keys(t, s.masters...))
		})
	}
}

// Otherwise a read from the terminal would stop muxlock, and the lease would run out.
func TestLockIsNotStoppedInTheBackgroundOfATerminal(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	shell, _ := s.runOnTerminal(t, exec.Command("sh", "-mc", `"$0" lock name & echo "pid $!."; wait $!; echo "shell: $?"`, redistest.Program(t)))
	shell.out.await(t, "locked name")
	shell.out.await(t, ".")
	_, after, _ := strings.Cut(shell.out.String(), "pid ")
	pid, err := strconv.Atoi(strings.Split(after, ".")[0])
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGTERM))
	shell.ends(t, 0)
	require.Contains(t, shell.out.String(), "shell: 0")
}

// awaitState waits until a process is in that state.
func awaitState(t *testing.T, pid int, state string) {
	t.Helper()
	await.Within(t, limit, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err == nil && strings.Contains(string(stat), ") "+state+" ")
	})
}

func TestReleaseAsksOnATerminal(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	s.hold(t, "name")
	for _, c := range []struct {
		answer, said string
		code         int
	}{{"\n", "not released", exitRun}, {"n\n", "not released", exitRun}, {"yes\n", "was deleted on 3 of 3 masters", 0}} {
		j, terminal := s.onTerminal(t, "release", "--force", "name")
		j.out.await(t, "Release it? [y/N] ")
		require.Contains(t, j.out.String(), "name is held on 3 of 3 masters by the test")
		_, err := terminal.WriteString(c.answer)
		require.NoError(t, err)
		j.ends(t, c.code)
		require.Contains(t, j.out.String(), c.said)
	}
}

func TestReplaceAsksAPersonWhetherAllClientsFence(t *testing.T) {
	t.Parallel()
	servers := redistest.Masters(t, 4)
	three := setOf(servers[:3])
	three.ok(t, "masters init")
	for _, c := range []struct {
		answer string
		code   int
	}{{"\n", exitUsage}, {"yes\n", 0}} {
		j, terminal := three.onTerminal(t, "masters", "replace", "--with", servers[3].Addr(), "--for", servers[0].Addr())
		j.out.await(t, "Do all clients of these masters use fencing? [y/N] ")
		_, err := terminal.WriteString(c.answer)
		require.NoError(t, err)
		j.ends(t, c.code)
	}
}
