package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

// A whole run, on servers of the given programs.
func TestProcessesShareOneContendedName(t *testing.T) {
	t.Parallel()
	redistest.NeedServer(t)
	server, err := redisserver.Binary()
	require.NoError(t, err)
	doc, stderr := measured(t, "run --local 3 --procs 2 --workers 4 --keys 2 --hold exp:200us --duration 1200ms --warmup 100ms --seed 42", "--server", server)
	require.Equal(t, []string{server}, doc.Config.Programs, "to repeat it")
	require.Len(t, doc.Results, 1)
	r := doc.Results[0]
	require.Positive(t, r.ThroughputPerS)
	require.EqualValues(t, 42, r.Seed)
	require.Equal(t, []int{2, 4}, []int{r.Procs, r.Workers})
	require.NotNil(t, cmp.Or(r.Latency[bench.HandoverTime], r.Latency[bench.RemoteHandoverTime]))
	require.Len(t, r.Fairness.PerProc, 2)
	require.Contains(t, stderr, "cycles/s")
}

func TestProcessesOpenWithTheSameErrors(t *testing.T) {
	t.Parallel()
	_, stderr, code := lockbench(t, "run", "--embedded", "1", "--procs", "2", "--ttl", "5ms")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "--ttl")
	_, stderr, code = lockbench(t, "run", "--embedded", "1", "--procs", "2", "--impl", "redislock", "--masters", "127.0.0.1:1")
	require.Equal(t, exitUsage, code, stderr)
}

// worker returns the pid of a child with workers.
func (r *running) worker(t *testing.T) int {
	t.Helper()
	i := slices.IndexFunc(r.servers, func(pid int) bool {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		return err == nil && exe == redistest.Program(t)
	})
	require.GreaterOrEqual(t, i, 0)
	return r.servers[i]
}

func TestACrashOfOneProcessEndsTheRun(t *testing.T) {
	t.Parallel()
	r := start(t, "run", "--local", "1", "--hold", "20ms", "--procs", "2", "--workers", "2", "--duration", "1m", "--warmup", "10ms")
	require.Len(t, r.servers, 3)
	require.NoError(t, syscall.Kill(r.worker(t), syscall.SIGKILL))
	r.cmd.Wait()
	require.Equal(t, exitRun, r.cmd.ProcessState.ExitCode())
	require.True(t, r.serversGone())
}

func TestASignalWhileMastersAreFaultyLeavesNoServer(t *testing.T) {
	t.Parallel()
	r := start(t, words("run --local 5 --hold 20ms --fault kill:2 --fault stop:3 --fault delay:1:1s --duration 1m")...)
	require.Len(t, r.servers, 4+1, "the others and the delay line")
	require.False(t, r.serversGone(), "the check sees living servers")
	r.end(t, syscall.SIGTERM)
}

// running is a lockbench in the middle of its measured time.
type running struct {
	cmd     *exec.Cmd
	stdout  bytes.Buffer
	tmp     string
	servers []int // pids of children
}

func start(t *testing.T, args ...string) *running {
	t.Helper()
	redistest.NeedServer(t)
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("finds the servers through /proc")
	}
	r := &running{cmd: exec.Command(redistest.Program(t), patient(args)...), tmp: t.TempDir()}
	r.cmd.Stdout, r.cmd.Env = &r.stdout, append(os.Environ(), "TMPDIR="+r.tmp)
	stderr, err := r.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, r.cmd.Start())
	t.Cleanup(func() { r.cmd.Process.Kill() })
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if line := lines.Text(); strings.Contains(line, "cycles") && !strings.Contains(line, "warm-up") {
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	r.servers = redistest.Children(t, r.cmd.Process.Pid, false)
	return r
}

// end interrupts lockbench. No server and no folder is left.
func (r *running) end(t *testing.T, signal os.Signal) {
	t.Helper()
	require.NoError(t, r.cmd.Process.Signal(signal))
	r.cmd.Wait()
	require.Equal(t, exitInterrupted, r.cmd.ProcessState.ExitCode())
	require.True(t, r.serversGone())
	left, err := os.ReadDir(r.tmp)
	require.NoError(t, err)
	require.Empty(t, left)
}

func (r *running) serversGone() bool {
	for _, pid := range r.servers {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil && !strings.Contains(string(stat), ") Z ") {
			return false
		}
	}
	return true
}

func TestAClosedTerminalEndsTheRunInOrder(t *testing.T) {
	t.Parallel()
	ours := make(chan os.Signal, 1) // catching the signal here undoes nohup for the child
	signal.Notify(ours, syscall.SIGHUP)
	defer signal.Stop(ours)
	r := start(t, "run", "--local", "1", "--hold", "20ms", "--duration", "1m", "--warmup", "10ms", "-o", "json")
	r.end(t, syscall.SIGHUP)
	require.Contains(t, r.stdout.String(), `"interrupted"`)
}

func TestASecondCtrlCLeavesNoServer(t *testing.T) {
	t.Parallel()
	r := start(t, "run", "--local", "3", "--hold", "20ms", "--duration", "1m", "--warmup", "10ms")
	require.Len(t, r.servers, 3)
	require.NoError(t, r.cmd.Process.Signal(os.Interrupt))
	r.cmd.Process.Signal(os.Interrupt) // at any moment
	r.cmd.Wait()
	await.True(t, r.serversGone)
}
