package bench

import (
	"math"
	"runtime/metrics"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuantileOfPausesCountsOnlyTheTimeBetween(t *testing.T) {
	buckets := []float64{0, 1e-6, 1e-3, 1, math.Inf(1)}
	before := metrics.Float64Histogram{Buckets: buckets, Counts: []uint64{5, 5, 90, 0}}
	after := metrics.Float64Histogram{Buckets: buckets, Counts: []uint64{5, 104, 91, 0}}
	require.EqualValues(t, 1_000_000, quantileSince(after, before, 0.99))
	require.EqualValues(t, 1_000_000_000, quantileSince(after, before, 0.999))
	require.Zero(t, quantileSince(before, before, 0.99))
	after.Counts[3] = 1000
	require.EqualValues(t, 1_000_000_000, quantileSince(after, before, 0.99), "never infinite")
}

func TestMeterWithoutCyclesDividesByNothing(t *testing.T) {
	m := readMeter()
	require.Equal(t, Client{}, m.since(m, 0))
}

func TestJainIsOneForEqualsAndOneNthForASingleWinner(t *testing.T) {
	require.Equal(t, 1.0, jain([]int64{3, 3, 3}))
	require.InDelta(t, 0.25, jain([]int64{0, 8, 0, 0}), 1e-12)
	require.Zero(t, jain([]int64{0, 0}))
}

func TestClampedValuesAreCountedAtTheEdge(t *testing.T) {
	h := newHist()
	put(h, 0)
	put(h, longest*100)
	s := summarize(h)
	require.EqualValues(t, 2, s.Count)
	require.EqualValues(t, 1, s.P["50"])
	require.InEpsilon(t, float64(longest), float64(s.Max), 0.001)
}
