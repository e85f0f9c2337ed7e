package bench

import (
	"math"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

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
	m := ReadMeter()
	require.Equal(t, Client{}, m.Since(m, 0))
}

func TestMeterTellsTheShareOfTheMachine(t *testing.T) {
	before := Meter{at: time.Unix(0, 0)}
	after := Meter{at: time.Unix(2, 0), cpu: time.Second}
	c := after.Since(before, 1000)
	require.InDelta(t, 0.5/float64(runtime.NumCPU()), c.CPUShare, 1e-9)
	require.InDelta(t, 1e6, c.CPUNsPerOp, 1e-9)
}

func TestJainIsOneForEqualsAndOneNthForASingleWinner(t *testing.T) {
	require.Equal(t, 1.0, Jain([]int64{3, 3, 3}))
	require.InDelta(t, 0.25, Jain([]int64{0, 8, 0, 0}), 1e-12)
	require.Zero(t, Jain([]int64{0, 0}))
}
