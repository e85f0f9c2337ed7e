package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/internal/testing/redistest"
)

func TestAKeptResultBecomesAPage(t *testing.T) {
	dir := t.TempDir()
	beside, made := filepath.Join(dir, "beside.html"), filepath.Join(dir, "made.html")
	kept := keep(t, steady, "run --embedded 3 --workers 2 --html "+beside)
	report := func(args ...string) string {
		stdout, stderr, code := within(t, nil, append([]string{"report", kept}, args...)...)
		require.Zero(t, code, stderr)
		return stdout
	}
	require.Empty(t, report("--out", made))
	require.Equal(t, read(t, beside), read(t, made))
	require.Contains(t, read(t, made), "lockbench run --embedded 3 --workers 2 --seed ")

	want := report("-o", "text")
	require.Contains(t, want, "3 masters (embedded")
	require.Equal(t, want, report(), "into a pipe")
	redirected, err := os.Create(filepath.Join(dir, "redirected.html"))
	require.NoError(t, err)
	defer redirected.Close()
	stderr, code := into(t, redirected, nil, "report", kept)
	require.Zero(t, code, stderr)
	require.Contains(t, read(t, redirected.Name()), "<!DOCTYPE html>")
	require.JSONEq(t, read(t, kept), report("-o", "json"))
}

func TestAReportDoesNotTakeThePlaceOfItsResult(t *testing.T) {
	t.Parallel()
	const result = "internal/result/testdata/result.json"
	text, dir := read(t, result), t.TempDir()
	kept, link := filepath.Join(dir, "kept.json"), filepath.Join(dir, "link.json")
	require.NoError(t, os.WriteFile(kept, []byte(text), 0o600))
	require.NoError(t, os.Symlink("kept.json", link))
	for _, args := range [][]string{{kept, "--out", kept}, {link, "--out", kept}, {kept, "--out", link, "-o", "json"}, {"-", "--out", kept}} {
		stdin, err := os.Open(kept)
		require.NoError(t, err)
		defer stdin.Close()
		cmd := exec.Command(redistest.Program(t), append([]string{"report"}, args...)...)
		cmd.Stdin = stdin
		stderr, err := cmd.CombinedOutput()
		require.Error(t, err, args)
		require.Equal(t, exitUsage, cmd.ProcessState.ExitCode(), args)
		require.Contains(t, string(stderr), "--out")
		require.Equal(t, text, read(t, kept), args)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 2)
}

// again's flags are those of the plan; what a sweep varied, or chaos drew, is in a flag of its own.
func TestTheLineOfEachCommandMakesItAgain(t *testing.T) {
	load := bench.Config{Workers: 64, Procs: 1, Keys: 8, Dist: bench.Uniform(), Duration: 3 * time.Second, Warmup: 500 * time.Millisecond, TTL: 10 * time.Second, Seed: 7, Rounds: 1}
	settings := result.Settings{Config: load, Engine: result.Engine{Groups: 1}, Impls: []string{"muxlock"}, ProbeEvery: 50 * time.Millisecond}
	swept := func(param, slo string, highest []result.HighestRate) result.Document {
		p, err := plan.ParseParam(param)
		require.NoError(t, err)
		s := settings
		s.Params, s.Rounds = []string{param}, 3
		if slo != "" {
			s.SLO, s.Rate = []string{slo}, 200
		}
		return result.Document{
			Config: result.Config{Settings: s, Command: "sweep", Target: "local", Masters: []string{"a:1", "b:1", "c:1"}},
			Sweep:  &result.Sweep{Params: []result.SweepParam{p}, Highest: highest},
		}
	}
	drawn := planned(t, "--faults stop,kill --seed 9").Settings
	for want, doc := range map[string]result.Document{
		"lockbench sweep --local 3 --rounds 3 --seed 7 --param keys=1,8":                                        swept("keys=1,8", "", nil),
		"lockbench sweep --keys 8 --dist uniform --rounds 3 --seed 7 --param masters=1,3":                       swept("masters=1,3", "", nil),
		"lockbench sweep --local 3 --keys 8 --dist uniform --seed 7 --slo 'throughput>10' --param rate=200,400": swept("rate=200,400", "throughput>10", []result.HighestRate{{}}),
		"lockbench chaos --local 3 --faults stop,kill --op mix:acquire-release=8,try=1,extend=1 --seed 9": { // the seed draws the faults again
			Config: result.Config{Settings: drawn, Command: "chaos", Target: "local", Masters: []string{"a:1", "b:1", "c:1"}},
		},
	} {
		require.Equal(t, want, again(doc))
	}
}

func TestAnAdviceOnAnEarlierRunSaysBoth(t *testing.T) {
	doc := result.Document{Config: result.Config{Settings: result.Settings{Config: bench.Config{Workers: 9}}, Command: "run", Target: "embedded", Masters: []string{"m:1"}}}
	run := again(doc)
	doc.Advice = &result.Advice{Ask: sizing.Ask{RTO: time.Second}}
	require.Equal(t, run+" -o json --out result.json\nlockbench advise result.json --rto 1s", again(doc))
	doc.Config.Command, doc.Config.Duration = "advise", 20*time.Second
	require.Equal(t, "lockbench advise --embedded 1 --rto 1s", strings.Replace(again(doc), "--local 5 ", "", 1))
	doc.Advice.From = "process.json"
	require.Equal(t, "lockbench advise --from process.json --rto 1s", again(doc))
}
