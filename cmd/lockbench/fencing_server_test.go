package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/result"
	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/testing/redistest"
)

func TestFencesOfAllProcessesAreAudited(t *testing.T) {
	t.Parallel()
	doc, _ := measured(t, "compare --impl muxlock,muxlock-single --rounds 1 --local 3 --fencing --procs 2 --workers 4 --keys 2 --hold 1ms --duration 1s --warmup 100ms")
	require.True(t, doc.Config.Fencing)
	set, single := doc.Results[0], doc.Results[1]
	require.Positive(t, set.Totals.Acquired)
	require.Equal(t, set.Totals.Acquired, set.Totals.Fenced)
	require.Zero(t, set.Safety.FenceViolations)
	require.Positive(t, single.Totals.Acquired)
	require.Zero(t, single.Totals.Fenced, "one of three masters is no set")
}

func TestGivenMastersAreSetUpForFencingBefore(t *testing.T) {
	t.Parallel()
	addrs := redistest.Addrs(redistest.Masters(t, 3))
	line := "run --fencing --workers 2 --duration 300ms --warmup 0s --masters " + strings.Join(addrs, ",")
	stdout, stderr, code := lockbench(t, words(line)...)
	require.Equal(t, exitRun, code, stderr)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "muxlock masters init")
	require.NoError(t, admin.SetUp(t.Context(), engine.Config{Masters: addrs, MasterTimeout: 2 * time.Second}, admin.SetUpOptions{MastersAreNew: true}))
	doc, _ := measured(t, line)
	require.Positive(t, doc.Results[0].Totals.Fenced)
	require.Equal(t, doc.Results[0].Totals.Acquired, doc.Results[0].Totals.Fenced)
}

// Each setting sets the masters up anew, even with another number of masters or another longest lease.
func TestASweepSetsMastersUpForEachSetting(t *testing.T) {
	t.Parallel()
	for _, param := range []string{"masters=3,1", "ttl=10s,100s"} {
		doc, _ := measured(t, "sweep --fencing --workers 2 --hold 1ms --duration 800ms --warmup 0s --fault kill:1@600ms-650ms --param "+param)
		for _, r := range doc.Results {
			require.Positive(t, r.Totals.Fenced)
		}
	}
}

func TestChaosFencesUnlessItIsToldOtherwiseOrCannot(t *testing.T) {
	for line, want := range map[string]bool{"": true, "--fencing=false": false, "--impl redislock": false} {
		p := planned(t, line)
		require.Equal(t, want, p.Fencing, line)
		require.NotEqual(t, want, strings.Contains(again(result.Document{Config: result.Config{Settings: p.Settings, Command: "chaos"}}), "--fencing=false"), "and can be pasted")
	}
}
