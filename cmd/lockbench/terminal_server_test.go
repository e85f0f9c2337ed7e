//go:build unix

package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// onPty starts lockbench with its standard error on a terminal of 80 columns. seen returns the text
// so far; ended is closed when the text is complete.
func onPty(t *testing.T, args ...string) (cmd *exec.Cmd, seen func() string, ended chan struct{}) {
	t.Helper()
	ours, theirs, err := pty.Open()
	require.NoError(t, err)
	defer theirs.Close()
	require.NoError(t, pty.Setsize(ours, &pty.Winsize{Rows: 24, Cols: 80}))
	cmd = exec.Command(binary, patient(args)...)
	cmd.Stderr = theirs
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	var mu sync.Mutex
	var all []byte
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		defer ours.Close()
		buf := make([]byte, 4096)
		for {
			n, err := ours.Read(buf) // an error when the last writer is gone
			mu.Lock()
			all = append(all, buf[:n]...)
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return cmd, func() string {
		mu.Lock()
		defer mu.Unlock()
		return string(all)
	}, ended
}

func TestOnATerminalTheProgressIsGoneWhenTheRunIsOver(t *testing.T) {
	t.Parallel()
	for _, interrupt := range []bool{false, true} {
		duration := map[bool]string{false: "4s", true: "1m"}[interrupt]
		cmd, seen, ended := onPty(t, "run", "--impl", "noop", "--embedded", "1", "--workers", "2", "--hold", "1ms", "--duration", duration, "--warmup", "0s", "-o", "json", "--out", os.DevNull)
		require.Eventually(t, func() bool { return strings.Contains(seen(), "cycles/s  p99 ") }, 20*time.Second, 10*time.Millisecond)
		if interrupt {
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
		}
		cmd.Wait()
		<-ended
		left := map[bool]string{false: "", true: "lockbench: interrupted\r\n"}[interrupt]
		require.Regexp(t, `\r {30,}\r`+left+`$`, seen(), "what stood there is written over")
	}
}

func TestAnErrorOnATerminalBreaksBetweenWords(t *testing.T) {
	t.Parallel()
	cmd, seen, ended := onPty(t, "sweep", "--param", "rate=1", "--slo", "throughput>1", "--rounds", "2")
	cmd.Wait()
	<-ended
	require.Regexp(t, `(?m)^  .*rate *\r$`, seen())
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
