package main

import (
	"context"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/session"
)

func TestFindMaxEndsWithARateOrSaysThatThereIsNone(t *testing.T) {
	t.Parallel()
	args := []string{"sweep", "--find-max", "--embedded", "1", "--impl", "noop", "--workers", "8", "--arrivals", "uniform", "--duration", "50ms", "--warmup", "0s", "--rate", "2000"}
	stdout, stderr, code := lockbench(t, append(args, "--slo", "response.p50<20ms", "--slo", "error_rate<1%", "-o", "json")...)
	require.Contains(t, []int{exitOK, exitMissed, exitNotValid}, code, stderr) // a machine may be too busy for any rate, or for the generator
	doc := requireFields(t, stdout)
	capacity := doc["capacity"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"response.p50<20ms", "error_rate<1%", "failure_rate<=1%", "goodput>=95%"}, capacity["slo"])
	require.NotEmpty(t, capacity["steps"])
	for _, step := range capacity["steps"].([]any) {
		step := step.(map[string]any)
		for _, i := range step["results"].([]any) {
			setting := doc["results"].([]any)[int(i.(float64))].(map[string]any)["setting"].(map[string]any)
			require.Equal(t, strconv.FormatFloat(step["rate_per_s"].(float64), 'f', -1, 64), setting["rate"])
		}
	}
}

// runner is a lock whose runs have that result.
type runner func(bench.Config) *bench.Result

func (r runner) Run(_ context.Context, cfg bench.Config) (*bench.Result, error) { return r(cfg), nil }
func (runner) Close() error                                                     { return nil }

// searching searches a lock that answers in 1 ms up to a rate, and in 1 s above it. Every n-th
// operation counts.
func searching(t *testing.T, slo string, capacity float64, n int64) (result.Capacity, []*bench.Result) {
	s := &search{plan: &plan.Plan{Load: bench.Config{Rate: 1000, Duration: 2 * time.Second}, Objectives: objective(t, slo)}}
	lock := runner(func(cfg bench.Config) *bench.Result {
		p99 := int64(time.Millisecond)
		if cfg.Rate > capacity {
			p99 = int64(time.Second)
		}
		r := responded(p99, int64(cfg.Rate*cfg.Duration.Seconds())/n)
		r.DurationS = cfg.Duration.Seconds()
		return r
	})
	require.NoError(t, s.find(t.Context(), session.Target{Name: "a", Masters: 1, Open: func(context.Context) (session.Runner, error) { return lock, nil }}))
	return s.found[0], s.results
}

func TestARunIsMadeAsLongAsItsObjectivesNeed(t *testing.T) {
	c, results := searching(t, "response.p99<5ms", 300, 1)
	require.InEpsilon(t, 300, c.RatePerS, 0.1)
	require.Equal(t, []string{"response.p99<5ms"}, c.SLO)
	for _, r := range results {
		require.GreaterOrEqual(t, r.Latency.Response.Count, int64(1000), "at once")
		require.GreaterOrEqual(t, r.DurationS, 2.0)
	}
	for _, step := range c.Steps {
		for _, i := range step.Results {
			require.Equal(t, strconv.FormatFloat(step.RatePerS, 'f', -1, 64), results[i].Setting["rate"])
		}
	}

	c, results = searching(t, "response.p99<5ms", 300, 4) // fewer operations than offered: the run says how many it lacks
	require.InEpsilon(t, 300, c.RatePerS, 0.1)
	longer := 0
	for _, r := range results {
		if r.Latency.Response.Count < 1000 {
			longer++
		}
	}
	require.Equal(t, len(results), 2*longer, "each is made once more")
}

func TestARateThatNoRunIsLongEnoughForIsNotJudged(t *testing.T) {
	c, results := searching(t, "response.p99<5ms", 3, 1)
	require.Zero(t, c.RatePerS)
	require.True(t, c.Unknown())
	require.Contains(t, c.Steps[len(c.Steps)-1].Why+c.At(c.NextPerS).Why, "a longer --duration allows it")
	for _, r := range results {
		require.LessOrEqual(t, r.DurationS, searchLongest.Seconds())
	}

	c, results = searching(t, "response.p99.999999999999<5ms", 3, 1) // longer than a time.Duration can tell
	require.True(t, c.Unknown())
	require.Contains(t, c.Steps[0].Why, "a longer --duration allows it")
	require.Empty(t, results)
}

func TestASearchWithoutARunSaysWhy(t *testing.T) {
	t.Parallel()
	kept := filepath.Join(t.TempDir(), "kept.json")
	_, stderr, code := lockbench(t, words("sweep --find-max --embedded 1 --impl noop --rate 0.1 --slo response.p99.9999999<1s -o json --out "+kept)...)
	require.Equal(t, exitNotValid, code, stderr)
	stdout, stderr, code := lockbench(t, "sweep", "--find-max", "--config", kept) // and is done again
	require.Equal(t, exitNotValid, code, stderr)
	require.Contains(t, stderr, "none; what is above is not known: too few operations at 0.1/s")
	require.Contains(t, flat(stdout), "a longer --duration allows it")
}

