package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/internal/testing/redistest"
)

func TestProcessesShareOneContendedName(t *testing.T) {
	t.Parallel()
	doc, stderr := measured(t, "run --local 3 --procs 2 --workers 4 --keys 2 --hold exp:200us --duration 1200ms --warmup 100ms")
	r := doc.Results[0]
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
