package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/output"
	"muxlock/internal/redisserver"
	"muxlock/internal/redistest"
)

// binary is lockbench as users run it.
var binary string

func TestMain(m *testing.M) {
	// A test here waits for a process nearly all its time.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	code := func() int {
		dir, err := os.MkdirTemp("", "lockbench-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "lockbench")
		if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}()
	os.Exit(code)
}

// lockbench runs the binary to its end.
func lockbench(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return lockbenchEnv(t, os.Environ(), args...)
}

func lockbenchEnv(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &log, env
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return out.String(), log.String(), cmd.ProcessState.ExitCode()
}

// requireMeasured holds that a run ended in order. How much so short a one is worth
// depends on the machine, and is not what the test is about.
func requireMeasured(t *testing.T, code int, stderr string) {
	t.Helper()
	require.Contains(t, []int{exitOK, exitNotValid}, code, stderr)
}

// needServer skips where no server program is installed.
func needServer(t *testing.T) {
	t.Helper()
	if _, err := redisserver.Binary(); err != nil && os.Getenv(redistest.RequireEnv) != "1" {
		t.Skip(err)
	}
}

func TestWithoutArgumentsItHelps(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := lockbench(t)
	require.Zero(t, code)
	require.Empty(t, stderr)
	require.Contains(t, stdout, "lockbench run")
	require.Contains(t, stdout, "compare")
}

func TestVersionNamesItself(t *testing.T) {
	t.Parallel()
	stdout, _, code := lockbench(t, "version")
	require.Zero(t, code)
	require.Contains(t, stdout, "lockbench ")
}

