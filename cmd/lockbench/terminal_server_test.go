//go:build unix

package main

import (
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
)

// terminal opens a terminal of 80 columns. written returns all that came there once its last writer is gone.
func terminal(t *testing.T) (tty *os.File, written func() string) {
	t.Helper()
	ours, tty, err := pty.Open()
	require.NoError(t, err)
	t.Cleanup(func() { ours.Close() })
	require.NoError(t, pty.Setsize(ours, &pty.Winsize{Rows: 24, Cols: 80}))
	text := make(chan string, 1)
	go func() {
		all, _ := io.ReadAll(ours) // ends with an error when the last writer is gone
		text <- string(all)
	}()
	return tty, func() string {
		tty.Close()
		return <-text
	}
}

// runOnTerminal runs lockbench with its standard error on a terminal.
func runOnTerminal(t *testing.T, args ...string) string {
	t.Helper()
	tty, written := terminal(t)
	cmd := exec.Command(redistest.Program(t), patient(args)...)
	cmd.Stderr = tty
	_ = cmd.Run()
	return written()
}

// Package live tries what stands there meanwhile.
func TestOnATerminalTheProgressIsGoneWhenTheRunIsOver(t *testing.T) {
	t.Parallel()
	seen := runOnTerminal(t, words("run --impl noop --embedded 1 --workers 2 --hold 1ms --duration 3s --warmup 0s -o json --out /dev/null")...)
	require.Contains(t, seen, "cycles/s  p99 ")
	require.Regexp(t, `\r {30,}\r$`, seen, "what stood there is written over")
}

func TestAnErrorOnATerminalBreaksBetweenWords(t *testing.T) {
	t.Parallel()
	seen := runOnTerminal(t, words("sweep --param rate=1 --slo throughput>1 --rounds 2")...)
	require.Regexp(t, `(?m)^  .*rate *\r$`, seen)
}

func TestAResultIsTextOnATerminalWithHints(t *testing.T) {
	kept := keep(t, steady, "run --workers 1")
	tty, written := terminal(t)
	stderr, code := into(t, tty, nil, "report", kept)
	require.Zero(t, code, stderr)
	shown := written()
	piped, _, _ := within(t, nil, "report", kept)
	require.Contains(t, piped, "closed loop")
	for _, hint := range []string{"next: lockbench compare", "--rate shows it"} {
		require.NotContains(t, piped, hint)
		require.Contains(t, shown, hint)
	}
}
