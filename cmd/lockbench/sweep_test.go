package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
)

func values(p result.SweepParam) (texts []string, numbers []float64) {
	for _, v := range p.Values {
		texts = append(texts, v.Text)
		if v.Number != nil {
			numbers = append(numbers, *v.Number)
		}
	}
	return texts, numbers
}

func TestParamTakesListsAndRanges(t *testing.T) {
	for _, c := range []struct {
		param   string
		texts   string
		numbers []float64
	}{
		{"workers=1,8,64", "1 8 64", []float64{1, 8, 64}},
		{"workers=1..512x8", "1 8 64 512", []float64{1, 8, 64, 512}},
		{"workers=1..10x1.5,100", "1 2 3 5 8 100", []float64{1, 2, 3, 5, 8, 100}},
		{"workers=3..100x10", "3 30", []float64{3, 30}},
		{"rate=500,2k,1M", "500 2k 1M", []float64{500, 2000, 1e6}},
		{"rate=1k..4kx2", "1000 2000 4000", []float64{1000, 2000, 4000}},
		{"ttl=1ms..1sx10", "1ms 10ms 100ms 1s", []float64{1e6, 1e7, 1e8, 1e9}},
		{"hold=0,1ms,exp:1ms", "0 1ms exp:1ms", []float64{0, 1e6}},
		{"dist=own,zipf:0.9", "own zipf:0.9", nil},
	} {
		p, err := parseParam(c.param)
		require.NoError(t, err, c.param)
		texts, numbers := values(p)
		require.Equal(t, strings.Fields(c.texts), texts, c.param)
		require.Equal(t, c.numbers, numbers, c.param)
	}
}

func TestGridIsEveryCombination(t *testing.T) {
	a, err := parseParam("workers=1,2")
	require.NoError(t, err)
	b, err := parseParam("keys=7,8,9")
	require.NoError(t, err)
	require.Equal(t, [][]string{{"1", "7"}, {"1", "8"}, {"1", "9"}, {"2", "7"}, {"2", "8"}, {"2", "9"}}, grid([]result.SweepParam{a, b}))
	require.Equal(t, [][]string{nil}, grid(nil))
}

func TestASweepRefusesWhatItCannotDoBeforeItStarts(t *testing.T) {
	t.Parallel()
	requireRefused(t, map[string]string{
		"sweep":                                                                      "--param",
		"sweep --param":                                                              "--param",
		"sweep --param workers":                                                      "--param",
		"sweep --param workers=":                                                     "--param",
		"sweep --param seed=1,2":                                                     "--param",
		"sweep --param workers=1,,2":                                                 "--workers",
		"sweep --param workers=1,1":                                                  "twice",
		"sweep --param workers=0,1":                                                  "--workers",
		"sweep --param workers=many":                                                 "--workers",
		"sweep --param workers=1..":                                                  "FROM..TOxFACTOR",
		"sweep --param workers=1..8":                                                 "FROM..TOxFACTOR",
		"sweep --param workers=1..8x1":                                               "FROM..TOxFACTOR",
		"sweep --param workers=0..8x2":                                               "FROM..TOxFACTOR",
		"sweep --param workers=8..1x2":                                               "FROM..TOxFACTOR",
		"sweep --param dist=own..zipf:1x":                                            "FROM..TOxFACTOR",
		"sweep --param workers=1..1Mx1.0001":                                         "at most 200",
		"sweep --param workers=1 --workers 3":                                        "exclude each other",
		"sweep --param workers=1 --param workers=2":                                  "twice",
		"sweep --param workers=1 --param keys=1 --param ttl=1s":                      "at most",
		"sweep --param ttl=1s,10ms --hold 20ms":                                      "--param ttl=10ms: --hold",
		"sweep --param masters=1,3 --masters a:1":                                    "--masters",
		"sweep --param masters=1,3 --local 3":                                        "exclude each other",
		"sweep --param masters=1,300":                                                "--local",
		"sweep --param masters=3,1 --fault stop:2":                                   "--param masters=1: --fault",
		"sweep --param rate=1k,2k --impl raw":                                        "--rate",
		"sweep --param workers=1 --rounds 0":                                         "--rounds",
		"sweep --find-max":                                                           "--slo",
		"sweep --find-max --slo fast":                                                "--slo",
		"sweep --find-max --slo response.p99<5ms --rounds 2":                         "--rounds",
		"sweep --find-max --slo response.p99<5ms --param rate=1,2":                   "--param rate",
		"sweep --find-max --slo response.p99<5ms --op hold":                          "--rate",
		"sweep --find-max --slo handover.p50<5ms":                                    "--slo",
		"sweep --find-max --slo response.p99<5ms --impl raw":                         "--rate",
		"sweep --find-max --slo response.p99<5ms --param workers=0 --embedded 1":     "--workers",
		"sweep --find-max --slo response.p99<5ms --embedded 1 --rate 100 --think 1s": "--think",
	})
}

