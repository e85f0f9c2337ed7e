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
	found := result.Capacity{
		Impl: "muxlock", SLO: []string{"response.p99<5ms"}, RatePerS: 41_000, LowPerS: 38_500, HighPerS: 42_800, MissedPerS: 43_000, Confirmed: true, Runs: 14,
		Steps: []result.CapacityStep{
			{RatePerS: 41_000, Met: true, Why: "response.p99<5ms: 4.10ms", P99Ns: 4_100_000},
			{RatePerS: 43_000, Why: "not valid: rate not met", P99Ns: 9_100_000},
			{RatePerS: 41_000, Disturbed: true, Why: "the machine stalled: p99 80.0ms", P99Ns: 90_100_000},
			{RatePerS: 41_000, Met: true, Confirms: true, Why: "response.p99<5ms: 4.20ms", P99Ns: 4_200_000},
		},
	}
	unsure, none, open, lagged := found, found, found, found
	unsure.Confirmed, unsure.Disturbed = false, 3
	none.RatePerS, none.UnjudgedPerS = 0, 500
	open.HighPerS, open.MissedPerS, open.Confirmed = 0, 0, false
	lagged.GeneratorPerS, lagged.Confirmed = 42_000, false
	doc := resulttest.Document(resulttest.Result("muxlock", 1, 1000))
	doc.Capacity = []result.Capacity{found, unsure, none, open, lagged}
	text := flat(shown(t, "sweep", doc))
	for _, want := range []string{
		"muxlock: highest rate that meets response.p99<5ms: 41,000/s, 90 % interval 38,500 to 42,800, 14 runs ",
		"14 runs, 3 of them disturbed and not counted; NOT CONFIRMED", "none, missed at 43,000/s, 14 runs; at 500/s there was too little to judge by",
		"41,000/s or more, 14 runs", "what is above is not known: at 42,000/s the generator lagged or the machine stalled ",
		"met again", "disturbed", "not valid: rate not met",
	} {
		require.Contains(t, text, want)
	}
}
