package text_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/resulttest"
	"muxlock/internal/testing/golden"
)

func TestSweepShowsEachSettingAndHowItGrows(t *testing.T) {
	var results []*bench.Result
	for i, workers := range []string{"1", "8"} {
		r := resulttest.Result("muxlock", 1, 1000*float64(1+i))
		r.Setting = map[string]string{"workers": workers}
		results = append(results, r)
	}
	results[1].Invalidate(bench.ReasonNotHeld, "")
	results[0].SLO = []bench.SLO{{Text: "cycle.p50<5ms", Pass: true}, {Text: "cycle.p99<1ms"}}
	doc := resulttest.Document(results...)
	doc.Sweep = result.NewSweep([]result.SweepParam{{Name: "workers"}}, results)
	text := shown(t, "sweep", doc)
	results[0].Latency[bench.HandoverTime], results[0].Totals.Failed = resulttest.Summary(111_000), 1
	doc.Sweep = result.NewSweep(doc.Sweep.Params, results)
	golden.Equal(t, "sweep.txt", text+shown(t, "sweep", doc))
	require.NotEmpty(t, shown(t, "sweep", result.Document{Sweep: result.NewSweep(nil, nil)}), "interrupted before anything")
}

func TestASweepOfRatesShowsWhichObjectivesEachMet(t *testing.T) {
	run := func(p99 int64, pass bool) *bench.Result {
		r := resulttest.Result("muxlock", 1, 1000)
		r.SLO = []bench.SLO{{Text: "response.p99<5ms", Unit: bench.UnitNs, Value: float64(p99), Pass: pass}, {Text: "failure_rate<=1%", Unit: bench.UnitShare, Pass: true}}
		return r
	}
	lagged, few := run(9_100_000, false), run(0, false)
	lagged.Invalidate(bench.ReasonGenerator, "by far")
	few.SLO[0].Reason = "too few"
	late := run(9_300_000, false)
	late.Invalidate(bench.ReasonRate, "by far")
	late.Invalidate(result.ReasonEmbedded, "")
	stalled := run(9_100_000, false)
	stalled.Client.Stall = resulttest.Summary(100_000_000)
	doc := resulttest.Document(run(4_100_000, true), run(4_200_000, true), late, lagged, stalled, few, run(9_200_000, false))
	doc.Config.SLO, doc.Config.Rate = []string{"response.p99<5ms", "failure_rate<=1%"}, 1000
	tried := func(rate float64, outcome result.Outcome, runs []result.Outcome, results ...int) result.RateTried {
		return result.RateTried{RatePerS: rate, Outcome: outcome, Runs: runs, Results: results}
	}
	const met, missed, spoiled = result.RateMet, result.RateMissed, result.RateSpoiled
	at := []result.RateTried{
		tried(1000, met, []result.Outcome{met, met, missed}, 0, 1, 2),
		tried(2000, missed, []result.Outcome{missed, met, missed}, 2, 1, 2),
		tried(4000, spoiled, []result.Outcome{spoiled, spoiled, met}, 3, 4, 0),
		tried(5000, result.RateTooFew, []result.Outcome{result.RateTooFew}, 5),
		tried(6000, result.RateTooFew, []result.Outcome{result.RateTooFew}),
		tried(8000, "", []result.Outcome{met}, 0),
		tried(9000, spoiled, []result.Outcome{met, spoiled}, 0, 3),
		tried(9100, missed, []result.Outcome{missed}, 6),
		tried(9200, missed, []result.Outcome{missed, missed, missed}, 2, 3, 2),
	}
	doc.Sweep = result.NewSweep([]result.SweepParam{{Name: "rate"}}, doc.Results)
	found := func(rate float64, rates ...result.RateTried) result.HighestRate {
		return result.HighestRate{Impl: "muxlock", RatePerS: rate, Rates: rates}
	}
	doc.Sweep.Highest = []result.HighestRate{
		found(1000, at...), found(1000, at[0]), found(1000, at[0], at[2]), found(1000, at[0], at[4]), found(1000, at[0], at[5]), found(0, at[1]), found(0, at[2]),
		found(8000, at[2], result.RateTried{RatePerS: 8000, Outcome: result.RateMet}),
	}
	golden.Equal(t, "rates.txt", shown(t, "sweep", doc))
}
