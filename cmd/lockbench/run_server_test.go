package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/result"
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
	args := append(words("run --new-masters --workers 4 --hold 1ms --duration 1s --warmup 0s -o json --masters"), strings.Join(addrs, ","))
	stdout, stderr, code := lockbench(t, args...)
	requireMeasured(t, code, stderr)
	r := requireFields(t, stdout)["results"].([]any)[0].(map[string]any)
	require.Positive(t, r["throughput_per_s"])
	require.Empty(t, r["error_samples"])
}

func TestRunPrintsOneJSONDocument(t *testing.T) {
	t.Parallel()
	needServer(t)
	stdout, stderr, code := lockbench(t, "run", "--local", "3", "--duration", "1s", "--warmup", "50ms", "-o", "json", "--seed", "42")
	requireMeasured(t, code, stderr)
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
	require.Contains(t, stderr, "cycles/s", "progress")
}

func TestAnOpenLoopHasResponseTimes(t *testing.T) {
	t.Parallel()
	needServer(t)
	stdout, stderr, code := lockbench(t, "run", "--local", "1", "--impl", "redislock", "--rate", "0.5k", "--duration", "300ms", "--warmup", "50ms", "-o", "json")
	requireMeasured(t, code, stderr)
	r := requireFields(t, stdout)["results"].([]any)[0]
	for _, clock := range []string{"response", "wait", "service", "acquire", "lag"} {
		hdr, ok := at(r, "latency."+clock+".hdr")
		require.True(t, ok, clock)
		require.Contains(t, hdr, "HISTF")
	}
}

func TestCompareRelatesARawLoadToo(t *testing.T) {
	t.Parallel()
	needServer(t)
	stdout, stderr, code := lockbench(t, words("compare --local 3 --impl muxlock,redislock,raw --rounds 1 --workers 8 --think 1ms --duration 500ms --warmup 20ms -o json")...)
	requireMeasured(t, code, stderr)
	doc := requireFields(t, stdout)
	require.Len(t, doc["results"], 3)
	require.Len(t, doc["relative"], 3)
}

func TestCompareShowsATable(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := lockbench(t, "compare", "--embedded", "3", "--impl", "muxlock,redislock", "--rounds", "1", "--workers", "8", "--think", "1ms", "--duration", "1s", "--warmup", "20ms")
	requireMeasured(t, code, stderr)
	require.Contains(t, stdout, "muxlock is, by rounds")
	require.Contains(t, stdout, "what they do not promise")
	require.Regexp(t, ` redislock: one server.*\(redislock v[\d.]+, go-redis v9\.\d+\.\d+, pool of \d+ to each master, the client repeats a failed command up to 3 times\)$`, flat(stdout))
	require.Contains(t, stdout, "SPEED MEANS NOTHING")
}

func TestARivalThatCannotRunOnTheMastersIsRefusedBeforeAnythingIsMeasured(t *testing.T) {
	t.Parallel()
	given := strings.Join(append(redistest.Addrs(redistest.Masters(t, 2)), "127.0.0.1:1"), ",")
	stdout, stderr, code := lockbench(t, "compare", "--masters", given, "--new-masters", "--impl", "muxlock,redsync-goredis", "--duration", "100ms")
	require.Equal(t, exitUsage, code)
	require.Empty(t, stdout)
	require.Regexp(t, `^lockbench: --impl redsync-goredis cannot run on these masters: .*127\.0\.0\.1:1.*\nSee `, stderr)
	_, stderr, code = lockbench(t, "run", "--masters", given, "--new-masters", "--duration", "100ms", "--warmup", "0s")
	requireMeasured(t, code, stderr)
}

func TestBenchOutputLeavesOutEmbeddedMasters(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "result.txt")
	stdout, stderr, code := lockbench(t, "run", "--embedded", "3", "--duration", "1s", "--warmup", "20ms", "-o", "bench", "--out", out)
	requireMeasured(t, code, stderr)
	require.Empty(t, stdout)
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^# left out: impl=muxlock/masters=3/workers=64, round 1: not valid: .*`+string(result.ReasonEmbedded), string(text))
}

