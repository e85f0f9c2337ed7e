package text_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/resulttest"
)

func TestSweepShowsEachSettingAndHowItGrows(t *testing.T) {
	var results []*bench.Result
	for i, workers := range []string{"1", "8"} {
		r := resulttest.Result("muxlock", 1, 1000*float64(1+i))
		r.Setting = map[string]string{"workers": workers}
		results = append(results, r)
	}
	results[1].Invalidate("not all locks were held")
	results[0].SLO = []bench.SLO{{Text: "cycle.p50<5ms", Pass: true}}
	doc := resulttest.Document(results...)
	doc.Sweep = result.NewSweep([]result.SweepParam{{Name: "workers"}}, results)
	text := shown(t, "sweep", doc)
	require.Regexp(t, `workers +impl +cycles/s +cycle p50 +cycle p99 +cpu/cycle`, text)
	require.Regexp(t, `\n1 +muxlock +1,000 +1.23ms +3.00ms +12.3us\n`, text)
	require.Regexp(t, `\n8 +muxlock +2,000 +1.23ms +3.00ms +12.3us +not valid`, text)
	require.NotContains(t, text, "64 workers", "they are what is swept")
	require.NotContains(t, text, "SLO", "settings are not put together")
	require.NotContains(t, text, "hand-over")

	results[0].Latency.Handover = resulttest.Summary(111_000)
	doc.Sweep = result.NewSweep(doc.Sweep.Params, results)
	require.Regexp(t, `\n1 +muxlock .* 111us`, shown(t, "sweep", doc))
	require.NotEmpty(t, shown(t, "sweep", result.Document{Sweep: result.NewSweep(nil, nil)}), "interrupted before anything")
}

func TestASearchEndsWithItsAnswer(t *testing.T) {
	met := result.CapacityStep{RatePerS: 41_000, Outcome: result.RateMet, Met: 3, Results: []int{0, 1, 2}, Why: "response.p99<5ms: 4.10ms", P99Ns: 4_100_000}
	missed := result.CapacityStep{RatePerS: 43_000, Outcome: result.RateMissed, Missed: 2, Met: 1, Results: []int{3, 4, 5}, Why: "not valid: rate not met", P99Ns: 9_100_000}
	spoiled := result.CapacityStep{RatePerS: 42_000, Outcome: result.RateSpoiled, Spoiled: 3, Results: []int{3, 4, 5}, Why: "the machine stalled: p99 181ms"}
	capacity := func(rate, next float64, steps ...result.CapacityStep) result.Capacity {
		return result.Capacity{Impl: "muxlock", SLO: []string{"response.p99<5ms"}, RatePerS: rate, NextPerS: next, Steps: steps}
	}
	doc := resulttest.Document(resulttest.Result("muxlock", 1, 1000))
	doc.Capacity = []result.Capacity{
		capacity(41_000, 43_000, met, missed), capacity(0, 43_000, missed), capacity(41_000, 0, met), capacity(41_000, 42_000, met, missed, spoiled),
		capacity(41_000, 0, met, result.CapacityStep{RatePerS: 164_000, Missed: 1, Results: []int{3}}), // interrupted
	}
	lines := shown(t, "sweep", doc)
	require.Contains(t, lines, "\nstep  rate/s  met  missed  spoiled\n1     41,000    3       0        0  response.p99<5ms: 4.10ms\n"+
		"2     43,000    1       2        0  not valid: rate not met\n3     42,000    0       0        3  the machine stalled: p99 181ms\n", "one line a step")
	text := flat(lines)
	for _, want := range []string{
		"muxlock: highest rate that meets response.p99<5ms: 41,000/s, met in 3 of 3 runs; missed in 2 of 3 runs at 43,000/s ",
		"none; missed in 2 of 3 runs at 43,000/s", "41,000/s, met in 3 of 3 runs; no higher one was tried",
		"highest rate so far that meets response.p99<5ms: 41,000/s, met in 3 of 3 runs; no higher one was decided on",
		"what is above is not known: 3 spoiled of 3 runs at 42,000/s",
	} {
		require.Contains(t, text, want)
	}
}
