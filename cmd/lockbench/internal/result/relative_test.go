package result

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

func ran(impl string, round int, throughput float64, p99 int64) *bench.Result {
	return &bench.Result{
		Impl: impl, Round: round, ThroughputPerS: throughput,
		Latency: bench.Latencies{bench.CycleTime: &bench.Summary{Count: 1, P: map[string]int64{"50": p99 / 2, "99": p99}}},
		Client:  bench.Client{CPUNsPerOp: 100},
		Valid:   bench.Valid{OK: true},
	}
}

func TestRelativeIsTheMedianOfRatiosWithinRounds(t *testing.T) {
	results := []*bench.Result{
		ran("ref", 1, 100, 1000), ran("new", 1, 1000, 500),
		ran("ref", 2, 50, 1000), ran("new", 2, 1000, 250), // a slow moment for ref alone
		ran("ref", 3, 100, 1000), ran("new", 3, 1100, 500),
	}
	cut, alone := ran("new", 4, 1, 1), ran("cut", 4, 1, 1)
	cut.Invalidate(bench.ReasonInterrupted, "")
	alone.Invalidate(bench.ReasonInterrupted, "")
	results = append(results, ran("ref", 4, 1, 1), cut, alone)
	require.Equal(t, []*bench.Result{results[1], results[3], results[5]}, Of(results, "new"))
	require.Equal(t, []*bench.Result{alone}, Of(results, "cut"))
	rows := RelativeTo("ref", results)
	half := Ratio{Median: 0.5, OfMedians: 0.5, Min: 0.25, Max: 0.5}
	require.Equal(t, []Relative{{Impl: "new", Reference: "ref", Rounds: 3, Latency: "cycle", Ratios: map[string]Ratio{
		"throughput": {Median: 11, OfMedians: 10, Min: 10, Max: 20}, "headline.p50": half, "headline.p99": half,
		"cpu_ns_per_op": {Median: 1, OfMedians: 1, Min: 1, Max: 1},
	}}}, rows[1:], "0/0 allocations are no ratio")
	require.Equal(t, 1.0, rows[0].Ratios["throughput"].Median)
	require.Empty(t, RelativeTo("absent", results))
	cut.Valid, cut.Latency[bench.ResponseTime] = bench.Valid{OK: true}, cut.Latency[bench.CycleTime]
	require.Equal(t, Relative{Impl: "new", Reference: "ref", Latency: "response", Ratios: map[string]Ratio{}},
		RelativeTo("ref", []*bench.Result{results[0], cut})[1], "no round of both")
}

func TestWhatAcquiredNothingHasNoRatioButOfItsThroughput(t *testing.T) {
	nothing := ran("new", 1, 0, 0)
	nothing.Latency[bench.CycleTime], nothing.Client = &bench.Summary{}, bench.Client{}
	ref := ran("ref", 1, 100, 1000)
	ref.Client.AllocsPerOp = 5
	row := RelativeTo("ref", []*bench.Result{ref, nothing})[1]
	require.Equal(t, map[string]Ratio{"throughput": {}}, row.Ratios, "not infinitely fast")
	row = RelativeTo("new", []*bench.Result{ref, nothing})[0]
	require.NotContains(t, row.Ratios, "throughput", "JSON has no infinity")
}

func TestALowerBoundInOneRoundLeavesNoRatio(t *testing.T) {
	bounded := func(r *bench.Result) *bench.Result {
		r.Latency[bench.CycleTime].Count, r.Latency[bench.CycleTime].Censored = 100, 5
		return r
	}
	for name, results := range map[string][]*bench.Result{
		"of the other":     {ran("ref", 1, 100, 1000), bounded(ran("new", 1, 100, 500)), ran("ref", 2, 100, 1000), ran("new", 2, 100, 250)},
		"of the reference": {bounded(ran("ref", 1, 100, 1000)), ran("new", 1, 100, 500), ran("ref", 2, 100, 1000), ran("new", 2, 100, 250)},
	} {
		row := RelativeTo("ref", results)[1]
		require.NotContains(t, row.Ratios, "headline.p99", "%s: not the ratio of the round that went well", name)
		require.Equal(t, Ratio{Median: 0.375, OfMedians: 0.375, Min: 0.25, Max: 0.5}, row.Ratios["headline.p50"], name)
		require.Equal(t, 0.25, RelativeTo("ref", results[2:])[1].Ratios["headline.p99"].Median, name)
	}
}

func TestADifferenceIsSignificantOnlyWhenItIsMoreThanChance(t *testing.T) {
	r, one := over([]float64{2, 2.02, 1.99, 2.03, 1.98, 2.01}), 1.0
	require.InDelta(t, 2.0/64, *r.P, 1e-9)
	require.Equal(t, Ratio{Median: 2.005, Min: 1.98, Max: 2.03, CI: []float64{1.98, 2.03}, P: r.P, Significant: true}, r)
	require.Equal(t, Ratio{Median: 1.005, Min: 0.97, Max: 1.03, CI: []float64{0.97, 1.03}, P: &one},
		over([]float64{1.01, 0.97, 1.03, 0.995, 1.005, 0.99, 1.02}))
	require.Equal(t, Ratio{Median: 2, Min: 1.98, Max: 2.03}, over([]float64{2, 2.02, 1.99, 2.03, 1.98}), "five rounds are too few")
	require.Equal(t, []float64{0, 1}, over([]float64{0, 1, 1, 1, 1, 1}).CI, "a round without any")
}