func TestASweepInterleavesSettingsAndSumsThemUp(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := lockbench(t, "sweep", "--embedded", "1", "--param", "masters=1,3", "--param", "keys=1,10", "--impl", "noop,redislock", "--rounds", "2",
		"--workers", "2", "--duration", "50ms", "--warmup", "0s", "--seed", "5", "-o", "json")
	require.Contains(t, []int{exitOK, exitUnsafe}, code, stderr) // noop excludes nobody
	require.Contains(t, stderr, "16 runs")
	require.Contains(t, stderr, "keys=10 masters=3")
	doc := requireFields(t, stdout)
	var order []string
	for _, r := range doc["results"].([]any) {
		r := r.(map[string]any)
		s := r["setting"].(map[string]any)
		order = append(order, fmt.Sprint(s["masters"], " ", s["keys"], " ", r["impl"], r["round"], " seed ", r["seed"]))
		if r["impl"] == "noop" {
			require.Equal(t, s["masters"], fmt.Sprint(r["masters"]))
		}
		require.Equal(t, s["keys"], fmt.Sprint(r["keys"]))
	}
	require.Equal(t, []string{
		"1 1 noop1 seed 5", "1 1 redislock1 seed 5", "1 10 noop1 seed 5", "1 10 redislock1 seed 5",
		"3 1 noop1 seed 5", "3 1 redislock1 seed 5", "3 10 noop1 seed 5", "3 10 redislock1 seed 5",
		"3 10 redislock2 seed 6", "3 10 noop2 seed 6", "3 1 redislock2 seed 6", "3 1 noop2 seed 6",
		"1 10 redislock2 seed 6", "1 10 noop2 seed 6", "1 1 redislock2 seed 6", "1 1 noop2 seed 6",
	}, order)
	require.Empty(t, doc["relative"])
	require.Len(t, doc["config"].(map[string]any)["masters"], 3)
	points, _ := at(doc, "sweep.points")
	require.Len(t, points, 8)
	require.Equal(t, []any{0.0, 15.0}, points.([]any)[0].(map[string]any)["results"])
	require.Equal(t, []any{7.0, 8.0}, points.([]any)[7].(map[string]any)["results"])
}

func TestASweepOfRatesShowsWhereTheyAreNotMetAndIsNoFailure(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := lockbench(t, "sweep", "--embedded", "1", "--impl", "redislock", "--workers", "1", "--param", "rate=200,1M", "--duration", "200ms", "--warmup", "20ms")
	require.Zero(t, code, stderr)
	require.Regexp(t, `rate +impl +offered/s +cycles/s +response p50`, stdout)
	require.Contains(t, stdout, "NOT VALID redislock  rate=1M: rate not met")
}

func TestCtrlCKeepsTheSettingsThatASweepHasDone(t *testing.T) {
	t.Parallel()
	r := start(t, "sweep", "--local", "1", "--impl", "redislock", "--param", "workers=1,2", "--duration", "1m", "--warmup", "0s", "-o", "json")
	require.NoError(t, r.cmd.Process.Signal(os.Interrupt))
	r.cmd.Wait()
	require.Equal(t, exitInterrupted, r.cmd.ProcessState.ExitCode())
	require.True(t, r.serversGone())
	doc := requireFields(t, r.stdout.String())
	require.Len(t, doc["results"], 1)
	require.Equal(t, map[string]any{"workers": "1"}, doc["results"].([]any)[0].(map[string]any)["setting"])
}

func TestFindMaxEndsWithARateOrSaysThatThereIsNone(t *testing.T) {
	t.Parallel()
	args := []string{"sweep", "--find-max", "--embedded", "1", "--impl", "noop", "--workers", "8", "--arrivals", "uniform", "--duration", "100ms", "--warmup", "0s"}
	stdout, stderr, code := lockbench(t, append(args, "--slo", "response.p50<20ms", "--slo", "error_rate<1%", "-o", "json")...)
	require.Contains(t, []int{exitOK, exitMissed, exitNotValid}, code, stderr) // a machine may be too busy for any rate, or for the generator
	doc := requireFields(t, stdout)
	capacity := doc["capacity"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"response.p50<20ms", "error_rate<1%", "failure_rate<=1%", "goodput>=95%"}, capacity["slo"])
	require.NotEmpty(t, capacity["steps"])
	require.LessOrEqual(t, len(capacity["steps"].([]any)), result.CapacityRuns)
	require.Len(t, doc["results"], len(capacity["steps"].([]any)))
	require.EqualValues(t, len(capacity["steps"].([]any)), capacity["runs"])
	require.LessOrEqual(t, capacity["low_per_s"], capacity["rate_per_s"])
	for i, step := range capacity["steps"].([]any) {
		step := step.(map[string]any)
		require.EqualValues(t, i, step["result"])
		setting := doc["results"].([]any)[i].(map[string]any)["setting"].(map[string]any)
		require.Equal(t, strconv.FormatFloat(step["rate_per_s"].(float64), 'f', -1, 64), setting["rate"])
	}

	stdout, stderr, code = lockbench(t, append(args, "--slo", "response.max<1ns")...)
	require.Contains(t, []int{exitMissed, exitNotValid}, code, stderr)
	require.Contains(t, flat(stdout), "noop: highest rate that meets response.max<1ns and failure_rate<=1% and goodput>=95%: none")
}