func objective(t *testing.T, text string) []result.Objective {
	o, err := result.ParseObjective(text)
	require.NoError(t, err)
	return []result.Objective{o}
}

// responded returns a valid run of so many operations.
func responded(p99, count int64) *bench.Result {
	s := &bench.Summary{Count: count, P: map[string]int64{"99": p99}}
	return &bench.Result{Latency: bench.Latencies{Response: s}, Valid: bench.Valid{OK: true}}
}

func TestARunThatIsNotValidMissesWhateverItsFigures(t *testing.T) {
	under5ms := objective(t, "response.p99<5ms")
	run := judgeRun(responded(4e6, 2000), under5ms)
	require.Equal(t, result.RateMet, run.Outcome)
	require.Equal(t, "response.p99<5ms: 4.00ms", run.Why)
	require.Equal(t, result.RateMissed, judgeRun(responded(6e6, 2000), under5ms).Outcome)
	require.Equal(t, result.RateTooFew, judgeRun(responded(4e6, 20), under5ms).Outcome)
	few := responded(4e6, 20)
	few.Invalidate(bench.ReasonFew + ": 3")
	require.Equal(t, result.RateTooFew, judgeRun(few, under5ms).Outcome, "no fault of the rate")
	few.Invalidate(bench.ReasonRate)
	run = judgeRun(few, under5ms)
	require.Equal(t, result.RateMissed, run.Outcome)
	require.Contains(t, run.Why, "rate not met")
}

func TestWhatWasMetIsMetAlthoughTheGeneratorLagged(t *testing.T) {
	under5ms := objective(t, "response.p99<5ms")
	lagged := func(p99 int64) *bench.Result {
		r := responded(p99, 2000)
		r.Invalidate(bench.ReasonGenerator + ": by far")
		return r
	}
	require.Equal(t, result.RateMet, judgeRun(lagged(4e6), under5ms).Outcome)
	run := judgeRun(lagged(6e6), under5ms)
	require.Equal(t, result.RateSpoiled, run.Outcome)
	require.Equal(t, "the generator could not keep up", run.Why)
	require.Equal(t, result.RateMissed, judgeRun(responded(6e6, 2000), under5ms).Outcome, "without a lag")
	late := lagged(6e6)
	late.Invalidate(bench.ReasonRate)
	require.Equal(t, result.RateSpoiled, judgeRun(late, under5ms).Outcome, "nor offered as it should have been")
}

func TestWhatTheMachineMayHaveMissedIsNoMissOfTheLock(t *testing.T) {
	under5ms := objective(t, "response.p99<5ms")
	run := func(p99, stall int64, reasons ...string) result.CapacityRun {
		r := responded(p99, 2000)
		r.Client.Stall = &bench.Summary{Count: 300, P: map[string]int64{"99": stall}}
		for _, reason := range reasons {
			r.Invalidate(reason)
		}
		return judgeRun(r, under5ms)
	}
	require.Equal(t, "the machine stalled: p99 12.0ms", run(20e6, 12e6).Why)
	require.Equal(t, result.RateSpoiled, run(20e6, 12e6).Outcome)
	require.Equal(t, result.RateSpoiled, run(900e6, 2e9, bench.ReasonRate, bench.ReasonBacklog).Outcome)
	require.Equal(t, result.RateMet, run(4e6, 12e6).Outcome, "in spite of it")
	require.Equal(t, result.RateMissed, run(900e6, 12e6, bench.ReasonRate).Outcome, "the lock was far slower than that")
}

func TestASearchThatWasSpoiledIsNoAnswer(t *testing.T) {
	met := result.CapacityStep{RatePerS: 1000, Outcome: result.RateMet, Met: 3, Results: []int{0, 1, 2}}
	next := func(outcome result.Outcome) result.CapacityStep {
		return result.CapacityStep{RatePerS: 1050, Outcome: outcome, Missed: 2, Spoiled: 3, Results: []int{3, 4, 5, 6, 7}}
	}
	for _, c := range []struct {
		rate  float64
		steps []result.CapacityStep
		code  int
		text  string
	}{
		{1000, []result.CapacityStep{met, next(result.RateMissed)}, exitOK, ""},
		{1000, []result.CapacityStep{met, next(result.RateSpoiled)}, exitNotValid, "1,000/s, met in 3 of 3 runs; what is above is not known: 3 spoiled of 5 runs at 1,050/s"},
		{0, []result.CapacityStep{next(result.RateSpoiled)}, exitNotValid, "none; what is above is not known: 3 spoiled of 5"},
		{0, []result.CapacityStep{next(result.RateTooFew)}, exitNotValid, "too few operations (3 more spoiled) at 1,050/s"},
		{0, []result.CapacityStep{next(result.RateMissed)}, exitMissed, "none; missed in 2 of 2 runs (3 more spoiled) at 1,050/s"},
	} {
		found := result.Capacity{RatePerS: c.rate, NextPerS: c.steps[len(c.steps)-1].RatePerS, Steps: c.steps}
		err := (&search{found: []result.Capacity{found}}).judge(t.Context(), nil, nil)
		code, _ := exitCode(err)
		require.Equal(t, c.code, code)
		if c.code != exitOK {
			require.ErrorContains(t, err, c.text)
		}
	}
}
