package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMedianLeavesItsArgumentAlone(t *testing.T) {
	xs := []float64{3, 1, 2}
	require.EqualValues(t, 2, Median(xs))
	require.Equal(t, []float64{3, 1, 2}, xs)
	require.EqualValues(t, 2.5, Median([]float64{4, 1, 2, 3}))
}

// bySides tries all ways in which xs may lie on the two sides of 0.
func bySides(xs []float64) float64 {
	above := 0
	for _, x := range xs {
		if x > 0 {
			above++
		}
	}
	extreme := 0
	for set := range 1 << len(xs) {
		if n := bits.OnesCount(uint(set)); max(n, len(xs)-n) >= max(above, len(xs)-above) {
			extreme++
		}
	}
	return float64(extreme) / float64(int(1)<<len(xs))
}

func TestTheSignTestCountsTheWaysToLieOnTwoSides(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := 1; n <= 9; n++ {
		for range 20 {
			var xs []float64
			for range n {
				xs = append(xs, r.NormFloat64()+0.5)
			}
			p, _, _ := SignTest(xs, 0)
			require.InDelta(t, bySides(xs), p, 1e-9, xs)
		}
	}
	p, low, high := SignTest([]float64{1, 1, 1, 1, 1, 1}, 1)
	require.EqualValues(t, 1, p)
	require.EqualValues(t, 1, low)
	require.EqualValues(t, 1, high)
}

// Nine of sixteen a little below 0 and seven far above it: their mean is above 0, their median is not.
func TestTheMedianLiesInItsInterval(t *testing.T) {
	for n := PairsNeeded; n <= 40; n++ {
		for far := range n + 1 {
			var xs []float64
			for i := range n {
				xs = append(xs, map[bool]float64{true: 1, false: -0.01}[i < far])
			}
			p, low, high := SignTest(xs, 0)
			require.GreaterOrEqual(t, Median(xs), low, xs)
			require.LessOrEqual(t, Median(xs), high, xs)
			require.Equal(t, p < Alpha, low > 0 || high < 0, xs)
		}
	}
}

func TestItTakesSixPairs(t *testing.T) {
	p, low, high := SignTest([]float64{1, 2, 3, 4, 5}, 0)
	require.GreaterOrEqual(t, p, Alpha)
	require.Equal(t, math.Inf(-1), low)
	require.Equal(t, math.Inf(1), high)
	p, low, high = SignTest([]float64{1, 2, 3, 4, 5, 6}, 0)
	require.InDelta(t, 2.0/64, p, 1e-9)
	require.EqualValues(t, 1, low)
	require.EqualValues(t, 6, high)
	require.Less(t, p, Alpha)
}

func TestTheIntervalIsTheOneThatTheTestInverts(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		var xs []float64
		for range 6 + r.IntN(5) {
			xs = append(xs, r.NormFloat64())
		}
		_, low, high := SignTest(xs, 0)
		for shift, rejected := range map[float64]bool{low - 1e-6: true, low + 1e-6: false, high - 1e-6: false, high + 1e-6: true} {
			p, _, _ := SignTest(xs, shift)
			require.Equal(t, rejected, p < Alpha, xs)
		}
	}
}

func TestPairsOfOneDistributionRarelySeemToDiffer(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for n, trials := range map[int]int{PairsNeeded: 4000, 10: 4000, 20: 4000, 1500: 40} {
		found, covered := 0, 0
		for range trials {
			var xs []float64
			for range n {
				xs = append(xs, math.Log(r.ExpFloat64()/r.ExpFloat64()))
			}
			p, low, high := SignTest(xs, 0)
			if p < Alpha {
				found++
			}
			if low <= 0 && 0 <= high {
				covered++
			}
		}
		require.Equal(t, trials-found, covered, n)
		require.LessOrEqual(t, float64(found)/float64(trials), Alpha+3*math.Sqrt(Alpha/float64(trials)), n)
	}
}