func TestARunThatIsNotValidMissesWhateverItsFigures(t *testing.T) {
	o, err := result.ParseObjective("response.p99<5ms")
	require.NoError(t, err)
	judged := func(r *bench.Result) result.CapacityStep { return stepOf(r, []result.Objective{o}) }
	result := func(p99, count int64) *bench.Result {
		return &bench.Result{Latency: bench.Latencies{Response: &bench.Summary{Count: count, P: map[string]int64{"99": p99}}}, Valid: bench.Valid{OK: true}}
	}
	step := judged(result(4e6, 2000))
	require.True(t, step.Met)
	require.Equal(t, "response.p99<5ms: 4.00ms", step.Why)
	step = judged(result(6e6, 2000))
	require.False(t, step.Met)
	require.False(t, step.Unjudged)
	step = judged(result(4e6, 20))
	require.False(t, step.Met)
	require.True(t, step.Unjudged, "too few samples")
	r := result(4e6, 20)
	r.Invalidate(bench.ReasonRate)
	step = judged(r)
	require.False(t, step.Met)
	require.False(t, step.Unjudged)
	require.Contains(t, step.Why, "rate not met")
}

func TestWhatWasMetIsMetAlthoughTheGeneratorLagged(t *testing.T) {
	o, err := result.ParseObjective("response.p99<5ms")
	require.NoError(t, err)
	lagged := func(p99 int64) *bench.Result {
		r := &bench.Result{Latency: bench.Latencies{Response: &bench.Summary{Count: 2000, P: map[string]int64{"99": p99}}}}
		r.Invalidate(bench.ReasonGenerator + ": by far")
		return r
	}
	step := stepOf(lagged(4e6), []result.Objective{o})
	require.True(t, step.Met)
	require.Equal(t, "response.p99<5ms: 4.00ms", step.Why)
	step = stepOf(lagged(6e6), []result.Objective{o})
	require.False(t, step.Met)
	require.True(t, step.Disturbed)
	require.Equal(t, "response.p99<5ms: 6.00ms; not valid: the generator could not keep up: by far", step.Why)

	slow := lagged(6e6)
	slow.Latency.Service = &bench.Summary{Count: 2000, P: map[string]int64{"99": 55e5}}
	step = stepOf(slow, []result.Objective{o})
	require.False(t, step.Met || step.Unjudged || step.Disturbed, "the lock alone took too long")
	slow.Latency.Service.P["99"] = 4e6
	require.True(t, stepOf(slow, []result.Objective{o}).Disturbed)

	both := lagged(4e6)
	both.Invalidate(bench.ReasonFew)
	require.True(t, stepOf(both, []result.Objective{o}).Unjudged)
	both.Invalidate(bench.ReasonRate)
	step = stepOf(both, []result.Objective{o})
	require.False(t, step.Met || step.Unjudged, "the rate was not kept")
	require.True(t, step.Disturbed, "nor offered as it should have been")
	both.DurationS, both.Totals = 1, bench.Totals{Offered: 2000, Started: 1500, Acquired: 1500}
	both.Latency.Response.P["99"], both.Latency.Service = 60e6, &bench.Summary{Count: 1500, P: map[string]int64{"99": 4e6}}
	require.True(t, stepOf(both, []result.Objective{o}).Disturbed, "all that was asked for was acquired in time")
	both.Totals.Acquired = 1000
	require.False(t, stepOf(both, []result.Objective{o}).Disturbed)
}

