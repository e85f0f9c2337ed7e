package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/result"
	"muxlock/internal/testing/redistest"
)

// binary is this test binary: see program.
var binary string

// program returns this test binary. A process that a test starts of it is lockbench: see asProgram.
func program(t testing.TB) string {
	t.Helper()
	redistest.NeedProcess(t)
	return binary
}

// asProgram is set in the environment of the processes that tests start. With it, the test binary is lockbench, so that the
// program need not be linked a second time.
const asProgram = "LOCKBENCH_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main() // exits
	}
	// A test here waits for a process nearly all its time.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	var err error
	if binary, err = os.Executable(); err == nil {
		err = os.Setenv(asProgram, "1")
	}
	if err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// flat returns a text as one line, unfolded.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// lockbench runs the binary to its end.
func lockbench(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return lockbenchEnv(t, os.Environ(), args...)
}

func lockbenchEnv(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program(t), patient(args)...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &log, env
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return out.String(), log.String(), cmd.ProcessState.ExitCode()
}

// patient gives the engine of a run more time for each master than its default, which a busy machine
// may need, unless the run has settings of its own.
func patient(args []string) []string {
	own := func(arg string) bool {
		return slices.ContainsFunc([]string{"--master-timeout", "--ttl", "--config", "ttl="}, func(flag string) bool { return strings.HasPrefix(arg, flag) })
	}
	if len(args) == 0 || !slices.Contains([]string{"run", "compare", "sweep"}, args[0]) || slices.ContainsFunc(args, own) {
		return args
	}
	return append([]string{args[0], "--master-timeout", "2s"}, args[1:]...)
}

// requireMeasured requires that a run ended in order. Whether so short a run is valid depends on the
// machine, and is no matter of the test.
func requireMeasured(t *testing.T, code int, stderr string) {
	t.Helper()
	require.Contains(t, []int{exitOK, exitMissed, exitNotValid}, code, stderr)
}

// measured runs lockbench to an end in order, and returns its document and what it said on standard error.
func measured(t *testing.T, line string, more ...string) (doc *result.Document, stderr string) {
	t.Helper()
	if strings.Contains(line, "--local") {
		redistest.NeedServer(t)
	}
	stdout, stderr, code := lockbench(t, append(words(line+" -o json"), more...)...)
	requireMeasured(t, code, stderr)
	doc, err := result.Read(strings.NewReader(stdout))
	require.NoError(t, err)
	return doc, stderr
}

// fields has every field that DESIGN promises of a result, as paths.
var fields = strings.Fields(`impl round masters workers procs keys seed duration_s throughput_per_s series
	totals.offered totals.started totals.acquired totals.refused totals.timeouts totals.errors
	totals.finished totals.unfinished totals.failed totals.outlived
	latency.service.unit latency.acquire.count latency.release.min latency.cycle.mean latency.cycle.max
	latency.cycle.p.50 latency.cycle.p.90 latency.cycle.p.99 latency.cycle.p.99.9 latency.cycle.p.99.99
	fairness.jain fairness.max_wait_ns fairness.per_proc safety.overlaps safety.fence_violations
	client.cpu_ns_per_op client.allocs_per_op client.gc_p99_ns valid.ok valid.reasons`)

// at looks up a path. A name may contain a point ("99.9").
func at(v any, path string) (any, bool) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	if v, ok := object[path]; ok {
		return v, true
	}
	name, rest, ok := strings.Cut(path, ".")
	if !ok {
		return nil, false
	}
	return at(object[name], rest)
}

func requireFields(t *testing.T, document string) map[string]any {
	t.Helper()
	var doc map[string]any
	require.NoError(t, json.Unmarshal([]byte(document), &doc), document)
	require.EqualValues(t, result.SchemaVersion, doc["schema_version"])
	for _, name := range []string{"tool", "env", "config", "results", "relative"} {
		require.Contains(t, doc, name)
	}
	for _, r := range doc["results"].([]any) {
		for _, path := range fields {
			_, ok := at(r, path)
			require.True(t, ok, "no %s", path)
		}
	}
	_, ok := at(doc["results"].([]any)[0], "latency.nothing")
	require.False(t, ok, "the check can fail")
	return doc
}

// quick is a short run of the generator alone.
const quick = "run --embedded 1 --impl noop --rate 2k --duration 600ms --warmup 10ms --workers 256"

func words(line string) []string { return strings.Fields(line) }
