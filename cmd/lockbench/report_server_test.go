package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/sizing"
)

func TestAKeptResultBecomesAPage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept, beside, made := filepath.Join(dir, "kept.json"), filepath.Join(dir, "beside.html"), filepath.Join(dir, "made.html")
	_, stderr, code := lockbench(t, "run", "--embedded", "3", "--workers", "2", "--duration", "300ms", "--warmup", "0s", "-o", "json", "--out", kept, "--html", beside)
	requireMeasured(t, code, stderr)

	stdout, stderr, code := lockbench(t, "report", kept, "--out", made)
	require.Zero(t, code, stderr)
	require.Empty(t, stdout)
	first, err := os.ReadFile(beside)
	require.NoError(t, err)
	second, err := os.ReadFile(made)
	require.NoError(t, err)
	require.Equal(t, string(first), string(second))
	require.Contains(t, string(first), "lockbench run --embedded 3 --workers 2 --duration 300ms --warmup 0s --seed ")

	want, _, code := lockbench(t, "report", kept, "-o", "text")
	piped, _, _ := lockbench(t, "report", kept)
	require.Equal(t, want, piped, "into a pipe")
	redirected, err := os.Create(filepath.Join(dir, "redirected.html"))
	require.NoError(t, err)
	defer redirected.Close()
	cmd := exec.Command(binary, "report", kept)
	cmd.Stdout = redirected
	require.NoError(t, cmd.Run())
	require.Contains(t, read(t, redirected.Name()), "<!DOCTYPE html>")
	require.Zero(t, code)
	require.Contains(t, want, "3 masters (embedded")

	json, _, code := lockbench(t, "report", kept, "-o", "json")
	require.Zero(t, code)
	require.JSONEq(t, read(t, kept), json)
}

func TestReportTakesOneFileAndAFormat(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out.html")
	for want, args := range map[string][]string{"arg": nil, "-o must be": {"any", "-o", "pdf"}, "no such file": {"any"}} {
		_, stderr, code := lockbench(t, append([]string{"report", "--out", out}, args...)...)
		require.Equal(t, exitUsage, code, stderr)
		require.Contains(t, stderr, want)
		require.NoFileExists(t, out)
	}
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
		cmd := exec.Command(binary, append([]string{"report"}, args...)...)
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

func TestAPageThatCannotBeWrittenStopsTheRunBeforeItBegins(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--html", filepath.Join(t.TempDir(), "no", "such", "place.html")},
		{"--html", "same", "--out", "same"},
	} {
		stdout, stderr, code := lockbench(t, append([]string{"run", "--embedded", "1"}, args...)...)
		require.Equal(t, 2, code, stderr)
		require.Empty(t, stdout)
		require.Contains(t, stderr, "--html")
		require.NotContains(t, stderr, "EMBEDDED", "nothing was started")
	}
}

func TestThePagesOfOtherCommandsSayThemAgain(t *testing.T) {
	t.Parallel()
	load := []string{"--embedded", "3", "--workers", "2", "--duration", "200ms", "--warmup", "0s", "--seed", "7"}
	for name, c := range map[string]struct{ args, want []string }{
		"sweep": {append([]string{"sweep", "--param", "keys=1,8"}, load...),
			[]string{"lockbench sweep --embedded 3 --workers 2", "--param keys=1,8", "--seed 7"}},
		"highest rate": {append([]string{"sweep", "--param", "rate=200,400", "--slo", "throughput>10"}, load...),
			[]string{"lockbench sweep --embedded 3", "--param rate=200,400", "--slo 'throughput>10'"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			html, kept := filepath.Join(dir, "page.html"), filepath.Join(dir, "kept.json")
			_, stderr, code := lockbench(t, append(c.args, "--html", html, "-o", "json", "--out", kept)...)
			require.NotEqual(t, exitUsage, code, stderr)
			doc, err := result.ReadFile(kept)
			require.NoError(t, err)
			line := again(*doc)
			for _, want := range c.want {
				require.Contains(t, line, want)
			}
			require.NotContains(t, line, map[string]string{"sweep": "--keys ", "highest rate": "--rounds "}[name], "the sweep sets it")
			require.NotContains(t, line, "--rate ")
			page, err := os.ReadFile(html)
			require.NoError(t, err)
			require.Contains(t, string(page), "<h1>lockbench "+c.args[0])
			require.NotContains(t, string(page), `class="code">lockbench run`)
		})
	}
}

func TestTheLineOfChaosHasTheSeedInPlaceOfItsFaults(t *testing.T) {
	f := chaosFlags{&plan.Flags{}}
	fs := pflag.NewFlagSet("chaos", pflag.ContinueOnError)
	f.declare(fs)
	require.NoError(t, fs.Parse([]string{"--faults", "stop,kill", "--seed", "9"}))
	p, err := f.plan(fs)
	require.NoError(t, err)
	doc := result.Document{Config: result.Config{Settings: p.Settings, Command: "chaos", Target: "local", Masters: []string{"a:1", "b:1", "c:1"}}}
	require.Equal(t, "lockbench chaos --local 3 --faults stop,kill --op mix:acquire-release=8,try=1,extend=1 --seed 9", again(doc), "the seed draws the faults again")
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
