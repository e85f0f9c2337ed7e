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

	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/plan"
)

// chaos runs lockbench chaos, which finds nothing, and returns its document and the faults in it.
func chaos(t *testing.T, line string) (doc map[string]any, faults []map[string]any) {
	t.Helper()
	needServer(t)
	history := filepath.Join(t.TempDir(), "history.ndjson")
	stdout, stderr, code := lockbench(t, append(words("chaos -o json -q --history "+history), words(line)...)...)
	requireMeasured(t, code, stderr)
	require.NotContains(t, stderr, "chaos: seed", "-q")
	require.NoFileExists(t, history)
	doc = requireFields(t, stdout)
	list, _ := at(doc["results"].([]any)[0], "faults")
	for _, f := range list.([]any) {
		faults = append(faults, f.(map[string]any))
	}
	require.NotEmpty(t, faults)
	return doc, faults
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
	needServer(t)
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
	overlaps, before := 0, 0.0
	for line := range bytes.Lines(text) {
		var event map[string]any
		require.NoError(t, json.Unmarshal(line, &event))
		kinds = append(kinds, event["kind"].(string))
		require.LessOrEqual(t, before, event["from_ns"], "in the order of their begin")
		before = event["from_ns"].(float64)
		if event["overlap"] == true {
			overlaps++
		}
	}
	require.Positive(t, overlaps)
	for _, kind := range []string{"acquired", "released", "fault"} {
		require.True(t, slices.Contains(kinds, kind), kind)
	}
}

func TestChaosFindsNothingInTheEngine(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "page.html")
	doc, _ := chaos(t, "--duration 4s --html "+page) // .ci/prove plays more
	for _, want := range []string{"<h1>lockbench chaos", "--faults delay,stop,kill,restart,cut", "ttl 500ms  fencing"} {
		require.Contains(t, read(t, page), want)
	}
	require.Positive(t, number(t, doc, "totals.acquired"))
	require.Zero(t, number(t, doc, "safety.overlaps"))
	require.Equal(t, number(t, doc, "totals.acquired"), number(t, doc, "totals.fenced"))
	require.Zero(t, number(t, doc, "safety.fence_violations"))
	command, _ := at(doc, "config.command")
	require.Equal(t, "chaos", command)
	kinds, _ := at(doc, "config.fault_kinds")
	require.Len(t, kinds, 13, "a page shows them again")
}

// A majority of masters forgets the lock, one after another, and another process waits for it all the time.
func TestChaosKeepsALockWhileEveryMasterFails(t *testing.T) {
	t.Parallel()
	doc, faults := chaos(t, "--local 3 --workers 2 --procs 2 --faults restart --fencing=false --ttl 2s --duration 12s --seed 3")
	failed := map[any]bool{}
	for _, f := range faults {
		failed[f["master"]] = true
	}
	require.Greater(t, len(failed), 1, "a majority")
	require.Positive(t, number(t, doc, "kept.held"))
	require.Equal(t, number(t, doc, "kept.lost_stopped"), number(t, doc, "kept.lost"), "the machine may be busy")
}

func TestChaosThatSawAFewHoldsFoundOutNothing(t *testing.T) {
	t.Parallel()
	needServer(t)
	_, stderr, code := lockbench(t, words("chaos --local 1 --procs 1 --workers 1 --keys 1 --hold 100ms --fencing=false --faults delay --duration 2s -q --history "+
		filepath.Join(t.TempDir(), "history.ndjson"))...)
	require.Equal(t, exitNotValid, code, stderr)
	require.Contains(t, stderr, "are no base for an audit")
}

func TestChaosFindsNothingWhereHoldersOfTheEngineShare(t *testing.T) {
	t.Parallel()
	for op, allFenced := range map[string]bool{"read-write:80": false, "permit:3": true} { // readers have no fence
		doc, _ := chaos(t, "--local 3 --procs 3 --workers 4 --duration 3s --seed 1 --op "+op)
		require.Positive(t, number(t, doc, "totals.fenced"), op)
		require.Equal(t, allFenced, number(t, doc, "totals.acquired") == number(t, doc, "totals.fenced"), op)
	}
}

// Pauses are longer than leases, too: then the holder's lease ends without it.
func TestChaosStopsAndKillsClients(t *testing.T) {
	t.Parallel()
	doc, faults := chaos(t, "--local 3 --faults pause,crash --procs 3 --workers 4 --duration 5s --seed 1")
	seen := map[any]bool{}
	for _, f := range faults {
		seen[f["kind"]] = true
	}
	require.Equal(t, map[any]bool{"pause": true, "crash": true}, seen)
	require.Positive(t, number(t, doc, "kept.held"))
	require.Equal(t, number(t, doc, "kept.lost_stopped"), number(t, doc, "kept.lost"), "no master failed")
	require.Positive(t, number(t, doc, "totals.acquired"))
	shares, _ := at(doc["results"].([]any)[0], "fairness.per_proc")
	require.Len(t, shares, 3)
}

// The masters vote for nobody new in the first five seconds. The old process ends all the same.
func TestACrashDoesNotWaitForVotes(t *testing.T) {
	t.Parallel()
	_, faults := chaos(t, "--local 3 --procs 2 --fencing=false --faults crash --ttl 4s --duration 10s --seed 4")
	require.Less(t, faults[0]["to_s"].(float64), faults[0]["from_s"].(float64)+4)
}

// Without a lock, the processes of a run overlap; a crash of one does not hide it.
func TestOverlapsOutliveTheProcessThatSawThem(t *testing.T) {
	t.Parallel()
	needServer(t)
	stdout, stderr, code := lockbench(t, "run", "--local", "1", "--impl", "noop", "--keys", "1", "--procs", "2", "--workers", "1", "--hold", "1ms",
		"--duration", "5s", "--warmup", "0s", "--fault", "crash:1@3s", "--fault", "crash:2@3s", "-o", "json")
	require.Equal(t, exitUnsafe, code, stderr)
	doc := requireFields(t, stdout)
	series, _ := at(doc["results"].([]any)[0], "series")
	before, since := 0.0, 0.0
	for _, second := range series.([]any) {
		switch at, acquired := second.(map[string]any)["t_s"].(float64), second.(map[string]any)["acquired"].(float64); {
		case at < 3:
			before += acquired
		case at > 3.5:
			since += acquired
		}
	}
	require.Positive(t, before)
	require.Positive(t, since)
	require.Greater(t, number(t, doc, "safety.overlaps"), since, "those since the crash")
	require.GreaterOrEqual(t, number(t, doc, "totals.acquired"), before+since, "the killed ones' are counted")
}

func TestStrangersLockTheSameNamesInOneRun(t *testing.T) {
	t.Parallel()
	doc, _ := chaos(t, "--local 3 --impl muxlock,redsync-rueidis --ttl 2s --duration 5s --seed 1")
	require.Len(t, doc["results"], 1)
	shares, _ := at(doc["results"].([]any)[0], "fairness.per_proc")
	for _, share := range shares.([]any) {
		require.Positive(t, share)
	}
	fenced := number(t, doc, "totals.fenced")
	require.Positive(t, fenced)
	require.Less(t, fenced, number(t, doc, "totals.acquired"), "Redsync's have no tokens")
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
	}
}

func TestCtrlCEndsChaosInOrder(t *testing.T) {
	t.Parallel()
	r := start(t, "chaos", "--local", "3", "--duration", "1m")
	require.GreaterOrEqual(t, len(r.servers), 4, "two workers, and servers of which one may be dead just now")
	r.end(t, os.Interrupt)
	require.Contains(t, r.stdout.String(), "overlaps 0")
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
