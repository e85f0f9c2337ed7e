package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/output"
)

// quick is a run of the generator alone, which is over soon.
const quick = "run --embedded 1 --impl noop --rate 2k --duration 600ms --warmup 10ms --workers 256"

func words(line string) []string { return strings.Fields(line) }

func TestObjectivesDecideTheExitCode(t *testing.T) {
	t.Parallel()
	for slo, want := range map[string]int{
		"acquire.response.p99<1m": exitOK,
		"throughput>1M":           exitMissed,
		"response.p99.99<1m":      exitNotValid, // 1200 samples are too few
	} {
		stdout, stderr, code := lockbench(t, append(words(quick), "--slo", "overlaps==0", "--slo", slo)...)
		require.Equal(t, want, code, "%s: %s", slo, stderr)
		require.Contains(t, stdout, "SLO  "+slo)
		require.Contains(t, stdout, "SLO  overlaps==0")
		if want != exitOK {
			require.Contains(t, stderr, slo)
		}
	}
}

func TestOnlyASafetyViolationIsToldBeforeALostResult(t *testing.T) {
	unsafe, missed, lost := verdict{exitUnsafe, "overlap"}, verdict{exitMissed, "slow"}, verdict{exitRun, "full"}
	for _, c := range []struct {
		judged, writing error
		want            int
	}{
		{nil, nil, exitOK}, {missed, nil, exitMissed}, {nil, lost, exitRun}, {missed, lost, exitRun},
		{unsafe, lost, exitUnsafe}, {unsafe, closedPipe, exitUnsafe}, {missed, closedPipe, exitPipe},
	} {
		code, _ := exitCode(worst(c.judged, c.writing))
		require.Equal(t, c.want, code, c)
	}
}

func TestWhatIsMissedSaysMoreThanWhatCannotBeJudged(t *testing.T) {
	r := &bench.Result{Valid: bench.Valid{OK: true}, SLO: []bench.SLO{{Text: "b", Reason: "too few"}, {Text: "a"}, {Text: "c", Pass: true}}}
	code, _ := exitCode(judge(t.Context(), []*bench.Result{r}, nil))
	require.Equal(t, exitMissed, code)
	r.Invalidate("rate not met")
	code, _ = exitCode(judge(t.Context(), []*bench.Result{r}, nil))
	require.Equal(t, exitNotValid, code, "figures that mean nothing miss nothing")
}

func TestAProfileEndsWithOneWord(t *testing.T) {
	t.Parallel()
	line := strings.Replace(quick, "run", "run --profile dev --dist own", 1)
	stdout, stderr, code := lockbench(t, words(line)...)
	require.Equal(t, exitOK, code, stderr)
	require.True(t, strings.HasSuffix(stdout, "\nPASS\n"), stdout)
	require.Contains(t, stdout, "keys own  hold exp:1ms", "the profile's load where no flag is given")
	require.Contains(t, stdout, "2,000/s")

	stdout, stderr, code = lockbench(t, append(words(line), "-o", "json", "--slo", "throughput>1M")...)
	require.Equal(t, exitMissed, code)
	require.True(t, strings.HasSuffix(stdout, "}\n"), "the document stays one")
	require.Contains(t, stderr, "\nFAIL\n")
}

func TestProfilesAreSound(t *testing.T) {
	for _, p := range profiles {
		line := []string{"--profile", p.name, "--local", "5"}
		cmd, f := runFlags(t, line...)
		plan, err := f.plan(cmd)
		require.NoError(t, err)
		require.Len(t, plan.objectives, len(p.slos))
		tail := plan.cfg.Rate * plan.cfg.Duration.Seconds() / 100
		require.GreaterOrEqual(t, tail, 50.0, "samples beyond p99")
		require.Contains(t, profilesHelp(), p.name)
	}
}

// runFlags is the flags of run as a command line sets them.
func runFlags(t *testing.T, args ...string) (*cobra.Command, *flags) {
	t.Helper()
	var f flags
	cmd := &cobra.Command{Use: "run"}
	f.register(cmd, "muxlock", 1)
	f.registerProfile(cmd)
	require.NoError(t, cmd.Flags().Parse(args))
	return cmd, &f
}

// keep runs and returns the name of the result file.
func keep(t *testing.T, args ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "result.json")
	_, stderr, code := lockbench(t, append(args, "-o", "json", "--out", name)...)
	require.Contains(t, []int{exitOK, exitNotValid}, code, stderr) // a busy machine may not meet a rate
	return name
}

