//go:build unix

package main

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/await"
)

// onPty starts lockbench with its standard error on a terminal of 80 columns. seen returns the text
// so far; ended is closed when the text is complete.
func onPty(t *testing.T, args ...string) (cmd *exec.Cmd, seen func() string, ended chan struct{}) {
	t.Helper()
	ours, theirs, err := pty.Open()
	require.NoError(t, err)
	defer theirs.Close()
	require.NoError(t, pty.Setsize(ours, &pty.Winsize{Rows: 24, Cols: 80}))
	cmd = exec.Command(program(t), patient(args)...)
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
		await.True(t, func() bool { return strings.Contains(seen(), "cycles/s  p99 ") })
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

func TestAResultIsTextOnATerminalWithHints(t *testing.T) {
	kept := keep(t, steady, "run --workers 1")
	ours, theirs, err := pty.Open()
	require.NoError(t, err)
	defer ours.Close()
	text := make(chan string)
	go func() {
		all, _ := io.ReadAll(ours) // ends with an error when the last writer is gone
		text <- string(all)
	}()
	stderr, code := into(t, theirs, nil, "report", kept)
	theirs.Close()
	require.Zero(t, code, stderr)
	shown := <-text
	piped, _, _ := within(t, nil, "report", kept)
	require.Contains(t, piped, "closed loop")
	for _, hint := range []string{"next: lockbench compare", "--rate shows it"} {
		require.NotContains(t, piped, hint)
		require.Contains(t, shown, hint)
	}
}
