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

func TestASweepOfRatesWithObjectivesFindsTheHighest(t *testing.T) {
	kept, page := filepath.Join(t.TempDir(), "kept.json"), filepath.Join(t.TempDir(), "page.html")
	thousand := loads(func(impl string, cfg bench.Config) *bench.Result { // a second, and no more
		r := steady(impl, cfg)
		r.AcquiredPerS, r.Totals.Offered = min(cfg.Rate, 1000), int64(cfg.Rate*r.DurationS)
		return r
	})
	line := "sweep --duration 1s --param rate=16k,8k,4k,500 --slo goodput>=50% --slo failure_rate<=50% -o json --out " + kept + " --html " + page
	_, stderr, code := within(t, thousand.open, words(line)...)
	require.Zero(t, code, stderr)
	doc, err := result.ReadFile(kept)
	require.NoError(t, err)
	require.Equal(t, []string{"goodput>=50%", "failure_rate<=50%"}, doc.Config.SLO)
	require.Len(t, doc.Sweep.Highest, 1)
	found := doc.Sweep.Highest[0]
	require.Equal(t, 2000.0, found.RatePerS)
	for _, tried := range found.Rates {
		for _, i := range tried.Results {
			require.Equal(t, strconv.FormatFloat(tried.RatePerS, 'f', -1, 64), doc.Results[i].Setting["rate"])
		}
	}
	require.Equal(t, 8000.0, found.Rates[len(found.Rates)-1].RatePerS, "two misses are enough")
	shown := read(t, page)
	require.Contains(t, shown, "goodput&gt;=50%</th>")
	require.Contains(t, shown, " missed</td>")
	require.Contains(t, shown, "muxlock: ")
	require.NotContains(t, again(*doc), "--rounds", "a sweep of rates makes three runs")
}

// tried makes runs at a rate until it is decided on, with an objective of 1000 operations. Every n-th operation counts.
func tried(t *testing.T, rate float64, n int64) (result.RateTried, []*bench.Result) {
	o, err := result.ParseObjective("response.p99<5ms")
	require.NoError(t, err)
	h := &highest{plan: &plan.Plan{Settings: result.Settings{Config: bench.Config{Duration: 2 * time.Second}}, Objectives: []result.Objective{o}}}
	lock := runner(func(cfg bench.Config) *bench.Result {
		s := &bench.Summary{Count: int64(cfg.Rate*cfg.Duration.Seconds()) / n, P: map[string]int64{"99": int64(time.Millisecond)}}
		return &bench.Result{DurationS: cfg.Duration.Seconds(), Latency: bench.Latencies{bench.ResponseTime: s}, Valid: bench.Valid{OK: true}}
	})
	var on session.Session
	tried, err := h.try(t.Context(), &on, session.Target{Name: "a", Open: func(context.Context) (session.Runner, error) { return lock, nil }}, rate)
	require.NoError(t, err)
	return tried, on.Results
}

func TestARunIsMadeAsLongAsItsObjectivesNeed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate, seconds float64
		n             int64
		results       result.Indices
		outcome       result.Outcome
	}{
		{1000, 2, 1, result.Indices{0, 1, 2}, result.RateMet},
		{200, 6, 1, result.Indices{0, 1, 2}, result.RateMet},
		{200, 6, 2, result.Indices{0}, result.RateTooFew}, // fewer operations than offered
		{15, 0, 1, nil, result.RateTooFew},                // a run would take 80 s
		{1e-300, 0, 1, nil, result.RateTooFew},            // longer than a time.Duration can tell
	} {
		tried, results := tried(t, c.rate, c.n)
		require.Equal(t, c.outcome, tried.Outcome, c.rate)
		require.Equal(t, c.results, tried.Results, c.rate)
		require.Len(t, results, len(c.results), c.rate)
		for _, r := range results {
			require.InDelta(t, c.seconds, r.DurationS, 1e-6, c.rate)
		}
	}
}

func TestASweepOfRatesThatHasNoRunSaysWhy(t *testing.T) {
	stdout, stderr, code := within(t, loads(steady).open, words("sweep --impl noop --param rate=0.1,0.2,0.4 --slo response.p99.9999999<1s")...)
	require.Equal(t, exitNotValid, code, stderr)
	require.Contains(t, flat(stderr), "not valid: noop: no rate in a row met all objectives: the lowest, 0.1/s, had too few operations")
	require.Contains(t, flat(stdout), "too few operations; a longer --duration allows more")
	require.NotContains(t, stdout, "0.4", "two rates are enough")
}

func TestASweepOfRatesFailsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	rate := func(outcome result.Outcome) []result.RateTried {
		return []result.RateTried{{RatePerS: 1000, Outcome: outcome}}
	}
	met := result.HighestRate{Impl: "a", RatePerS: 1000, Rates: rate(result.RateMet)}
	missed := result.HighestRate{Impl: "b", Rates: rate(result.RateMissed)}
	spoiled := result.HighestRate{Impl: "c", Rates: rate(result.RateSpoiled)}
	for _, c := range []struct {
		found []result.HighestRate
		code  int
		text  string
	}{
		{[]result.HighestRate{met}, exitOK, ""},
		{[]result.HighestRate{met, missed}, exitMissed, "missed: b: no rate in a row met all objectives: the lowest, 1,000/s, missed"},
		{[]result.HighestRate{missed, met, spoiled}, exitNotValid, "not valid: c: no rate in a row met all objectives: the lowest, 1,000/s, was spoiled by the machine"},
	} {
		err := judge(t.Context(), nil, &result.Document{Sweep: &result.Sweep{Highest: c.found}}, nil)
		code, _ := exitCode(err)
		require.Equal(t, c.code, code)
		if c.code != exitOK {
			require.EqualError(t, err, c.text)
		}
	}
	require.EqualError(t, judge(t.Context(), nil, &result.Document{Sweep: &result.Sweep{Highest: []result.HighestRate{met}}, Results: []*bench.Result{{Impl: "a", Safety: bench.Safety{Overlaps: 1}}}}, nil),
		"SAFETY VIOLATION: a let 1 holders overlap")
}
