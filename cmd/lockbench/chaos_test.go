package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/plan"
)

// The negative control: a lock that its server forgets is held twice, and chaos finds it.
func TestChaosFindsTwoHoldersOfALockThatIsForgotten(t *testing.T) {
	t.Parallel()
	needServer(t)
	history := filepath.Join(t.TempDir(), "history.ndjson")
	stdout, stderr, code := lockbench(t, "chaos", "--impl", "redsync-goredis", "--local", "1", "--faults", "flush,restart", "--keys", "32", "--workers", "64",
		"--hold", "300ms", "--duration", "6s", "--seed", "1", "--history", history) // three flushes
	require.Equal(t, exitUnsafe, code, stderr)
	require.Contains(t, stdout, "OVERLAPS")
	require.Contains(t, stdout, "first: ")
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
	needServer(t)
	history := filepath.Join(t.TempDir(), "history.ndjson")
	page := filepath.Join(t.TempDir(), "page.html")
	stdout, stderr, code := lockbench(t, "chaos", "--duration", "4s", "--history", history, "-o", "json", "-q", "--html", page)
	require.Zero(t, code, stderr)
	require.Contains(t, read(t, page), "<h1>lockbench chaos")
	require.Contains(t, read(t, page), "--faults delay,stop,kill,restart")
	require.Contains(t, read(t, page), "ttl 500ms  fencing")
	require.Empty(t, stderr, "-q")
	doc := requireFields(t, stdout)
	require.Positive(t, number(t, doc, "totals.acquired"))
	require.Zero(t, number(t, doc, "safety.overlaps"))
	require.Equal(t, number(t, doc, "totals.acquired"), number(t, doc, "totals.fenced"))
	require.Zero(t, number(t, doc, "safety.fence_violations"))
	faults, _ := at(doc["results"].([]any)[0], "faults")
	require.NotEmpty(t, faults)
	command, _ := at(doc, "config.command")
	require.Equal(t, "chaos", command)
	kinds, _ := at(doc, "config.fault_kinds")
	require.Len(t, kinds, 4, "a page shows them again")
	require.NoFileExists(t, history)
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
	for _, c := range []struct {
		args []string
		want bool
	}{
		{[]string{"--duration", "20s", "--seed", "1"}, false},
		{[]string{"--duration", "20s", "--seed", "1", "--impl", "redislock"}, true},
		{[]string{"--duration", "20s", "--seed", "1", "--local", "1"}, true},
	} {
		var f chaosFlags
		fs := pflag.NewFlagSet("chaos", pflag.ContinueOnError)
		f.declare(fs)
		require.NoError(t, fs.Parse(c.args))
		p, err := f.plan(fs)
		require.NoError(t, err)
		require.Equal(t, c.want, p.Outages(), c.args)
	}
	for fault, want := range map[string]bool{"stop:1": true, "delay:1:5ms": false} {
		parsed, err := faults.Parse(fault, 5, time.Second)
		require.NoError(t, err)
		require.Equal(t, want, (&plan.Plan{Faults: []faults.Fault{parsed}}).Outages(), fault)
	}
}
