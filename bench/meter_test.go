package bench

import (
	"math"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestP99OfPausesCountsOnlyTheTimeBetween(t *testing.T) {
	buckets := []float64{0, 1e-6, 1e-3, 1, math.Inf(1)}
	before := metrics.Float64Histogram{Buckets: buckets, Counts: []uint64{5, 5, 90, 0}}
	after := metrics.Float64Histogram{Buckets: buckets, Counts: []uint64{5, 104, 91, 0}}
	require.InEpsilon(t, 1e6, p99Since(after, before), 0.001)
	require.Zero(t, p99Since(before, before))
	after.Counts[3] = 1000
	require.InEpsilon(t, 1e9, p99Since(after, before), 0.001, "never infinite")
}

func TestMeterTellsTheShareOfTheMachine(t *testing.T) {
	before := meter{at: time.Unix(1, 0), cpu: time.Second, allocs: 5000}
	after := meter{at: time.Unix(3, 0), cpu: 2 * time.Second, allocs: 8000}
	var f figures
	after.since(before, &f)
	c := f.Client
	require.InDelta(t, 0.5/float64(runtime.NumCPU()), c.CPUShare, 1e-9)
	c.perCycle(1000)
	require.InDelta(t, 1e6, c.CPUNsPerOp, 1e-9)
	require.InDelta(t, 3, c.AllocsPerOp, 1e-9)
	c.perCycle(0)
	require.Zero(t, c.CPUNsPerOp)
}

func TestJainIsOneForEqualsAndOneNthForASingleWinner(t *testing.T) {
	require.Equal(t, 1.0, Jain([]int64{3, 3, 3}))
	require.InDelta(t, 0.25, Jain([]int64{0, 8, 0, 0}), 1e-12)
	require.Zero(t, Jain([]int64{0, 0}))
}
