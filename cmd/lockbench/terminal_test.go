//go:build unix

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
	"github.com/stretchr/testify/require"

	"muxlock/internal/redistest"
)

// startOnTerminal starts lockbench with its standard error on a terminal of that size,
// which is emulated; drained is closed when the terminal has taken all of it.
func startOnTerminal(t *testing.T, columns uint16, args ...string) (cmd *exec.Cmd, screen vt10x.Terminal, drained chan struct{}) {
	t.Helper()
	ours, theirs, err := pty.Open()
	require.NoError(t, err)
	defer theirs.Close()
	require.NoError(t, pty.Setsize(ours, &pty.Winsize{Rows: 24, Cols: columns}))
	cmd = exec.Command(binary, args...)
	cmd.Stderr, cmd.Env = theirs, append(os.Environ(), "TERM=xterm")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	screen, drained = vt10x.New(vt10x.WithSize(int(columns), 24)), make(chan struct{})
	go func() {
		defer close(drained)
		defer ours.Close()
		_, _ = io.Copy(screen, ours) // ends with an error when the last writer is gone
	}()
	return cmd, screen, drained
}

func TestOnATerminalTheViewIsGoneWhenTheRunIsOver(t *testing.T) {
	t.Parallel()
	needServer(t)
	for _, columns := range []uint16{40, 80, 120} {
		for _, interrupt := range []bool{false, true} {
			t.Run(fmt.Sprintf("columns=%d/interrupt=%t", columns, interrupt), func(t *testing.T) {
				t.Parallel()
				duration := map[bool]string{false: "1500ms", true: "1m"}[interrupt]
				cmd, screen, drained := startOnTerminal(t, columns, "run", "--impl", "noop", "--local", "1", "--workers", "2", "--duration", duration, "--warmup", "0s", "-o", "json", "--out", os.DevNull)
				require.Eventually(t, func() bool { return strings.Contains(screen.String(), "errors 0") }, 20*time.Second, 10*time.Millisecond)
				t.Logf("%d columns\n%s", columns, strings.TrimRight(screen.String(), " \n"))
				if interrupt {
					require.NoError(t, cmd.Process.Signal(os.Interrupt))
				}
				cmd.Wait()
				<-drained
				want, left := exitOK, ""
				if interrupt {
					want, left = exitInterrupted, "lockbench: interrupted"
				}
				require.Equal(t, want, cmd.ProcessState.ExitCode())
				require.Equal(t, left, strings.TrimSpace(screen.String()))
				require.True(t, screen.CursorVisible())
			})
		}
	}
}

func TestAnErrorOnATerminalBreaksBetweenWords(t *testing.T) {
	t.Parallel()
	cmd, screen, drained := startOnTerminal(t, 80, "sweep", "--find-max", "--rounds", "2")
	cmd.Wait()
	<-drained
	require.Regexp(t, `(?m)^  .*edge *$`, screen.String())
}

func TestAResultIsShownAsTextOnATerminal(t *testing.T) {
	t.Parallel()
	kept := filepath.Join(t.TempDir(), "kept.json")
	_, stderr, code := lockbench(t, "run", "--embedded", "1", "--workers", "1", "--duration", "200ms", "--warmup", "0s", "-o", "json", "--out", kept)
	requireMeasured(t, code, stderr)
	ours, theirs, err := pty.Open()
	require.NoError(t, err)
	defer ours.Close()
	cmd := exec.Command(binary, "report", kept)
	cmd.Stdout = theirs
	require.NoError(t, cmd.Start())
	theirs.Close()
	shown, _ := io.ReadAll(ours) // ends with an error when the last writer is gone
	require.NoError(t, cmd.Wait())
	require.Contains(t, string(shown), "closed loop")
	require.NotContains(t, string(shown), "<html")
}

func TestHintsAreForATerminalOnly(t *testing.T) {
	t.Parallel()
	args := []string{"run", "--embedded", "1", "--impl", "noop", "--workers", "1", "--duration", "100ms", "--warmup", "0s", "-q"}
	stdout, stderr, code := lockbench(t, args...)
	requireMeasured(t, code, stderr)
	require.Contains(t, stdout, "cycles/s")
	require.NotContains(t, stdout, "next: ")
	require.NotContains(t, stdout, "--rate shows it")

	ours, theirs, err := pty.Open()
	require.NoError(t, err)
	defer ours.Close()
	cmd := exec.Command(binary, args...)
	cmd.Stdout = theirs
	require.NoError(t, cmd.Start())
	theirs.Close()
	shown, _ := io.ReadAll(ours) // ends with an error when the last writer is gone
	cmd.Wait()
	require.Contains(t, string(shown), "next: lockbench compare")
}

func TestReplaceAsksAPersonWhetherAllClientsFence(t *testing.T) {
	t.Parallel()
	addrs := redistest.Addrs(redistest.Masters(t, 4))
	three := strings.Join(addrs[:3], ",")
	_, stderr, code := lockbench(t, "masters", "init", "--new-masters", "--masters", three)
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