func TestBadInputNamesItsFlagAndStartsNothing(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir() // where servers would put their data
	env := append(os.Environ(), "TMPDIR="+tmp)
	for line, want := range map[string]string{
		"run --workers 0":                    "--workers",
		"run --workers -1":                   "--workers",
		"run --workers many":                 "--workers",
		"run --op extend --impl setnx":       "--op extend cannot be used with --impl setnx",
		"run --op hold --impl redislock":     "--op hold cannot be used with --impl redislock",
		"run --op extend --impl raw":         "--op",
		"run --op extend --keys 3":           "--dist",
		"run --op mix:try=1,hold=1":          "--op",
		"run --impl setnx --op mix:extend=1": "--op",
		"run --hold lognormal:9s,1":          "--hold",
		"run --dist hotspot:2,1":             "--dist",
		"run --procs 0":                      "--procs",
		"run --procs 2000":                   "--procs",
		"run --hold exp:1":                   "--hold",
		"run --keys 0":                       "--keys",
		"run --keys 5 --dist own":            "--keys",
		"run --impl nothing":                 "--impl",
		"run --impl=":                        "--impl",
		"compare --impl muxlock,muxlock":     "--impl",
		"run --dist pareto":                  "--dist",
		"run --dist zipf:0":                  "--dist",
		"run --duration -1s":                 "--duration",
		"run --duration 0s":                  "--duration",
		"run --warmup -1s":                   "--warmup",
		"run --hold -1s":                     "--hold",
		"run --think -1s":                    "--think",
		"run --wait -1s":                     "--wait",
		"run --master-timeout -1s":           "--master-timeout",
		"run --master-timeout 10s":           "--master-timeout",
		"run --ttl 0s":                       "--ttl",
		"run --hold 2s --ttl 1s":             "--hold",
		"run --rate 0":                       "--rate",
		"run --rate -5":                      "--rate",
		"run --rate fast":                    "--rate",
		"run --rate NaN":                     "--rate",
		"run --rate 100 --impl raw":          "--rate",
		"run --impl raw --fault stop:1":      "--fault",
		"run --rate 100 --think 1s":          "--think",
		"run --arrivals poisson":             "--arrivals",
		"run --rate 100 --arrivals bursty":   "--arrivals",
		"run --drop-after 1ms":               "--drop-after",
		"run --rate 1 --drop-after -1ms":     "--drop-after",
		"run --rate 1 --drop-after soon":     "--drop-after",
		"run --ramp -1s":                     "--ramp",
		"run --warmup 1s --ramp 2s":          "--ramp",
		"run --steady 0":                     "--steady",
		"run --steady 100%":                  "--steady",
		"run --steady -5%":                   "--steady",
		"run --steady NaN":                   "--steady",
		"run --steady a-bit":                 "--steady",
		"run --steady 5% --duration 7s":      "--steady",
		"run --steady 5% --procs 2":          "--steady",
		"run --steady 5% --op hold":          "--steady",
		"run --steady 5% --impl raw":         "--steady",
		"run --op steal":                     "--op",
		"run --rounds 0":                     "--rounds",
		"run --seed 9007199254740992":        "--seed",
		"run --masters here":                 "--masters",
		"run --masters a:1,b:2,a:1":          "--masters",
		"run --masters a:99999":              "--masters",
		"run --masters a:1 --local 3":        "--local",
		"run --masters a:1 --embedded 3":     "--embedded",
		"run --local 3 --embedded 3":         "--embedded",
		"run --local 0":                      "--local",
		"run --embedded -1":                  "--embedded",
		"run --fault stop:6":                 "--fault",
		"run --fault stop:1 --embedded 3":    "--fault",
		"run --fault delay:1 --local 3":      "--fault",
		"run --fault stop:1@4s-6s":           "--fault",
		"run --fault restart:1":              "--fault",
		"run --fault=stop:1 --fault=kill:1":  "--fault",
		"run --masters a:1 --fault stop:1":   "--fault",
		"chaos --impl raw":                   "--impl",
		"chaos --impl muxlock,setnx":         "--impl",
		"chaos --faults burn":                "--faults",
		"chaos --faults=":                    "--faults",
		"chaos --duration 10ms":              "--duration",
		"chaos --hold 1s":                    "--hold",
		"chaos --keys 100000":                "--keys",
		"chaos --history /no/such/file":      "--history",
		"chaos --masters a:1":                "--masters",
		"chaos -o bench":                     "-o",
		"run --impl raw --fault cut:1@1s":    "--fault",
		"run -o yaml":                        "-o",
		"run --out " + tmp + "/no/such/file": "--out",
		"run --bogus":                        "--bogus",
		"run now":                            "now",
		"walk":                               "walk",
	} {
		stdout, stderr, code := lockbenchEnv(t, env, strings.Fields(line)...)
		require.Equal(t, exitUsage, code, "%s: %s", line, stderr)
		require.Empty(t, stdout, line)
		require.Contains(t, stderr, want, line)
	}
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestAMasterThatDoesNotAnswerIsARunError(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := lockbench(t, "run", "--masters", "127.0.0.1:1")
	require.Equal(t, exitRun, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "127.0.0.1:1")
}

func TestALeaseThatTheEngineCannotGiveIsAUsageError(t *testing.T) {
	t.Parallel()
	_, stderr, code := lockbench(t, "run", "--embedded", "1", "--ttl", "5ms")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "--ttl")
}

// fields is every name that DESIGN promises of a result, as paths.
var fields = strings.Fields(`impl round masters workers procs keys seed duration_s throughput_per_s series
	totals.offered totals.started totals.acquired totals.refused totals.timeouts totals.errors
	latency.service.unit latency.acquire.count latency.release.min latency.cycle.mean latency.cycle.max
	latency.cycle.p.50 latency.cycle.p.90 latency.cycle.p.99 latency.cycle.p.99.9 latency.cycle.p.99.99
	fairness.jain fairness.max_wait_ns fairness.per_proc safety.overlaps safety.fence_violations
	client.cpu_ns_per_op client.allocs_per_op client.gc_p99_ns valid.ok valid.reasons`)

// at looks a path up; a name may hold a point of its own ("99.9").
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
	require.EqualValues(t, 1, doc["schema_version"])
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

