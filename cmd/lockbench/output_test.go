package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/result"
)

func TestNDJSONComesWhileItRunsAndHasAnEnd(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := lockbench(t, "run", "--embedded", "1", "--impl", "noop", "--duration", "2200ms", "--warmup", "10ms", "-o", "ndjson")
	require.Zero(t, code, stderr)
	var types []string
	for line := range strings.Lines(stdout) {
		var v struct{ Type string }
		require.NoError(t, json.Unmarshal([]byte(line), &v))
		types = append(types, v.Type)
	}
	n := len(types)
	require.Greater(t, n, 2, "a busy machine may leave a second out")
	require.Subset(t, []string{"second"}, types[:n-2])
	require.Equal(t, []string{"result", "end"}, types[n-2:])
}

func TestAFullDiskIsARunErrorAndLosesNothing(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for _, format := range []string{"text", "json", "ndjson", "csv", "bench"} {
		line := words("run --embedded 1 --impl noop --workers 2 --duration 50ms --warmup 0s -o " + format)
		cmd := exec.Command(binary, line...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &stderr
		_ = cmd.Run()
		require.Equal(t, exitRun, cmd.ProcessState.ExitCode(), format)
		require.Contains(t, stderr.String(), "no space left on device")

		stdout, log, code := lockbench(t, append(line, "--out", "/dev/full")...)
		require.Equal(t, exitRun, code, format)
		require.Contains(t, log, "goes to standard output instead")
		require.Contains(t, stdout, "noop")
	}
}

func TestAnEarlierResultStaysWhenTheRunFails(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "r.json")
	require.NoError(t, os.WriteFile(name, []byte("earlier"), 0o644))
	_, _, code := lockbench(t, "run", "--masters", "127.0.0.1:1", "--out", name)
	require.Equal(t, exitRun, code)
	require.Equal(t, "earlier", read(t, name))
	require.NoFileExists(t, name+".partial")
}

func TestAClosedPipeEndsTheRunQuietlyAndLeavesNoServer(t *testing.T) {
	t.Parallel()
	needServer(t)
	tmp := t.TempDir()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command(binary, "run", "--local", "3", "--duration", "1m", "--warmup", "10ms", "-o", "ndjson")
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = w, &stderr, append(os.Environ(), "TMPDIR="+tmp)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	w.Close()
	line := make([]byte, 10)
	_, err = io.ReadFull(r, line) // the first second
	require.NoError(t, err)
	servers := &running{servers: children(t, cmd.Process.Pid)}
	require.Len(t, servers.servers, 3)
	r.Close()
	cmd.Wait()
	require.Equal(t, exitPipe, cmd.ProcessState.ExitCode())
	require.NotContains(t, stderr.String(), "lockbench:")
	require.True(t, servers.serversGone())
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestCtrlCLeavesAWholeFileOfThePartialResult(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, format := range []string{"json", "ndjson"} {
		name := filepath.Join(dir, format)
		r := start(t, "run", "--local", "1", "--duration", "1m", "--warmup", "10ms", "--slo", "throughput>1M", "-o", format, "--out", name)
		require.NoFileExists(t, name)
		require.FileExists(t, name+".partial")
		require.NoError(t, r.cmd.Process.Signal(os.Interrupt))
		r.cmd.Wait()
		require.Equal(t, exitInterrupted, r.cmd.ProcessState.ExitCode())
		require.NoFileExists(t, name+".partial")
		require.Contains(t, read(t, name), "interrupted")
	}
	doc, err := result.ReadFile(filepath.Join(dir, "json"))
	require.NoError(t, err)
	require.True(t, doc.Results[0].Interrupted())
}

func TestAKilledRunLeavesNoFileThatLooksWholeAndNoServer(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "r.ndjson")
	r := start(t, "run", "--local", "3", "--duration", "1m", "--warmup", "10ms", "-o", "ndjson", "--out", name)
	require.NoError(t, r.cmd.Process.Kill())
	r.cmd.Wait()
	require.NoFileExists(t, name)
	require.Contains(t, read(t, name+".partial"), `"type":"second"`)
	require.Eventually(t, r.serversGone, 5*time.Second, time.Millisecond)
}
