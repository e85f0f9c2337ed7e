package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/advice"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/sizing"
)

func TestAdviceOfARunIsTheSameFromItsFile(t *testing.T) {
	t.Parallel()
	needServer(t)
	file := filepath.Join(t.TempDir(), "result.json")
	_, stderr, code := lockbench(t, "run", "--local", "3", "--workers", "8", "--hold", "1ms", "--duration", "1s", "--warmup", "0s", "-o", "json", "--out", file)
	requireMeasured(t, code, stderr)

	stdout, stderr, code := lockbench(t, "advise", file, "--hold", "20ms", "--eps", "1e-4")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "muxlock on 3 masters")
	require.Contains(t, stdout, "asked for: 20ms")
	require.Contains(t, stdout, "engine.Config{")
	require.True(t, strings.HasSuffix(flat(stdout), advice.Caveat), stdout)
	require.NotContains(t, stdout, "try it:", "to a pipe")

	stdout, stderr, code = lockbench(t, "advise", file, "--hold", "1m", "--rto", "20ms")
	require.Equal(t, exitMissed, code, stderr)
	require.True(t, strings.HasPrefix(stdout, "BEYOND --rto: not even a renewed lease") || strings.Contains(stdout[:strings.Index(stdout, "on 3 masters")], "BEYOND --rto"), stdout)
	require.Contains(t, stderr, "missed: not even a renewed lease")

	stdout, stderr, code = lockbench(t, "advise", file, "--hold", "20ms", "-o", "json")
	require.Zero(t, code, stderr)
	var doc result.Document
	require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
	require.Len(t, doc.Results, 1)
	require.NotNil(t, doc.Advice)
	require.Equal(t, 3, doc.Advice.Masters)
	require.Positive(t, doc.Advice.Config.TTL)
	require.Equal(t, doc.Advice.Config.Snippet(), doc.Advice.Snippet)
	require.Equal(t, "20ms", doc.Advice.Ask.HoldText)
}

func TestAdviceOfLiveMasters(t *testing.T) {
	t.Parallel()
	needServer(t)
	stdout, stderr, code := lockbench(t, "advise", "--local", "3", "--duration", "1s", "--hold", "exp:10ms", "-o", "json")
	requireMeasured(t, code, stderr)
	var doc result.Document
	require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
	require.Equal(t, "advise", doc.Config.Command)
	require.Greater(t, doc.Results[0].Totals.Acquired, int64(0))
	require.NotEmpty(t, doc.Advice.Settings)
	require.Positive(t, doc.Config.Rate, "an open loop")
	require.Positive(t, doc.Results[0].Latency.ValidityUsed.Count)
	require.NotEmpty(t, doc.Advice.Losses)
	s := doc.Advice.Spread
	for _, of := range [][2]int64{s.TTLMin, s.TTL, s.MasterTimeout} {
		require.Positive(t, of[0])
		require.LessOrEqual(t, of[0], of[1])
	}
}

func TestAPlanIsPartOfAdvice(t *testing.T) {
	t.Parallel()
	needServer(t)
	page := filepath.Join(t.TempDir(), "advice.html")
	stdout, stderr, code := lockbench(t, "advise", "--local", "3", "--duration", "1s", "--hold", "10ms", "--rate", "50",
		"--zones", "a,b,c", "--master-availability", "99.5%", "--zone-availability", "99.999%", "-o", "json", "--html", page)
	requireMeasured(t, code, stderr)
	var doc result.Document
	require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
	plan := doc.Advice.Plan
	require.Equal(t, []int{1, 2, 3}, plan.Sets[1].Masters)
	require.Equal(t, []string{"a", "b", "c"}, plan.Sets[1].Zones)
	require.InEpsilon(t, sizing.Unavailable([]int{1, 1, 1}, 2, 0.995, 0.99999), plan.Sets[1].Unavailable, 1e-9)
	require.Equal(t, 50.0, plan.Hot.Rate)
	require.NotNil(t, plan.Cost)
	require.GreaterOrEqual(t, plan.Cost.Commands, 1.0)
	require.Positive(t, plan.Cost.ServerNs)
	require.Contains(t, doc.Advice.Args, "--zone-availability=99.999%")

	html, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(html), "The hottest name")
}

