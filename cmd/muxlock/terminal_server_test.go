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

	"muxlock/internal/testing/redistest"
)

// onTerminal starts a muxlock on a terminal of its own and returns the terminal. out collects what muxlock and its command
// write there.
func (s *set) onTerminal(t *testing.T, args ...string) (j *job, terminal *os.File) {
	t.Helper()
	return s.runOnTerminal(t, exec.Command(binary, args...))
}

// underShell starts a shell with job control that starts muxlock in the foreground of the returned terminal. The shell
// continues muxlock for each line it reads, and writes the exit status when muxlock ends or stops.
func (s *set) underShell(t *testing.T, args ...string) (shell *job, terminal *os.File) {
	t.Helper()
	const script = `"$0" "$@"; while echo "shell: $?"; read -r line; do fg; done`
	return s.runOnTerminal(t, exec.Command("sh", append([]string{"-mc", script, binary}, args...)...))
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

const interruptible = `trap 'echo interrupted' INT; trap 'echo hung up' HUP; trap 'exit 5' TERM; echo ready; while :; do sleep 0.02; done`

func TestCtrlCReachesTheCommandAndMuxlockWaitsForItsEnd(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	j, terminal := s.onTerminal(t, "exec", "name", "--", "sh", "-c", interruptible)
	j.out.await(t, "ready")
	_, err := terminal.WriteString("\x03")
	require.NoError(t, err)
	j.out.await(t, "interrupted")
	require.NoError(t, j.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 5, j.code(t), j.out)
}

// Otherwise the command would get each Ctrl-C twice, and many programs take the second for impatience.
func TestOnATerminalSIGINTIsLeftToTheTerminalAndOthersPassedOn(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	j, _ := s.onTerminal(t, "exec", "name", "--", "sh", "-c", interruptible)
	j.out.await(t, "ready")
	require.NoError(t, j.Process.Signal(syscall.SIGINT))
	require.NoError(t, j.Process.Signal(syscall.SIGHUP)) // no key sends that
	j.out.await(t, "hung up")
	require.NoError(t, j.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 5, j.code(t), j.out)
	require.NotContains(t, j.out.String(), "interrupted")
}

func TestOnATerminalSIGWINCHIsLeftToTheTerminalAndUSR1PassedOn(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	j, terminal := s.onTerminal(t, "exec", "name", "--", "sh", "-c", `trap 'echo resized' WINCH; trap 'n=$((n+1)); echo asked $n' USR1; trap 'exit 5' TERM; echo ready; while :; do sleep 0.02; done`)
	j.out.await(t, "ready")
	require.NoError(t, pty.Setsize(terminal, &pty.Winsize{Rows: 30, Cols: 100}))
	j.out.await(t, "resized")
	require.NoError(t, j.Process.Signal(syscall.SIGWINCH))
	for _, asked := range []string{"asked 1", "asked 2"} { // of signals that are sent at once, the first may come last
		require.NoError(t, j.Process.Signal(syscall.SIGUSR1))
		j.out.await(t, asked)
	}
	require.NoError(t, j.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 5, j.code(t), j.out)
	require.Equal(t, 1, strings.Count(j.out.String(), "resized"))
}

// Otherwise the command would go on after the lease, beside the next holder.
func TestCtrlZStopsACommandThatIgnoresIt(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	shell, terminal := s.underShell(t, "exec", "name", "--", "sh", "-c", `trap '' TSTP; trap 'exit 5' TERM; echo ready $$ $PPID.; while :; do sleep 0.02; done`)
	shell.out.await(t, ".")
	var command, muxlock int
	_, err := fmt.Sscanf(shell.out.String(), "ready %d %d.", &command, &muxlock)
	require.NoError(t, err)
	_, err = terminal.WriteString("\x1a")
	require.NoError(t, err)
	shell.out.await(t, "shell: "+strconv.Itoa(exitSignal+int(syscall.SIGTTOU)))
	awaitState(t, command, "T")
	awaitState(t, muxlock, "T")
	_, err = terminal.WriteString("\n")
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(muxlock, syscall.SIGTERM))
	shell.out.await(t, "shell: 5")
}