func TestARunInWhichMostOperationsTimedOutMissesWhateverItsLatency(t *testing.T) {
	o, err := result.ParseObjective("response.p99<200ms")
	require.NoError(t, err)
	run := func(totals bench.Totals) result.CapacityStep {
		response := &bench.Summary{Count: 2700, Mean: 30e6, P: map[string]int64{"99": 55e6}}
		return stepOf(&bench.Result{DurationS: 3, Totals: totals, Latency: bench.Latencies{Response: response}, Valid: bench.Valid{OK: true}}, []result.Objective{o})
	}
	step := run(bench.Totals{Offered: 28_530, Started: 28_530, Acquired: 2715, Timeouts: 25_600}) // 20 names held 20 ms, wait 50 ms
	require.False(t, step.Met || step.Unjudged || step.Disturbed)
	require.Equal(t, "response.p99<200ms: 55.0ms; goodput: 905/s acquired of 9,510/s", step.Why)

	require.True(t, run(bench.Totals{Offered: 3000, Started: 3000, Acquired: 2970, Errors: 30}).Met, "30 may fail")
	require.False(t, run(bench.Totals{Offered: 3000, Started: 3000, Acquired: 2969, Errors: 31}).Met, "31 are more than 1 %")
	require.True(t, run(bench.Totals{Offered: 3000, Started: 3000, Acquired: 1000, Refused: 1990}).Met, "a refusal is an answer")
	require.True(t, run(bench.Totals{Offered: 20, Started: 20, Acquired: 17, Errors: 3}).Met, "a few of few")
}

func TestWhatTheMachineMayHaveMissedIsNoMissOfTheLock(t *testing.T) {
	o, err := result.ParseObjective("response.p99<5ms")
	require.NoError(t, err)
	run := func(p99, stall int64, reasons ...string) result.CapacityStep {
		s := &bench.Summary{Count: 2000, P: map[string]int64{"99": p99}}
		r := &bench.Result{Latency: bench.Latencies{Response: s, Service: s}, Valid: bench.Valid{OK: true}}
		r.Client.Stall = &bench.Summary{Count: 300, P: map[string]int64{"99": stall}}
		for _, reason := range reasons {
			r.Invalidate(reason)
		}
		return stepOf(r, []result.Objective{o})
	}
	step := run(20e6, 12e6)
	require.True(t, step.Disturbed)
	require.Equal(t, "response.p99<5ms: 20.0ms; the machine stalled: p99 12.0ms", step.Why)
	require.True(t, run(900e6, 2e9, bench.ReasonRate, bench.ReasonBacklog).Disturbed)
	require.True(t, run(4e6, 12e6).Met, "in spite of it")
	step = run(900e6, 12e6, bench.ReasonRate)
	require.False(t, step.Met || step.Unjudged || step.Disturbed, "the lock was far slower than that")
}

func TestASearchThatTheGeneratorEndedIsNoAnswer(t *testing.T) {
	for _, c := range []struct {
		found result.Capacity
		code  int
		text  string
	}{
		{result.Capacity{RatePerS: 1000, HighPerS: 1050, MissedPerS: 1050, Confirmed: true}, exitOK, ""},
		{result.Capacity{RatePerS: 1000, HighPerS: 5000, MissedPerS: 1050, GeneratorPerS: 4000}, exitOK, ""},
		{result.Capacity{RatePerS: 1000, GeneratorPerS: 1050}, exitNotValid, "what is above is not known: at 1,050/s the generator"},
		{result.Capacity{RatePerS: 1000, HighPerS: 4000, MissedPerS: 3000, GeneratorPerS: 1050}, exitNotValid, "what is above is not known: at 1,050/s the generator"},
		{result.Capacity{GeneratorPerS: 1}, exitNotValid, "the generator"},
		{result.Capacity{MissedPerS: 1}, exitMissed, "not seen to meet"},
	} {
		c.found.Steps = []result.CapacityStep{{RatePerS: 1000, Met: true}}
		err := (&search{found: []result.Capacity{c.found}}).judge(t.Context(), nil, nil)
		code, _ := exitCode(err)
		require.Equal(t, c.code, code)
		if c.code != exitOK {
			require.ErrorContains(t, err, c.text)
		}
	}
}

func TestAllSettingsHaveOneSeed(t *testing.T) {
	var f flags
	cmd := &cobra.Command{Use: "sweep"}
	f.declare(cmd, "noop", 1, formats...)
	p, err := parseParam("workers=1,2,3")
	require.NoError(t, err)
	plans, err := f.plans(cmd, []result.SweepParam{p})
	require.NoError(t, err)
	require.Len(t, plans, 3)
	for i, p := range plans {
		require.Equal(t, i+1, p.cfg.Workers)
		require.Equal(t, plans[0].cfg.Seed, p.cfg.Seed)
		require.NotZero(t, p.cfg.Seed)
	}
}

func TestTooFewOperationsAreNoFaultOfTheRate(t *testing.T) {
	r := &bench.Result{Latency: bench.Latencies{Cycle: &bench.Summary{}}, Valid: bench.Valid{OK: true}}
	r.Invalidate(bench.ReasonFew + ": 3")
	require.True(t, stepOf(r, nil).Unjudged)
	r.Invalidate(bench.ReasonRate + ": 3")
	require.False(t, stepOf(r, nil).Unjudged)
	require.False(t, stepOf(r, nil).Met)
}
