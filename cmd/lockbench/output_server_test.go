package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/session"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func TestAFullDiskIsARunErrorAndLosesNothing(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for _, format := range []string{"text", "json", "bench"} {
		stderr, code := into(t, full, loads(steady).open, "run", "-o", format)
		require.Equal(t, exitRun, code, format)
		require.Contains(t, stderr, "no space left on device")

		stdout, stderr, code := within(t, loads(steady).open, "run", "-o", format, "--out", "/dev/full")
		require.Equal(t, exitRun, code, format)
		require.Contains(t, stderr, "goes to standard output instead")
		require.Contains(t, stdout, "muxlock")
	}
}

func TestAnEarlierResultStaysWhenTheRunFails(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "r.json")
	require.NoError(t, os.WriteFile(name, []byte("earlier"), 0o644))
	_, stderr, code := within(t, session.Open, "run", "--masters", "127.0.0.1:1", "--out", name)
	require.Equal(t, exitRun, code)
	require.Contains(t, stderr, "master 127.0.0.1:1: ")
	require.Equal(t, "earlier", read(t, name))
	require.NoFileExists(t, name+".partial")
}

func TestAPageAndAResultAreTwoFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Symlink(dir, filepath.Join(dir, "link")))
	for _, page := range []string{"/r.json", "/./r.json", "/link/r.json"} {
		_, stderr, code := within(t, nil, "run", "--out", dir+"/r.json", "--html", dir+page)
		require.Equal(t, exitUsage, code, page)
		require.Contains(t, stderr, "--html and --out name the same file, "+dir+page)
		require.NoFileExists(t, dir+"/r.json.partial")
	}
}

func TestAClosedPipeEndsTheRunQuietlyAndLeavesNoServer(t *testing.T) {
	t.Parallel()
	redistest.NeedServer(t)
	tmp := t.TempDir()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	r.Close()
	defer w.Close()
	cmd := exec.Command(redistest.Program(t), "run", "--local", "3", "--master-timeout", "2s", "--duration", "200ms", "--warmup", "10ms", "-o", "json")
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = w, &stderr, append(os.Environ(), "TMPDIR="+tmp)
	_ = cmd.Run()
	require.Equal(t, exitPipe, cmd.ProcessState.ExitCode())
	require.NotContains(t, stderr.String(), "lockbench:")
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, left, "a server's folder goes when it has ended")
}

func TestCtrlCEndsAllProcessesAndLeavesAWholeFileOfThePartialResult(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "r.json")
	r := start(t, append(words("run --local 1 --procs 2 --workers 2 --hold 20ms --duration 1m --warmup 10ms --slo throughput>1M -o json --out"), name)...)
	require.Len(t, r.servers, 3, "one server, two workers")
	require.NoFileExists(t, name)
	require.FileExists(t, name+".partial")
	r.end(t, os.Interrupt)
	require.NoFileExists(t, name+".partial")
	doc, err := result.ReadFile(name)
	require.NoError(t, err)
	require.True(t, doc.Results[0].Interrupted())
	require.Positive(t, doc.Results[0].Totals.Acquired)
}

func TestAKilledRunLeavesNoFileThatLooksWholeAndNoProcess(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "r.json")
	r := start(t, append(words("run --local 1 --procs 2 --workers 2 --hold 20ms --duration 1m --warmup 10ms -o json --out"), name)...)
	require.Len(t, r.servers, 3)
	require.NoError(t, r.cmd.Process.Kill())
	r.cmd.Wait()
	require.NoFileExists(t, name)
	require.FileExists(t, name+".partial")
	await.True(t, r.serversGone)
}
