package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/redistest"
)

func TestMastersThatDoNotVoteYetAreRefusedBeforeTheLoad(t *testing.T) {
	t.Parallel()
	masters := strings.Join(redistest.Addrs(redistest.Masters(t, 3)), ",")
	for _, line := range []string{"run --procs 1", "run --procs 2", "advise --hold 1ms"} {
		stdout, stderr, code := lockbench(t, append(words(line), "--masters", masters)...)
		require.Equal(t, exitRun, code, stderr)
		require.Empty(t, stdout)
		require.Contains(t, stderr, "0 of 3 masters vote")
		require.Contains(t, stderr, "--new-masters")
	}
}

// The user of the documented ACL may lock the names of lockbench, and do nothing else.
func TestALeastPrivilegedUserRunsALoad(t *testing.T) {
	t.Parallel()
	var addrs []string
	for _, m := range redistest.Masters(t, 3) {
		redistest.Command(t, m, append([]string{"ACL", "SETUSER", "locks", "on", ">secret", "~lockbench:*", "~__muxlock__:*", "-@all"},
			words("+info +script|load +evalsha +set +get +del +pttl +pexpire")...)...)
		addrs = append(addrs, "redis://locks:secret@"+m.Addr())
	}
	doc, _ := measured(t, "run --new-masters --workers 4 --hold 1ms --duration 1s --warmup 0s --masters "+strings.Join(addrs, ","))
	require.Positive(t, doc.Results[0].ThroughputPerS)
	require.Empty(t, doc.Results[0].ErrorSamples)
}

// A whole run, on servers of the given programs.
func TestRunPrintsOneJSONDocument(t *testing.T) {
	t.Parallel()
	redistest.NeedServer(t)
	program, err := redisserver.Binary()
	require.NoError(t, err)
	stdout, stderr, code := lockbench(t, "run", "--local", "3", "--server", program, "--duration", "1s", "--warmup", "50ms", "-o", "json", "--seed", "42")
	require.Contains(t, []int{exitOK, exitNotValid}, code, stderr)
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
	require.Equal(t, []any{program}, config["servers"], "to repeat it")
	require.Contains(t, stderr, "cycles/s", "progress")
}

func TestCompareShowsATableWithARawLoadToo(t *testing.T) {
	stdout, stderr, code := within(t, loads(steady).open, words("compare --embedded 3 --impl muxlock,redislock,raw --rounds 1 --workers 8")...)
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "raw: ")
	require.Contains(t, stdout, "muxlock is, by rounds")
	require.Contains(t, stdout, "what they do not promise")
	require.Regexp(t, ` redislock: one server.*\(redislock v[\d.]+, go-redis v9\.\d+\.\d+, pool of \d+ to each master, the client repeats a failed command up to 3 times\)`, flat(stdout))
	require.Regexp(t, `(?m)^ *raw +1,000 `, stdout)
	require.Contains(t, stdout, "SPEED MEANS NOTHING")
}

func TestARivalThatCannotRunOnTheMastersIsRefusedBeforeAnythingIsMeasured(t *testing.T) {
	t.Parallel()
	given := strings.Join(append(redistest.Addrs(redistest.Masters(t, 2)), "127.0.0.1:1"), ",")
	stdout, stderr, code := lockbench(t, "compare", "--masters", given, "--new-masters", "--impl", "muxlock,redsync-goredis", "--duration", "100ms")
	require.Equal(t, exitUsage, code)
	require.Empty(t, stdout)
	require.Regexp(t, `^lockbench: --impl redsync-goredis cannot run on these masters: .*127\.0\.0\.1:1.*\nSee `, stderr)
	measured(t, "run --new-masters --duration 100ms --warmup 0s --masters "+given)
}

func TestWithoutAServerProgramItTriesEmbeddedMasters(t *testing.T) {
	t.Parallel()
	env := append(os.Environ(), "PATH="+t.TempDir())
	stdout, stderr, _ := lockbenchEnv(t, env, "run", "--duration", "100ms", "--warmup", "20ms")
	require.Contains(t, stderr, "apt-get install redis-server")
	require.Contains(t, stdout, "5 masters (embedded")

	_, stderr, code := lockbenchEnv(t, env, "run", "--local", "3")
	require.Equal(t, exitRun, code, "asked for, so not replaced")
	require.Contains(t, stderr, "apt-get install redis-server")
}

func TestAFewOperationsAreShownButNotValid(t *testing.T) {
	few := with(func(r *bench.Result) { r.Invalidate(bench.ReasonFew, "40 are no base for a p99") })
	stdout, stderr, code := within(t, few.open, words("compare --impl noop,redislock --rounds 2 --workers 1")...)
	require.Equal(t, exitNotValid, code, stderr)
	require.Contains(t, flat(stdout), "NOT VALID redislock: too few operations: 40 are no base for a p99 (in 2 rounds)")
	require.Contains(t, stdout, "reference", "the figures are there all the same")
	require.Contains(t, stderr, "not valid: noop round 1: too few operations")
}

func TestFaultsAreBandsInEveryResult(t *testing.T) {
	t.Parallel()
	doc, _ := measured(t, "compare --impl muxlock,redislock --rounds 1 --local 3 --fault kill:2@600ms-900ms --fault delay:3:lognormal(2ms,1)@100ms-300ms --fault restart:1@1200ms "+
		"--workers 4 --think 1ms --warmup 50ms --duration 2500ms")
	require.Equal(t, []string{"kill:2@600ms-900ms", "delay:3:lognormal(2ms,1)@100ms-300ms", "restart:1@1200ms"}, doc.Config.Faults)
	planned := map[string][2]float64{"delay": {0.1, 0.3}, "kill": {0.6, 0.9}, "restart": {1.2, 1.2}}
	for _, r := range doc.Results {
		var seen []string
		for _, b := range r.Faults {
			seen = append(seen, fmt.Sprint(b.Kind, b.Master))
			require.GreaterOrEqual(t, b.ToS, b.FromS)
			for i, at := range []float64{b.FromS, b.ToS} { // a busy machine is late, never early
				require.GreaterOrEqual(t, at, planned[b.Kind][i])
				require.Less(t, at, planned[b.Kind][i]+5)
			}
		}
		require.Equal(t, []string{"delay3", "kill2", "restart1"}, seen)
	}
}
