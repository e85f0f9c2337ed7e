package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/internal/testing/redistest"
)

// chaos runs lockbench chaos, which finds nothing, and returns its document and its result.
func chaos(t *testing.T, line string) (*result.Document, *bench.Result) {
	t.Helper()
	history := filepath.Join(t.TempDir(), "history.ndjson")
	redistest.NeedServer(t)
	doc, stderr := measured(t, "chaos -q --history "+history+" "+line)
	require.NotContains(t, stderr, "chaos: seed", "-q")
	require.NoFileExists(t, history)
	require.NotEmpty(t, doc.Results[0].Faults)
	return doc, doc.Results[0]
}

// planned returns the plan of a command line of chaos.
func planned(t *testing.T, line string) *plan.Plan {
	t.Helper()
	f := chaosFlags{&plan.Flags{}}
	fs := pflag.NewFlagSet("chaos", pflag.ContinueOnError)
	f.declare(fs)
	require.NoError(t, fs.Parse(words(line)))
	p, err := f.plan(fs)
	require.NoError(t, err)
	return p
}

// The negative control: a lock that its server forgets is held twice, and chaos finds it.
func TestChaosFindsTwoHoldersOfALockThatIsForgotten(t *testing.T) {
	t.Parallel()
	redistest.NeedServer(t)
	history := filepath.Join(t.TempDir(), "history.ndjson")
	stdout, stderr, code := lockbench(t, "chaos", "--impl", "redsync-goredis", "--local", "1", "--faults", "flush,restart", "--keys", "32", "--workers", "64",
		"--hold", "300ms", "--duration", "6s", "--seed", "1", "--history", history) // three flushes
	require.Equal(t, exitUnsafe, code, stderr)
	require.Contains(t, stdout, "SAFETY VIOLATION redsync-goredis: two held one lock")
	require.Contains(t, flat(stdout), "and the faults: "+history)
	require.Contains(t, stderr, "SAFETY VIOLATION: redsync-goredis")

	text, err := os.ReadFile(history)
	require.NoError(t, err)
	var kinds []string
	overlaps, before, latest := 0, 0.0, 0.0
	for line := range bytes.Lines(text) {
		var event map[string]any
		require.NoError(t, json.Unmarshal(line, &event))
		if kinds = append(kinds, event["kind"].(string)); event["kind"] == "fault" {
			require.Greater(t, event["to_ns"].(float64), 1e7)
			latest = event["from_ns"].(float64)
		}
		require.LessOrEqual(t, before, event["from_ns"], "in the order of their begin")
		before = event["from_ns"].(float64)
		if event["overlap"] == true {
			overlaps++
		}
	}
	require.Positive(t, overlaps)
	require.Greater(t, latest, 1e8, "the last fault")
	for _, kind := range []string{"acquired", "released", "fault"} {
		require.True(t, slices.Contains(kinds, kind), kind)
	}
}

func TestChaosFindsNothingInTheEngine(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "page.html")
	doc, r := chaos(t, "--duration 4s --html "+page) // .ci/prove plays more
	for _, want := range []string{"<h1>lockbench chaos", "--faults delay,stop,kill,restart,cut", "ttl 500ms  fencing"} {
		require.Contains(t, read(t, page), want)
	}
	require.Positive(t, r.Totals.Acquired)
	require.Equal(t, r.Totals.Acquired, r.Totals.Fenced)
	require.False(t, r.Safety.Violated())
	require.Equal(t, "chaos", doc.Config.Command)
	require.Len(t, doc.Config.FaultKinds, 13, "a page shows them again")
}

func TestChaosFindsNothingWhereHoldersOfTheEngineShare(t *testing.T) {
	t.Parallel()
	for op, allFenced := range map[string]bool{"read-write:80": false, "permit:3": true} { // readers have no fence
		_, r := chaos(t, "--local 3 --procs 3 --workers 4 --duration 3s --seed 1 --op "+op)
		require.Positive(t, r.Totals.Fenced, op)
		require.Equal(t, allFenced, r.Totals.Acquired == r.Totals.Fenced, op)
	}
}

// Pauses are longer than leases, too: then the holder's lease ends without it.
func TestChaosStopsAndKillsClients(t *testing.T) {
	t.Parallel()
	_, r := chaos(t, "--local 3 --faults pause,crash --procs 3 --workers 4 --duration 5s --seed 1")
	seen := map[string]bool{}
	for _, f := range r.Faults {
		seen[f.Kind] = true
	}
	require.Equal(t, map[string]bool{"pause": true, "crash": true}, seen)
	require.Equal(t, r.Kept.Stopped, r.Kept.Lost, "no master failed")
	require.Positive(t, r.Totals.Acquired)
	require.Len(t, r.Fairness.PerProc, 3)
}

// The masters vote for nobody new in the first five seconds. The old process ends all the same.
func TestACrashDoesNotWaitForVotes(t *testing.T) {
	t.Parallel()
	_, r := chaos(t, "--local 3 --procs 2 --fencing=false --faults crash --ttl 4s --duration 10s --seed 4")
	require.Less(t, r.Faults[0].ToS, r.Faults[0].FromS+4)
}

func TestStrangersLockTheSameNamesInOneRun(t *testing.T) {
	t.Parallel()
	doc, r := chaos(t, "--local 3 --impl muxlock,redsync-rueidis --ttl 2s --duration 5s --seed 1")
	require.Len(t, doc.Results, 1)
	for _, share := range r.Fairness.PerProc {
		require.Positive(t, share)
	}
	require.Positive(t, r.Totals.Fenced)
	require.Less(t, r.Totals.Fenced, r.Totals.Acquired, "Redsync's have no tokens")
}

func TestChaosDrawsWhatTheLocksAreToSurvive(t *testing.T) {
	for line, want := range map[string]string{
		"":                               "delay,stop,kill,restart,cut,blackhole,full,deny,flush,replica,rollback,pause,crash",
		"--fencing=false":                "delay,stop,kill,restart,cut,blackhole,full,deny,pause,crash",
		"--procs 1":                      "delay,stop,kill,restart,cut,full,deny,flush,replica,rollback",
		"--local 1":                      "delay,stop,kill,restart,cut,blackhole,full,deny,flush,rollback,pause,crash",
		"--impl muxlock,redsync-goredis": "delay,stop,cut,blackhole,full,deny,pause,crash",
		"--faults flush --fencing=false": "flush",
	} {
		p := planned(t, line)
		if runtime.GOOS != "linux" {
			want = strings.Replace(want, "blackhole,", "", 1)
		}
		require.Equal(t, strings.Split(want, ","), p.FaultKinds, line)
		require.Equal(t, []time.Duration{p.TTL, p.TTL}, []time.Duration{p.Wait, p.MaxTTL})
		require.Equal(t, bench.Uniform(), p.Dist)
	}
}

// Chaos always leaves a majority if there are several masters. Then a time without locks is a finding;
// otherwise it is no fault of the lock.
func TestATimeWithoutLocksIsExpectedOnlyWhereFaultsTakeTooManyMasters(t *testing.T) {
	for line, want := range map[string]bool{"": false, "--impl redislock": true, "--local 1": true} {
		require.Equal(t, want, planned(t, "--duration 20s --seed 1 "+line).Outages(), line)
	}
	for fault, want := range map[string]bool{"stop:1": true, "delay:1:5ms": false} {
		parsed, err := faults.Parse(fault, faults.Run{Masters: 5, Duration: time.Second})
		require.NoError(t, err)
		require.Equal(t, want, (&plan.Plan{Faults: []faults.Fault{parsed}}).Outages(), fault)
	}
}