// The file may be gone, or be another one: the document has what was in it.
func TestHoldsFromAFileAreKeptInTheDocument(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	holds := filepath.Join(dir, "holds.txt")
	require.NoError(t, os.WriteFile(holds, []byte("# of last week\n1ms\n3ms\n1ms\n"), 0o600))
	load := keep(t, "run", "--embedded", "3", "--workers", "4", "--hold", "file:"+holds, "--think", "file:"+holds, "--duration", "300ms", "--warmup", "10ms")
	procs := keep(t, "run", "--embedded", "1", "--impl", "noop", "--procs", "2", "--workers", "4", "--hold", "file:"+holds, "--duration", "300ms", "--warmup", "10ms")
	advice := filepath.Join(dir, "advice.json")
	_, stderr, code := lockbench(t, "advise", load, "--hold", "file:"+holds, "-o", "json", "--out", advice)
	require.Zero(t, code, stderr)
	require.NoError(t, os.Remove(holds))

	for _, again := range []string{load, procs, keep(t, "run", "--config", load, "--seed", "9"), keep(t, "run", "--check", advice, "--embedded", "3", "--duration", "300ms")} {
		doc, err := result.ReadFile(again)
		require.NoError(t, err)
		require.Equal(t, []time.Duration{time.Millisecond, time.Millisecond, 3 * time.Millisecond}, doc.Config.Hold.Samples(), again)
		require.Contains(t, doc.Config.Args, "--hold=file:"+holds)
		require.GreaterOrEqual(t, doc.Results[0].Latency.Hold.Min, int64(990*time.Microsecond))
	}
	doc, err := result.ReadFile(advice)
	require.NoError(t, err)
	require.Len(t, doc.Advice.Ask.Samples.Samples(), 3)
	require.Equal(t, "file:"+holds, doc.Advice.Ask.HoldText)
	stdout, stderr, code := lockbench(t, "report", advice)
	require.Zero(t, code, stderr)
	require.Contains(t, flat(stdout), "asked for: file:")
}

func TestAdviseRefusesRunsOfSeveralSettings(t *testing.T) {
	t.Parallel()
	sweep := keep(t, "sweep", "--embedded", "3", "--param", "workers=2,4", "--duration", "300ms", "--warmup", "0s")
	stdout, stderr, code := lockbench(t, "advise", sweep)
	require.Equal(t, exitUsage, code, stderr)
	require.Contains(t, stderr, sweep+" is of a sweep, and advice needs a run at one setting")
	require.Empty(t, stdout)
}

func TestAdviseRefusesBadInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	foreign, damaged := write("foreign", `{"hello":1}`), write("damaged", `{"schema_version":2,"res`)
	newer := write("newer", `{"schema_version":99,"tool":{"name":"lockbench"},"config":{},"results":[]}`)
	empty := write("empty", `{"schema_version":2,"tool":{"name":"lockbench"},"config":{},"results":[]}`)
	lines := write("holds", "12ms # a\n8\n")
	for line, want := range map[string]string{
		"advise --hold file:" + lines:                    "line 2: ",
		"advise --hold file:" + write("zeros", "0s\n0s"): "--hold must be above 0",
		"advise --zones a,b --local 3":                   "--zones",
		"advise --zones a,,b --local 3":                  "--zones",
		"advise --master-availability 100%":              "--master-availability",
		"advise --zone-availability 0":                   "--zone-availability",
		"advise --eps 0":                                 "--eps",
		"advise --eps 1":                                 "--eps",
		"advise --eps NaN":                               "--eps",
		"advise --rto 0s":                                "--rto",
		"advise --rto 48h":                               "--rto",
		"advise --hold 0s":                               "--hold",
		"advise --pause-fork -1s":                        "--pause-",
		"advise --hold 2h":                               "--hold",
		"advise --hold soon":                             "--hold",
		"advise --rate 0":                                "--rate",
		"advise --waiters 0":                             "--waiters",
		"advise --duration 1ms":                          "--duration",
		"advise --local 0":                               "--local",
		"advise --local 3 --masters a:1":                 "--local",
		"advise -o bench":                                "-o",
		"advise --out " + dir + "/no/file":               "--out",
		"advise " + dir + "/missing":                     "missing",
		"advise " + foreign:                              foreign,
		"advise " + damaged:                              damaged,
		"advise " + newer:                                newer,
		"advise " + empty:                                "nothing to size from",
		"advise " + empty + " --local 3":                 "--local",
		"advise " + empty + " " + empty:                  "arg",
		"advise " + empty + " --masters a:1":             "--masters",
	} {
		stdout, stderr, code := lockbench(t, strings.Fields(line)...)
		require.Equal(t, exitUsage, code, "%s: %s", line, stderr)
		require.Contains(t, stderr, want, line)
		require.Empty(t, stdout, line)
	}
}
