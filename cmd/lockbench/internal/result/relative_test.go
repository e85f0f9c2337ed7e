package result

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

func ran(impl string, round int, throughput float64, p99 int64) *bench.Result {
	return &bench.Result{
		Impl: impl, Round: round, ThroughputPerS: throughput,
		Latency: bench.Latencies{Cycle: &bench.Summary{Count: 1, P: map[string]int64{"50": p99 / 2, "99": p99}}},
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
	cut := ran("new", 4, 1, 1)
	cut.Invalidate(bench.ReasonInterrupted)
	results = append(results, ran("ref", 4, 1, 1), cut)

	rows := RelativeTo("ref", results)
	require.Len(t, rows, 2)
	row := rows[1]
	require.Equal(t, "new", row.Impl)
	require.Equal(t, 3, row.Rounds)
	require.Equal(t, "cycle", row.Latency)
	require.Equal(t, &Ratio{Median: 11, Min: 10, Max: 20}, row.Throughput)
	require.Equal(t, &Ratio{Median: 0.5, Min: 0.25, Max: 0.5}, row.P99)
	require.Equal(t, &Ratio{Median: 1, Min: 1, Max: 1}, row.CPUPerOp)
	require.Nil(t, row.AllocsPerOp, "0/0 is no ratio")
	require.Equal(t, 1.0, rows[0].Throughput.Median)
	require.Empty(t, RelativeTo("absent", results))
}

func TestRelativeOfNothingAcquiredIsStillJSON(t *testing.T) {
	rows := RelativeTo("ref", []*bench.Result{ran("ref", 1, 0, 0), ran("new", 1, 0, 0)})
	b, err := json.Marshal(rows)
	require.NoError(t, err)
	require.NotContains(t, string(b), "throughput")
}

func TestWhatAcquiredNothingHasNoRatioButOfItsThroughput(t *testing.T) {
	nothing := ran("new", 1, 0, 0)
	nothing.Latency.Cycle, nothing.Client = &bench.Summary{}, bench.Client{}
	ref := ran("ref", 1, 100, 1000)
	ref.Client.AllocsPerOp = 5
	row := RelativeTo("ref", []*bench.Result{ref, nothing})[1]
	require.Equal(t, &Ratio{}, row.Throughput)
	require.Nil(t, row.P50, "not infinitely fast")
	require.Nil(t, row.P99)
	require.Nil(t, row.CPUPerOp)
	require.Nil(t, row.AllocsPerOp)
}

func TestMedianOfAnEvenNumberIsBetweenTheMiddleTwo(t *testing.T) {
	var p pairs
	for _, ratio := range []float64{4, 1, 3, 2} {
		p.add(ratio, 1)
	}
	r := p.ratio()
	require.Equal(t, []float64{2.5, 1, 4}, []float64{r.Median, r.Min, r.Max})
}

func TestADifferenceIsSignificantOnlyWhenItIsMoreThanChance(t *testing.T) {
	rounds := func(n int, own, ref []float64) *Ratio {
		var p pairs
		for i := range n {
			p.add(own[i], ref[i])
		}
		return p.ratio()
	}
	ref := []float64{100, 102, 98, 101, 99}
	double := []float64{200, 204, 196, 202, 198}
	noise := []float64{101, 97, 103, 99.5, 100.5}

	r := rounds(5, double, ref)
	require.True(t, r.Significant)
	require.InDelta(t, 2.0/252, *r.P, 1e-9)
	require.Len(t, r.CI, 2)
	require.LessOrEqual(t, r.CI[0], r.Median)
	require.GreaterOrEqual(t, r.CI[1], r.Median)

	r = rounds(5, noise, ref)
	require.False(t, r.Significant)
	require.Greater(t, *r.P, 0.05)
	require.Less(t, r.CI[0], r.CI[1])

	r = rounds(3, double, ref)
	require.False(t, r.Significant, "three rounds are too few")
	require.Nil(t, r.P)
	require.Nil(t, r.CI)
}