func TestRunPrintsOneJSONDocument(t *testing.T) {
	t.Parallel()
	needServer(t)
	stdout, stderr, code := lockbench(t, "run", "--local", "3", "--duration", "1s", "--warmup", "50ms", "-o", "json", "--seed", "42")
	require.Zero(t, code, stderr)
	doc := requireFields(t, stdout)
	require.Len(t, doc["results"], 1)
	r := doc["results"].([]any)[0].(map[string]any)
	require.Equal(t, "muxlock", r["impl"])
	require.EqualValues(t, 3, r["masters"])
	require.EqualValues(t, 42, r["seed"])
	require.Positive(t, r["throughput_per_s"])
	config := doc["config"].(map[string]any)
	require.Equal(t, "local", config["target"])
	require.Len(t, config["masters"], 3)
	require.Contains(t, stderr, "cycles/s", "progress")
}

func TestAnOpenLoopHasResponseTimes(t *testing.T) {
	t.Parallel()
	needServer(t)
	stdout, stderr, code := lockbench(t, "run", "--local", "1", "--impl", "setnx", "--rate", "0.5k", "--duration", "300ms", "--warmup", "50ms", "-o", "json")
	requireMeasured(t, code, stderr)
	r := requireFields(t, stdout)["results"].([]any)[0]
	for _, clock := range []string{"response", "wait", "service", "lag"} {
		hdr, ok := at(r, "latency."+clock+".hdr")
		require.True(t, ok, clock)
		require.Contains(t, hdr, "HISTF")
	}
}

func TestCompareInterleavesRoundsAndRelatesThem(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := lockbench(t, "compare", "--embedded", "3", "--impl", "muxlock,setnx,raw", "--rounds", "2",
		"--duration", "500ms", "--warmup", "20ms", "--seed", "5", "-o", "json")
	requireMeasured(t, code, stderr)
	doc := requireFields(t, stdout)
	var order []string
	for _, r := range doc["results"].([]any) {
		r := r.(map[string]any)
		order = append(order, fmt.Sprint(r["impl"], r["round"], " seed ", r["seed"]))
		reasons, _ := at(r, "valid.reasons")
		require.Contains(t, reasons, "embedded masters: the speed means nothing")
	}
	require.Equal(t, []string{
		"muxlock1 seed 5", "setnx1 seed 5", "raw1 seed 5", "raw2 seed 6", "setnx2 seed 6", "muxlock2 seed 6",
	}, order)
	require.Len(t, doc["relative"], 3)
	require.Contains(t, stderr, "SPEED MEANS NOTHING")
}

func TestCompareShowsATable(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := lockbench(t, "compare", "--embedded", "3", "--impl", "muxlock,setnx", "--rounds", "1", "--duration", "100ms", "--warmup", "20ms")
	requireMeasured(t, code, stderr)
	require.Contains(t, stdout, "muxlock is ")
	require.Contains(t, stdout, "what they do not promise")
	require.Contains(t, stdout, "SPEED MEANS NOTHING")
}

