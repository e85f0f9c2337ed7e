package result

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

func swept(workers string, impl string, throughput float64, p99 int64) *bench.Result {
	return &bench.Result{
		Impl: impl, Setting: map[string]string{"workers": workers}, DurationS: 2, ThroughputPerS: throughput,
		Totals: bench.Totals{Offered: 100}, Latency: bench.Latencies{bench.CycleTime: &bench.Summary{Count: 9, P: map[string]int64{"50": p99 / 2, "99": p99}}}, Valid: bench.Valid{OK: true},
	}
}

func TestSweepPutsRoundsOfASettingTogether(t *testing.T) {
	params := []SweepParam{{Name: "workers"}}
	cut := swept("8", "a", 1, 1)
	cut.Invalidate(bench.ReasonInterrupted, "")
	late := swept("1", "b", 7, 700)
	late.Invalidate(bench.ReasonRate, "")
	s := NewSweep(params, []*bench.Result{
		swept("1", "a", 10, 100), late, swept("8", "a", 80, 800),
		swept("8", "a", 90, 900), swept("1", "a", 30, 300), cut, swept("1", "a", 20, 200),
	})
	require.Equal(t, params, s.Params)
	require.Len(t, s.Points, 3)
	require.Equal(t, SweepPoint{
		Setting: map[string]string{"workers": "1"}, Impl: "a", Results: []int{0, 4, 6},
		Medians: map[string]float64{"offered_per_s": 50, "throughput": 20, "headline.p50": 100, "headline.p99": 200, "failure_rate": 0}, Valid: true,
	}, s.Points[0])
	require.False(t, s.Points[1].Valid)
	require.Equal(t, Indices{2, 3}, s.Points[2].Results)
	require.Equal(t, 85.0, s.Points[2].Medians["throughput"])
}

func TestSweepOfNothingHasNoNull(t *testing.T) {
	require.Equal(t, &Sweep{Params: []SweepParam{}, Points: []SweepPoint{}}, NewSweep(nil, nil))
	empty := &bench.Result{Impl: "a", Latency: bench.Latencies{bench.CycleTime: &bench.Summary{}}}
	require.Equal(t, []SweepPoint{{Impl: "a", Results: []int{0}, Medians: map[string]float64{"throughput": 0}}}, NewSweep(nil, []*bench.Result{empty}).Points)
}