func TestAnEarlierRunIsDoneAgain(t *testing.T) {
	t.Parallel()
	name := keep(t, "run", "--embedded", "3", "--impl", "setnx,muxlock", "--rounds", "2", "--rate", "300", "--arrivals", "uniform", "--dist", "zipf:0.9", "--keys", "7",
		"--hold", "exp:1ms", "--duration", "150ms", "--warmup", "10ms", "--ttl", "9s", "--wait", "1s", "--master-timeout", "2s", "--workers", "9",
		"--seed", "77", "--slo", "jain>0", "--slo", "overlaps==0")
	first, err := output.ReadFile(name)
	require.NoError(t, err)
	again, err := output.ReadFile(keep(t, "run", "--config", name))
	require.NoError(t, err)
	same := func(want, got output.Config) {
		want.Masters, got.Masters = nil, nil // new ones
		require.Equal(t, want, got)
	}
	same(first.Config, again.Config)
	require.Len(t, again.Config.Masters, 3)

	again, err = output.ReadFile(keep(t, "run", "--config", name, "--seed", "78", "--rounds", "1", "--embedded", "1", "--slo", "jain>0.1"))
	require.NoError(t, err)
	changed := first.Config
	changed.Seed, changed.Rounds, changed.SLO = 78, 1, []string{"jain>0.1"}
	same(changed, again.Config)
	require.Len(t, again.Config.Masters, 1)
}

// A flag that takes part in the load and is not kept would make --config lie.
func TestEveryFlagOfALoadIsKept(t *testing.T) {
	kept := map[string]bool{}
	c := output.Config{}
	c.Rate, c.Arrivals, c.Dist, c.DropAfter, c.Steady = 1, "poisson", bench.Uniform(), 1, 0.05
	for _, s := range settingsOf(c) {
		kept[s.flag] = true
	}
	for _, name := range append(targetFlags, "output", "out", "html", "quiet", "config", "profile", "new-masters") { // these are not of the load
		kept[name] = true
	}
	cmd, _ := runFlags(t)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		require.True(t, kept[f.Name], "--%s is not in settingsOf", f.Name)
	})
}

func TestFlagsBesideAConfigOverrideWhatGoesWithThem(t *testing.T) {
	var own, zipf bytes.Buffer
	require.NoError(t, output.JSON(&own, documentOf(bench.Dist{}, 0)))
	require.NoError(t, output.JSON(&zipf, documentOf(bench.Zipf(1), 7)))
	for _, c := range []struct {
		file  string
		args  []string
		dist  bench.Dist
		keys  int
		error string
	}{
		{own.String(), nil, bench.Dist{}, 1000, ""},
		{own.String(), []string{"--keys", "5"}, bench.Uniform(), 5, ""},
		{zipf.String(), nil, bench.Zipf(1), 7, ""},
		{zipf.String(), []string{"--keys", "5"}, bench.Zipf(1), 5, ""},
		{zipf.String(), []string{"--dist", "uniform"}, bench.Uniform(), 7, ""},
		{zipf.String(), []string{"--dist", "own"}, bench.Dist{}, 1000, ""},
		{strings.Replace(zipf.String(), `"setnx"`, `"unheard"`, 1), nil, bench.Dist{}, 0, "--impl"},
		{strings.Replace(zipf.String(), `"embedded"`, `"elsewhere"`, 1), nil, bench.Dist{}, 0, "elsewhere"},
		{strings.Replace(zipf.String(), `"embedded"`, `"given"`, 1), nil, bench.Dist{}, 0, ""},
		{strings.Replace(zipf.String(), `"target": "embedded"`, `"target": "given", "masters_redacted": true`, 1), nil, bench.Dist{}, 0, "name its masters again with --masters (m:1)"},
	} {
		name := filepath.Join(t.TempDir(), "r.json")
		require.NoError(t, os.WriteFile(name, []byte(c.file), 0o644))
		cmd, f := runFlags(t, append(c.args, "--config", name)...)
		p, err := f.plan(cmd)
		if c.error != "" {
			require.ErrorContains(t, err, c.error)
			code, _ := exitCode(err)
			require.Equal(t, exitUsage, code)
			continue
		}
		require.NoError(t, err)
		if c.keys > 0 {
			require.Equal(t, c.dist, p.cfg.Dist)
			require.Equal(t, c.keys, p.cfg.Keys)
		}
	}
}

func documentOf(dist bench.Dist, keys int) output.Document {
	cfg := bench.RunConfig{
		Config: bench.Config{Workers: 2, Keys: keys, Dist: dist, Duration: time.Second, TTL: time.Second, Seed: 1},
		Impls:  []string{"setnx"}, Rounds: 1, Masters: []string{"m:1"},
	}
	return output.Document{Document: bench.NewDocument(cfg, nil), Config: output.Config{RunConfig: cfg, Target: "embedded", Faults: []string{}, SLO: []string{}}}
}

func TestPasswordsAreNotKeptAndThatIsSaid(t *testing.T) {
	// Nobody listens there; the plan and the document are all that is looked at.
	cmd, f := runFlags(t, "--masters", "redis://user:secret@127.0.0.1:1", "--seed", "5")
	p, err := f.plan(cmd)
	require.NoError(t, err)
	doc := p.document(&masters.Set{Kind: masters.Given, Addrs: p.given}, nil)
	require.True(t, doc.Config.MastersRedacted)
	text, err := json.Marshal(doc)
	require.NoError(t, err)
	require.NotContains(t, string(text), "secret")
}

