package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/testing/redistest"
)

func TestFencesOfAllProcessesAreAudited(t *testing.T) {
	t.Parallel()
	needServer(t)
	stdout, stderr, code := lockbench(t, "compare", "--impl", "muxlock,muxlock-single", "--rounds", "1", "--local", "3", "--fencing",
		"--procs", "2", "--workers", "4", "--keys", "2", "--hold", "1ms", "--duration", "1s", "--warmup", "100ms", "-o", "json")
	requireMeasured(t, code, stderr)
	doc := requireFields(t, stdout)
	fencing, _ := at(doc, "config.fencing")
	require.Equal(t, true, fencing)
	require.Positive(t, number(t, doc, "totals.acquired"))
	require.Equal(t, number(t, doc, "totals.acquired"), number(t, doc, "totals.fenced"))
	require.Zero(t, number(t, doc, "safety.fence_violations"))
	single := doc["results"].([]any)[1]
	acquired, _ := at(single, "totals.acquired")
	require.Positive(t, acquired)
	fenced, _ := at(single, "totals.fenced")
	require.Zero(t, fenced, "one of three masters is no set")
}

func TestGivenMastersAreSetUpForFencingBefore(t *testing.T) {
	t.Parallel()
	addrs := redistest.Addrs(redistest.Masters(t, 3))
	args := words("run --fencing --workers 2 --duration 300ms --warmup 0s -o json --masters " + strings.Join(addrs, ","))
	stdout, stderr, code := lockbench(t, args...)
	require.Equal(t, exitRun, code, stderr)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "muxlock masters init")
	require.NoError(t, admin.SetUp(t.Context(), engine.Config{Masters: addrs, MasterTimeout: 2 * time.Second}, admin.SetUpOptions{MastersAreNew: true}))
	stdout, stderr, code = lockbench(t, args...)
	requireMeasured(t, code, stderr)
	doc := requireFields(t, stdout)
	require.Positive(t, number(t, doc, "totals.fenced"))
	require.Equal(t, number(t, doc, "totals.acquired"), number(t, doc, "totals.fenced"))
}

func TestFencesAreShownWhereThereAreAny(t *testing.T) {
	t.Parallel()
	for _, fencing := range []bool{true, false} {
		stdout, stderr, code := lockbench(t, append(words("run --embedded 3 --keys 2 --workers 4 --duration 1s --warmup 0s"), map[bool]string{true: "--fencing", false: "-q"}[fencing])...)
		requireMeasured(t, code, stderr)
		require.Equal(t, fencing, strings.Contains(flat(stdout), "ttl 10s fencing seed"), stdout)
		require.Equal(t, fencing, strings.Contains(flat(stdout), "fence violations 0 fences that took a second round trip "), stdout)
	}
}

// Each setting sets the masters up anew, even with another number of masters or another longest lease.
func TestASweepSetsMastersUpForEachSetting(t *testing.T) {
	t.Parallel()
	needServer(t)
	for _, param := range []string{"masters=3,1", "ttl=10s,100s"} {
		stdout, stderr, code := lockbench(t, "sweep", "--fencing", "--param", param, "--workers", "2", "--hold", "1ms", "--duration", "800ms", "--warmup", "0s",
			"--fault", "kill:1@600ms-650ms", "-o", "json")
		require.Contains(t, []int{exitOK, exitNotValid}, code, stderr)
		for _, r := range requireFields(t, stdout)["results"].([]any) {
			fenced, _ := at(r, "totals.fenced")
			require.Positive(t, fenced)
		}
	}
}

func TestAFenceThatDidNotGrowIsASafetyViolation(t *testing.T) {
	r := &bench.Result{Impl: "x", Valid: bench.Valid{OK: true}}
	require.NoError(t, judge(t.Context(), &plan.Plan{}, &result.Document{Results: []*bench.Result{r}}, nil))
	r.Safety.FenceViolations = 2
	err := judge(t.Context(), &plan.Plan{}, &result.Document{Results: []*bench.Result{r}}, nil)
	code, _ := exitCode(err)
	require.Equal(t, exitUnsafe, code)
	require.EqualError(t, err, "SAFETY VIOLATION: x gave 2 locks a fence that is not larger than the one before")
}

func TestChaosFencesUnlessItIsToldOtherwiseOrCannot(t *testing.T) {
	for line, want := range map[string]bool{"": true, "--fencing=false": false, "--impl redislock": false} {
		p := planned(t, line)
		require.Equal(t, want, p.Fencing, line)
		require.NotEqual(t, want, strings.Contains(again(result.Document{Config: result.Config{Settings: p.Settings, Command: "chaos"}}), "--fencing=false"), "and can be pasted")
	}
}