func TestWithoutAServerProgramItTriesEmbeddedMasters(t *testing.T) {
	t.Parallel()
	env := append(os.Environ(), "PATH="+t.TempDir())
	stdout, stderr, code := lockbenchEnv(t, env, "run", "--duration", "100ms", "--warmup", "20ms")
	requireMeasured(t, code, stderr)
	require.Contains(t, stderr, "apt-get install redis-server")
	require.Contains(t, stdout, "5 masters (embedded")

	_, stderr, code = lockbenchEnv(t, env, "run", "--local", "3")
	require.Equal(t, exitRun, code, "asked for, so not replaced")
	require.Contains(t, stderr, "apt-get install redis-server")
}

func TestARateThatIsNotMetIsNotValid(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := lockbench(t, "run", "--embedded", "1", "--impl", "redislock", "--workers", "1", "--rate", "1M", "--duration", "200ms", "--warmup", "20ms")
	require.Equal(t, exitNotValid, code, stderr)
	require.Contains(t, stdout, "NOT VALID redislock: rate not met")
	require.Contains(t, stderr, "rate not met")
}

func TestAFewOperationsAreShownButNotValid(t *testing.T) {
	t.Parallel()
	needServer(t)
	stdout, stderr, code := lockbench(t, "compare", "--local", "1", "--impl", "noop,redislock", "--rounds", "2", "--workers", "1", "--hold", "50ms",
		"--duration", "1s", "--warmup", "0s")
	require.Equal(t, exitNotValid, code, stderr)
	require.Regexp(t, `NOT VALID redislock: too few operations: \d\d? are no base for a p99, it needs \d+ s more at this pace \(in 2 rounds\)`, flat(stdout))
	require.Contains(t, stdout, "reference", "the figures are there all the same")
	require.Contains(t, stderr, "too few operations")
}

func TestAStoppedMasterDoesNotStopTheRun(t *testing.T) {
	t.Parallel()
	needServer(t)
	stdout, stderr, code := lockbench(t, "run", "--local", "3", "--fault", "stop:3", "--fault", "delay:1:1ms", "--warmup", "10ms", "--duration", "300ms", "-o", "json")
	requireMeasured(t, code, stderr)
	doc := requireFields(t, stdout)
	warmup, _ := at(doc, "config.warmup_ns")
	require.EqualValues(t, 2e9, warmup, "the fault begins in the warm-up")
	faults, _ := at(doc, "config.faults")
	require.Equal(t, []any{"stop:3", "delay:1:1ms"}, faults)
}

func TestFaultsAreBandsInEveryResult(t *testing.T) {
	t.Parallel()
	needServer(t)
	stdout, stderr, code := lockbench(t, "compare", "--impl", "muxlock,redislock", "--rounds", "1", "--local", "3",
		"--fault", "kill:2@600ms-900ms", "--fault", "delay:3:lognormal(2ms,1)@100ms-300ms", "--fault", "restart:1@1200ms",
		"--workers", "4", "--think", "1ms", "--warmup", "50ms", "--duration", "2500ms", "-o", "json")
	requireMeasured(t, code, stderr)
	planned := map[string][2]float64{"delay": {0.1, 0.3}, "kill": {0.6, 0.9}, "restart": {1.2, 1.2}}
	for _, r := range requireFields(t, stdout)["results"].([]any) {
		var seen []string
		for _, b := range r.(map[string]any)["faults"].([]any) {
			b := b.(map[string]any)
			seen = append(seen, fmt.Sprint(b["kind"], b["master"]))
			require.GreaterOrEqual(t, b["to_s"], b["from_s"])
			for i, name := range []string{"from_s", "to_s"} { // a busy machine is late, never early
				at := planned[b["kind"].(string)][i]
				require.GreaterOrEqual(t, b[name], at)
				require.Less(t, b[name], at+5)
			}
		}
		require.Equal(t, []string{"delay3", "kill2", "restart1"}, seen)
	}
}