func TestDamagedAndForeignFilesAreUsageErrors(t *testing.T) {
	t.Parallel()
	whole := read(t, keep(t, words(quick)...))
	dir := t.TempDir()
	for want, text := range map[string]string{
		"is empty":                            "",
		"is not JSON":                         "lockbench",
		"is cut off":                          whole[:len(whole)-9],
		"is JSON, but no result of lockbench": `{"results": []}`,
		"newer lockbench: schema 3, this one knows 1": strings.Replace(whole, `"schema_version": 1`, `"schema_version": 3`, 1),
		"no such file": "-",
	} {
		name := filepath.Join(dir, "r.json")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
		if text == "-" {
			name += ".not"
		}
		for _, args := range [][]string{{"run", "--config", name}, {"compare", name, name}} {
			stdout, stderr, code := lockbench(t, args...)
			require.Equal(t, exitUsage, code, stderr)
			require.Contains(t, stderr, want)
			require.Contains(t, stderr, "r.json")
			require.Empty(t, stdout)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(b)
}

// scaled writes a result file of five rounds in which all is as many times as fast.
func scaled(t *testing.T, dir, name string, times float64) string {
	t.Helper()
	doc := documentOf(bench.Dist{}, 0)
	for i, noise := range []float64{1, 1.01, 0.99, 1.005, 0.995} {
		ns := int64(1e6 / times / noise)
		s := &bench.Summary{Unit: "ns", Count: 5000, P: map[string]int64{"50": ns, "90": ns, "99": ns, "99.9": ns, "99.99": ns}}
		doc.Results = append(doc.Results, &bench.Result{
			Impl: "setnx", Round: i + 1, ThroughputPerS: 1000 * times * noise,
			Latency: bench.Latencies{Service: s, Acquire: s, Release: s, Cycle: s}, Valid: bench.Valid{OK: true, Reasons: []string{}},
		})
	}
	path := filepath.Join(dir, name)
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, output.JSON(f, doc))
	return path
}

func TestCompareOfFilesTellsARegressionByItsExitCode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, slow, fast := scaled(t, dir, "old.json", 1), scaled(t, dir, "slow.json", 0.8), scaled(t, dir, "fast.json", 1.5)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{old, old}, exitOK, "~"},
		{[]string{old, fast}, exitOK, "better"},
		{[]string{old, slow}, exitRegression, "worse, REGRESSION"},
		{[]string{old, fast, slow}, exitRegression, "slow.json"},
		{[]string{old, slow, "--regression", "30%"}, exitOK, "worse"},
		{[]string{old, slow, "-o", "json"}, exitRegression, `"regression": true`},
	} {
		stdout, stderr, code := lockbench(t, append([]string{"compare"}, c.args...)...)
		require.Equal(t, c.code, code, stderr)
		require.Contains(t, stdout, c.want)
	}
	for want, args := range map[string][]string{
		"it takes two":             {old},
		"--workers has no meaning": {old, slow, "--workers", "3"},
		"-o must be":               {old, slow, "-o", "csv"},
		"--regression":             {old, slow, "--regression", "-1%"},
		"needs two result files":   {"--regression", "5%"},
	} {
		_, stderr, code := lockbench(t, append([]string{"compare"}, args...)...)
		require.Equal(t, exitUsage, code, stderr)
		require.Contains(t, stderr, want)
	}
}

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
	require.Equal(t, []string{"second", "second", "result", "end"}, types)
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
	doc, err := output.ReadFile(filepath.Join(dir, "json"))
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

func TestShellsCompleteTheValuesOfFlags(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"run --impl mux":           "muxlock-single\n",
		"run --impl setnx,no":      "setnx,noop\n",
		"run --dist z":             "zipf:0.99\n",
		"run --op ex":              "extend\n",
		"run -o nd":                "ndjson\n",
		"run --profile l":          "lan\n",
		"compare --arrivals p":     "poisson\n",
		"compare --impl redsync-g": "redsync-goredis\n",
	} {
		stdout, stderr, code := lockbench(t, append([]string{"__complete"}, strings.Fields(args)...)...)
		require.Zero(t, code, stderr)
		require.Contains(t, stdout, want, args)
	}
}

func TestUsageErrorsSpeakOfFlagsOnly(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"run --workers 0":   "lockbench: --workers must be 1 to",
		"run --dist pareto": "lockbench: --dist must be",
		"run --hold exp:1":  `lockbench: --hold "exp:1": `,
		"run --slo speed>1": "lockbench: --slo there is no figure",
	} {
		_, stderr, code := lockbench(t, strings.Fields(line)...)
		require.Equal(t, exitUsage, code)
		require.True(t, strings.HasPrefix(stderr, want), stderr)
		require.NotContains(t, stderr, "Config.")
		require.NotContains(t, stderr, "bench: invalid")
	}
	require.Equal(t, "x: --workers must", plain(fmt.Errorf("x: %w: --workers (Config.Workers) must", bench.ErrConfig)))
}
