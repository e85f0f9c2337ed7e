package sizing

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTimesAreCountedAndWhatWasCutOffIsLongerThanAll(t *testing.T) {
	times := Count([]time.Duration{3 * ms, ms, 2 * ms, ms}, []int64{1, 2, 0, 3}, 2)
	require.Equal(t, Times{took: []time.Duration{ms, 3 * ms}, counts: []int64{5, 1}, n: 8, censored: 2}, times)
	require.Equal(t, 3*ms, times.Longest())
	require.Equal(t, 7*ms/4, times.Mean(), "what was cut off is as long as the longest")
	for _, c := range []struct {
		beyond float64
		took   time.Duration
		ok     bool
	}{{0, 3 * ms, false}, {0.2, 3 * ms, false}, {0.25, 3 * ms, true}, {0.375, ms, true}, {1, ms, true}} {
		took, ok := times.Quantile(c.beyond)
		require.Equal(t, c.took, took, c.beyond)
		require.Equal(t, c.ok, ok, c.beyond)
	}
	require.Equal(t, []time.Duration{ms, ms, 3 * ms, forever}, times.spread(4))
	require.Equal(t, []time.Duration{ms, ms, ms, ms, ms, 3 * ms, 3 * ms, 3 * ms}, times.Samples(100))
	require.Equal(t, []time.Duration{ms, 3 * ms}, times.Samples(2))
	one := Count([]time.Duration{ms}, nil, 0)
	require.Equal(t, ms, one.Mean())
	require.False(t, one.Empty())
	var none Times
	require.True(t, none.Empty())
	require.Empty(t, none.spread(5))
	require.Zero(t, none.Longest())
	require.Zero(t, none.Mean())
	took, ok := none.Quantile(0.5)
	require.Zero(t, took)
	require.False(t, ok)
	for n, shows := range map[int64]bool{99: false, 100: true, 101: true} {
		require.Equal(t, shows, Times{n: n}.Shows(0.1), n)
	}
}

func TestTheBoundOfAShareIsThatOfClopperAndPearson(t *testing.T) {
	for _, c := range []struct {
		k, n int64
		want float64
	}{
		{0, 0, 1}, {-1, 0, 1}, {0, -1, 1}, {5, 5, 1}, {6, 5, 1},
		{0, 1, 0.95}, {0, 59, 1 - math.Pow(0.05, 1.0/59)}, {-1, 59, 1 - math.Pow(0.05, 1.0/59)}, {1, 2, math.Sqrt(0.95)},
	} {
		require.InDelta(t, c.want, AtMost(c.k, c.n), 1e-9, c)
	}
}
