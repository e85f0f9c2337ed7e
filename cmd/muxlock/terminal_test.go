//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"muxlock/internal/redistest"
)

// onTerminal starts a muxlock that has a terminal for itself, which is returned. What it and its
// command write there is in out.
func (s *set) onTerminal(t *testing.T, args ...string) (j *job, terminal *os.File) {
	t.Helper()
	j = &job{Cmd: exec.Command(binary, args...), out: newLines(), done: make(chan struct{})}
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

// Else the command would get each Ctrl-C twice, and many take the second for impatience.
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

// Else it would go on when the lease has run out, and another one beside it.
func TestCtrlZStopsACommandThatIgnoresIt(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	j, terminal := s.onTerminal(t, "exec", "name", "--", "sh", "-c", `trap '' TSTP; trap 'exit 5' TERM; echo ready $$; while :; do sleep 0.02; done`)
	j.out.await(t, "\n")
	var pid int
	_, err := fmt.Sscanf(j.out.String(), "ready %d", &pid)
	require.NoError(t, err)
	_, err = terminal.WriteString("\x1a")
	require.NoError(t, err)
	awaitState(t, pid, "T")
	awaitState(t, j.Process.Pid, "T")
	require.NoError(t, j.Process.Signal(syscall.SIGCONT))
	require.NoError(t, j.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 5, j.code(t), j.out)
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