func TestCtrlZStopsMuxlockWhileItHoldsOnAfterItsCommand(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	shell, terminal := s.underShell(t, "exec", "--ttl", "30s", "--hold-at-least", "1h", "name", "--", "sh", "-c", `echo $$ $PPID.`)
	shell.out.await(t, ".")
	var command, muxlock int
	_, err := fmt.Sscanf(shell.out.String(), "%d %d.", &command, &muxlock)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return syscall.Kill(command, 0) != nil }, limit, time.Millisecond)
	// Again and again: a Ctrl-Z that comes before muxlock knows of the command's end stops nothing.
	require.Eventually(t, func() bool {
		_, err := terminal.WriteString("\x1a")
		require.NoError(t, err)
		return strings.Contains(shell.out.String(), "shell: "+strconv.Itoa(exitSignal+int(syscall.SIGTTOU)))
	}, limit, 10*stopTime)
	awaitState(t, muxlock, "T")
	_, err = terminal.WriteString("\n")
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
			c := exec.Command(binary, "exec", "name", "--", "sh", "-c", `trap 'echo asked' TSTP; trap 'echo continued' CONT; trap 'exit 5' TERM; echo ready; while :; do sleep 0.02; done`)
			c.SysProcAttr = attr
			j, terminal := s.runOnTerminal(t, c)
			j.out.await(t, "ready")
			// Again and again: a command that a busy machine gives no turn within stopTime is continued before it is asked.
			require.Eventually(t, func() bool {
				_, err := terminal.WriteString("\x1a")
				require.NoError(t, err)
				return strings.Contains(j.out.String(), "asked")
			}, limit, 10*stopTime)
			j.out.await(t, "continued")
			require.NoError(t, j.Process.Signal(syscall.SIGTERM))
			require.Equal(t, 5, j.code(t), j.out)
			require.Empty(t, redistest.Keys(t, s.masters...))
		})
	}
}

// Otherwise a read from the terminal would stop muxlock, and the lease would run out.
func TestLockIsNotStoppedInTheBackgroundOfATerminal(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	shell, _ := s.runOnTerminal(t, exec.Command("sh", "-mc", `"$0" lock name & echo "pid $!."; wait $!; echo "shell: $?"`, binary))
	shell.out.await(t, "locked name")
	shell.out.await(t, ".")
	_, after, _ := strings.Cut(shell.out.String(), "pid ")
	pid, err := strconv.Atoi(strings.Split(after, ".")[0])
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGTERM))
	require.Zero(t, shell.code(t), shell.out)
	require.Contains(t, shell.out.String(), "shell: 0")
}

// awaitState waits until a process is in that state.
func awaitState(t *testing.T, pid int, state string) {
	t.Helper()
	require.Eventually(t, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err == nil && strings.Contains(string(stat), ") "+state+" ")
	}, limit, 10*time.Millisecond)
}

func TestReleaseAsksOnATerminal(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	s.hold(t, "name")
	for answer, want := range map[string]int{"\n": exitRun, "n\n": exitRun} {
		j, terminal := s.onTerminal(t, "release", "--force", "name")
		j.out.await(t, "Release it? [y/N] ")
		require.Contains(t, j.out.String(), "name is held on 3 of 3 masters by the test")
		_, err := terminal.WriteString(answer)
		require.NoError(t, err)
		require.Equal(t, want, j.code(t), j.out)
		require.Contains(t, j.out.String(), "not released")
	}
	_, _, code := s.run(t, "status", "name")
	require.Zero(t, code)
	j, terminal := s.onTerminal(t, "release", "--force", "name")
	j.out.await(t, "Release it? [y/N] ")
	_, err := terminal.WriteString("yes\n")
	require.NoError(t, err)
	require.Zero(t, j.code(t), j.out)
	require.Contains(t, j.out.String(), "was deleted on 3 of 3 masters")
}

func TestReplaceAsksAPersonWhetherAllClientsFence(t *testing.T) {
	t.Parallel()
	addrs := redistest.Addrs(redistest.Masters(t, 4))
	three := strings.Join(addrs[:3], ",")
	_, stderr, code := muxlock(t, "masters", "init", "--new-masters", "--masters", three)
	require.Zero(t, code, stderr)
	for answer, want := range map[string]int{"\n": exitUsage, "yes\n": exitOK} {
		ours, theirs, err := pty.Open()
		require.NoError(t, err)
		defer ours.Close()
		cmd := exec.Command(binary, "masters", "replace", "--masters", three, "--with", addrs[3], "--for", addrs[0])
		cmd.Stdin = theirs
		var log strings.Builder
		cmd.Stderr = &log
		require.NoError(t, cmd.Start())
		theirs.Close()
		_, err = ours.WriteString(answer)
		require.NoError(t, err)
		cmd.Wait()
		require.Contains(t, log.String(), "Do all clients of these masters use fencing?")
		require.Equal(t, want, cmd.ProcessState.ExitCode(), log.String())
	}
}
