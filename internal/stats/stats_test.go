package stats

import (
	"math"
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

// byFlips tries every change of signs.
func byFlips(xs []float64) float64 {
	sum := func(set int) (s float64) {
		for i, x := range xs {
			if set>>i&1 == 1 {
				x = -x
			}
			s += x
		}
		return s
	}
	extreme := 0
	for set := range 1 << len(xs) {
		if math.Abs(sum(set)) >= math.Abs(sum(0))-1e-9 {
			extreme++
		}
	}
	return float64(extreme) / float64(int(1)<<len(xs))
}

func TestPairedIsThePermutationTest(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := 1; n <= 9; n++ {
		for range 20 {
			var xs []float64
			for range n {
				xs = append(xs, r.NormFloat64()+0.5)
			}
			p, _, _ := Paired(xs)
			require.InDelta(t, byFlips(xs), p, 1e-9, xs)
		}
	}
	p, low, high := Paired([]float64{0, 0, 0, 0, 0, 0})
	require.EqualValues(t, 1, p)
	require.Zero(t, low)
	require.Zero(t, high)
}

func TestItTakesSixPairs(t *testing.T) {
	p, low, high := Paired([]float64{1, 2, 3, 4, 5})
	require.GreaterOrEqual(t, p, Alpha)
	require.Equal(t, math.Inf(-1), low)
	require.Equal(t, math.Inf(1), high)
	p, low, high = Paired([]float64{1, 2, 3, 4, 5, 6})
	require.Equal(t, 2.0/64, p)
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
		_, low, high := Paired(xs)
		for shift, rejected := range map[float64]bool{low - 1e-6: true, low + 1e-6: false, high - 1e-6: false, high + 1e-6: true} {
			var moved []float64
			for _, x := range xs {
				moved = append(moved, x-shift)
			}
			p, _, _ := Paired(moved)
			require.Equal(t, rejected, p < Alpha, xs)
		}
	}
}

func TestPairsOfOneDistributionRarelySeemToDiffer(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for n, trials := range map[int]int{PairsNeeded: 4000, 10: 1000, enumeratedMost + 4: 30} {
		found, covered := 0, 0
		for range trials {
			var xs []float64
			for range n {
				xs = append(xs, math.Log(r.ExpFloat64()/r.ExpFloat64()))
			}
			p, low, high := Paired(xs)
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
