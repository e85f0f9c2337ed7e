package main

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// number looks up a figure of the first result.
func number(t *testing.T, doc map[string]any, path string) float64 {
	t.Helper()
	v, ok := at(doc["results"].([]any)[0], path)
	require.True(t, ok, path)
	return v.(float64)
}

func TestProcessesShareOneContendedName(t *testing.T) {
	t.Parallel()
	needServer(t)
	for _, impl := range []string{"muxlock", "redsync-rueidis"} {
		stdout, stderr, code := lockbench(t, "run", "--impl", impl, "--local", "3", "--procs", "2", "--workers", "4", "--keys", "2",
			"--hold", "exp:200us", "--duration", "1200ms", "--warmup", "100ms", "-o", "json")
		requireMeasured(t, code, stderr)
		doc := requireFields(t, stdout)
		require.EqualValues(t, 2, number(t, doc, "procs"))
		require.EqualValues(t, 4, number(t, doc, "workers"))
		require.Positive(t, number(t, doc, "latency.handover.count")+number(t, doc, "latency.handover_remote.count"))
		require.Positive(t, number(t, doc, "client.cpu_ns_per_op"))
		shares, _ := at(doc["results"].([]any)[0], "fairness.per_proc")
		require.Len(t, shares, 2)
		var sum float64
		for _, share := range shares.([]any) {
			sum += share.(float64)
		}
		require.Equal(t, number(t, doc, "totals.acquired"), sum)
		require.Contains(t, stderr, "cycles/s")
	}
}

func TestOverlapsAcrossProcessesAreASafetyViolation(t *testing.T) {
	t.Parallel()
	// With one worker in each process, an overlap is always with the other process.
	stdout, stderr, code := lockbench(t, "run", "--embedded", "1", "--impl", "noop", "--keys", "1", "--procs", "2", "--workers", "1",
		"--hold", "1ms", "--duration", "600ms", "--warmup", "0s")
	require.Equal(t, exitUnsafe, code, stderr)
	require.Contains(t, stdout, "SAFETY VIOLATION noop")

	_, stderr, code = lockbench(t, "run", "--embedded", "1", "--impl", "noop", "--procs", "2", "--workers", "1",
		"--hold", "1ms", "--duration", "600ms", "--warmup", "0s")
	requireMeasured(t, code, stderr)
}

func TestOverlapsOfThoseWhoShareAreSeenAcrossProcesses(t *testing.T) {
	t.Parallel()
	for op, unsafe := range map[string]bool{"read-write:80": true, "read-write:100": false, "permit:2": true, "permit:3": false} {
		_, stderr, code := lockbench(t, "run", "--embedded", "1", "--impl", "noop", "--op", op, "--keys", "1", "--procs", "3", "--workers", "1",
			"--hold", "1ms", "--duration", "600ms", "--warmup", "0s")
		if unsafe {
			require.Equal(t, exitUnsafe, code, stderr)
		} else {
			requireMeasured(t, code, stderr)
		}
	}
}

func TestProcessesShareTheRate(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := lockbench(t, "run", "--embedded", "1", "--impl", "noop", "--procs", "2", "--rate", "1k", "--arrivals", "uniform",
		"--duration", "1s", "--warmup", "0s", "-o", "json")
	requireMeasured(t, code, stderr)
	doc := requireFields(t, stdout)
	require.InEpsilon(t, 1000*number(t, doc, "duration_s"), number(t, doc, "totals.offered"), 0.3, "neither each its own nor one alone")
	require.Positive(t, number(t, doc, "latency.response.count"))
}

func TestProcessesOpenWithTheSameErrors(t *testing.T) {
	t.Parallel()
	_, stderr, code := lockbench(t, "run", "--embedded", "1", "--procs", "2", "--ttl", "5ms")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "--ttl")
	_, stderr, code = lockbench(t, "run", "--embedded", "1", "--procs", "2", "--impl", "redislock", "--masters", "127.0.0.1:1")
	require.Equal(t, exitUsage, code, stderr)
}

func TestCtrlCEndsAllProcessesAndKeepsTheirResult(t *testing.T) {
	t.Parallel()
	r := start(t, "run", "--local", "1", "--hold", "20ms", "--procs", "2", "--workers", "2", "--duration", "1m", "--warmup", "10ms", "-o", "json")
	require.Len(t, r.servers, 3, "one server, two workers")
	r.end(t, os.Interrupt)
	require.Positive(t, number(t, requireFields(t, r.stdout.String()), "totals.acquired"))
}

// worker returns the pid of a child with workers.
func (r *running) worker(t *testing.T) int {
	t.Helper()
	i := slices.IndexFunc(r.servers, func(pid int) bool {
		program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		return err == nil && program == binary
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

func TestAKilledParentLeavesNoProcess(t *testing.T) {
	t.Parallel()
	r := start(t, "run", "--local", "1", "--hold", "20ms", "--procs", "2", "--workers", "2", "--duration", "1m", "--warmup", "10ms")
	require.Len(t, r.servers, 3)
	require.False(t, r.serversGone())
	require.NoError(t, r.cmd.Process.Kill())
	r.cmd.Wait()
	require.Eventually(t, r.serversGone, 20*time.Second, time.Millisecond)
}

func TestExtendRunsOnTheEngineAndOnRedsync(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := lockbench(t, "compare", "--embedded", "3", "--impl", "muxlock,redsync-goredis", "--op", "mix:extend=1", "--workers", "4",
		"--rounds", "1", "--duration", "300ms", "--warmup", "50ms", "-o", "json")
	requireMeasured(t, code, stderr)
	doc := requireFields(t, stdout)
	require.Len(t, doc["results"], 2)
	for _, r := range doc["results"].([]any) {
		n, ok := at(r, "latency.extend.count")
		require.True(t, ok)
		require.Positive(t, n)
		errors, _ := at(r, "totals.errors")
		require.Zero(t, errors)
		reasons, _ := at(r, "valid.reasons")
		require.Contains(t, reasons, map[string]any{"kind": "embedded masters: the speed means nothing"})
	}
}