func TestBenchOutputIsWhatBenchstatReads(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "result.txt")
	stdout, stderr, code := lockbench(t, "run", "--embedded", "3", "--duration", "100ms", "--warmup", "20ms", "-o", "bench", "--out", out)
	requireMeasured(t, code, stderr)
	require.Empty(t, stdout)
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^BenchmarkCycle/impl=muxlock/masters=3/workers=64-\d+\t\d+\t[\d.]+ ns/op\t`, string(text))
}

func TestWithoutAServerProgramItTriesEmbeddedMasters(t *testing.T) {
	t.Parallel()
	env := append(os.Environ(), "PATH="+t.TempDir())
	stdout, stderr, code := lockbenchEnv(t, env, "run", "--duration", "100ms", "--warmup", "20ms")
	requireMeasured(t, code, stderr)
	require.Contains(t, stderr, "apt-get install redis-server")
	require.Contains(t, stdout, "5 masters (embedded")

	_, stderr, code = lockbenchEnv(t, env, "run", "--local", "3")
	require.Equal(t, exitRun, code, "asked for, so not replaced")
	require.Contains(t, stderr, "apt-get install redis-server")
}

func TestARateThatIsNotMetIsNotValid(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := lockbench(t, "run", "--embedded", "1", "--impl", "setnx", "--workers", "1", "--rate", "1M", "--duration", "200ms", "--warmup", "20ms")
	require.Equal(t, exitNotValid, code, stderr)
	require.Contains(t, stdout, "NOT VALID setnx: rate not met")
	require.Contains(t, stderr, "rate not met")
}

func TestAFewOperationsAreShownButNotValid(t *testing.T) {
	t.Parallel()
	needServer(t)
	stdout, stderr, code := lockbench(t, "compare", "--local", "1", "--impl", "noop,setnx", "--rounds", "2", "--workers", "1", "--hold", "50ms",
		"--duration", "300ms", "--warmup", "0s")
	require.Equal(t, exitNotValid, code, stderr)
	require.Regexp(t, `NOT VALID setnx: too few operations: \d are no base for a p99, it needs \d+ s more at this pace \(in 2 rounds\)\n`, stdout)
	require.Contains(t, stdout, "reference", "the figures are there all the same")
	require.Contains(t, stderr, "too few operations")
}

func TestDroppedOperationsAreShownAndTheRateIsNotMet(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := lockbench(t, "run", "--embedded", "1", "--impl", "noop", "--workers", "1", "--hold", "20ms", "--rate", "200",
		"--drop-after", "40ms", "--ramp", "100ms", "--warmup", "100ms", "--duration", "1s")
	require.Equal(t, exitNotValid, code, stderr)
	require.Regexp(t, `dropped after 40ms \d+ \(\d`, stdout)
	require.Regexp(t, `rate not met: offered .*, dropped \d`, stdout)
}

func TestAStoppedMasterDoesNotStopTheRun(t *testing.T) {
	t.Parallel()
	needServer(t)
	stdout, stderr, code := lockbench(t, "run", "--local", "3", "--fault", "stop:3", "--fault", "delay:1:1ms", "--warmup", "10ms", "--duration", "300ms", "-o", "json")
	requireMeasured(t, code, stderr)
	doc := requireFields(t, stdout)
	warmup, _ := at(doc, "config.warmup_ns")
	require.EqualValues(t, 2e9, warmup, "the fault begins in the warm-up")
	faults, _ := at(doc, "config.faults")
	require.Equal(t, []any{"stop:3", "delay:1:1ms"}, faults)
}

func TestFaultsAreBandsInEveryResult(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := lockbench(t, "compare", "--impl", "muxlock,setnx", "--rounds", "1", "--local", "3",
		"--fault", "kill:2@200ms-500ms", "--fault", "delay:3:lognormal(2ms,1)@100ms-300ms", "--fault", "restart:1@700ms",
		"--warmup", "50ms", "--duration", "1s", "-o", "json")
	require.Zero(t, code, stderr)
	for _, r := range requireFields(t, stdout)["results"].([]any) {
		var seen []string
		for _, b := range r.(map[string]any)["faults"].([]any) {
			b := b.(map[string]any)
			seen = append(seen, fmt.Sprint(b["kind"], b["master"]))
			require.GreaterOrEqual(t, b["to_s"], b["from_s"])
			require.InDelta(t, map[string]float64{"delay": 0.1, "kill": 0.2, "restart": 0.7}[b["kind"].(string)], b["from_s"], 0.1)
		}
		require.Equal(t, []string{"delay3", "kill2", "restart1"}, seen)
	}
}

func TestCtrlCWhileAMasterIsKilledAndAnotherStoppedLeavesNoServer(t *testing.T) {
	t.Parallel()
	r := start(t, "run", "--local", "5", "--fault", "kill:2", "--fault", "stop:3", "--fault", "cut:1@0s-1m", "--duration", "1m")
	require.Len(t, r.servers, 4)
	require.NoError(t, r.cmd.Process.Signal(os.Interrupt))
	r.cmd.Wait()
	require.Equal(t, exitInterrupted, r.cmd.ProcessState.ExitCode())
	require.True(t, r.serversGone())
	left, err := os.ReadDir(r.tmp)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestTheWorstVerdictDecidesTheExitCode(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	good := &bench.Result{Valid: bench.Valid{OK: true}}
	overlap := &bench.Result{Safety: bench.Safety{Overlaps: 1}}
	invalid := &bench.Result{Valid: bench.Valid{Reasons: []string{"rate not met"}}}
	few := &bench.Result{Valid: bench.Valid{Reasons: []string{"too few operations: 3"}}}
	tried := &bench.Result{Valid: bench.Valid{Reasons: []string{"too few operations: 3", "the generator could not keep up: 9", output.EmbeddedReason}}}
	stuck := &bench.Result{Valid: bench.Valid{Reasons: []string{"rate not met: 3", output.EmbeddedReason}}}
	for _, c := range []struct {
		ctx     context.Context
		results []*bench.Result
		err     error
		want    int
	}{
		{t.Context(), []*bench.Result{good}, nil, exitOK},
		{t.Context(), []*bench.Result{good, invalid}, nil, exitNotValid},
		{t.Context(), []*bench.Result{few}, nil, exitNotValid},
		{t.Context(), []*bench.Result{tried}, nil, exitOK},
		{t.Context(), []*bench.Result{stuck}, nil, exitNotValid},
		{t.Context(), []*bench.Result{invalid}, errors.New("broke"), exitRun},
		{ended, []*bench.Result{invalid}, errors.New("broke"), exitInterrupted},
		{ended, []*bench.Result{invalid, overlap}, errors.New("broke"), exitUnsafe},
	} {
		code, _ := exitCode(judge(c.ctx, c.results, c.err))
		require.Equal(t, c.want, code)
	}
}

// running is a lockbench in the middle of its measured time.
type running struct {
	cmd     *exec.Cmd
	stdout  bytes.Buffer
	tmp     string
	servers []int // pids
}

func start(t *testing.T, args ...string) *running {
	t.Helper()
	needServer(t)
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("finds the servers through /proc")
	}
	r := &running{cmd: exec.Command(binary, args...), tmp: t.TempDir()}
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
	r.servers = children(t, r.cmd.Process.Pid)
	return r
}

// children returns the living processes whose parent is pid.
func children(t *testing.T, pid int) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, path := range all {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // gone meanwhile
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(rest); f[0] != "Z" && f[1] == strconv.Itoa(pid) {
			child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			require.NoError(t, err)
			pids = append(pids, child)
		}
	}
	return pids
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

func TestCtrlCWritesThePartialResultAndStopsTheServers(t *testing.T) {
	t.Parallel()
	r := start(t, "run", "--local", "3", "--duration", "1m", "--warmup", "10ms", "-o", "json")
	require.Len(t, r.servers, 3)
	require.False(t, r.serversGone(), "the check sees living servers")

	require.NoError(t, r.cmd.Process.Signal(os.Interrupt))
	r.cmd.Wait()
	require.Equal(t, exitInterrupted, r.cmd.ProcessState.ExitCode())
	require.True(t, r.serversGone())
	left, err := os.ReadDir(r.tmp)
	require.NoError(t, err)
	require.Empty(t, left, "no folder stays")

	doc := requireFields(t, r.stdout.String())
	result := doc["results"].([]any)[0]
	acquired, _ := at(result, "totals.acquired")
	require.Positive(t, acquired)
	reasons, _ := at(result, "valid.reasons")
	require.Contains(t, fmt.Sprint(reasons), "interrupted")
}

func TestCtrlCWhileAMasterIsStoppedLeavesNoServer(t *testing.T) {
	t.Parallel()
	r := start(t, "run", "--local", "3", "--fault", "stop:2", "--duration", "1m")
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGTERM))
	r.cmd.Wait()
	require.Equal(t, exitInterrupted, r.cmd.ProcessState.ExitCode())
	require.Len(t, r.servers, 3)
	require.True(t, r.serversGone())
}

func TestASecondCtrlCLeavesNoServer(t *testing.T) {
	t.Parallel()
	r := start(t, "run", "--local", "3", "--duration", "1m", "--warmup", "10ms")
	require.Len(t, r.servers, 3)
	require.NoError(t, r.cmd.Process.Signal(os.Interrupt))
	r.cmd.Process.Signal(os.Interrupt) // whenever it comes
	r.cmd.Wait()
	require.Eventually(t, r.serversGone, 5*time.Second, time.Millisecond)
}
