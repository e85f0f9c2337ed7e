package stats

import (
	"fmt"
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

// ramp is n numbers from first on, all different.
func ramp(first float64, n int) (xs []float64) {
	for i := range n {
		xs = append(xs, first+float64(i))
	}
	return xs
}

// The largest U that is significant at 0.05, two-sided, by the usual tables.
func TestMannWhitneyAgreesWithTheCriticalValuesOfTheTables(t *testing.T) {
	for _, c := range []struct{ n, m, critical int }{
		{4, 4, 0}, {3, 5, 0}, {5, 5, 2}, {6, 6, 5}, {5, 10, 8}, {8, 8, 13}, {10, 10, 23}, {15, 15, 64}, {20, 20, 127},
	} {
		at := func(u int) float64 { return MannWhitney(withU(c.n, c.m, u)) }
		require.LessOrEqual(t, at(c.critical), Alpha, c)
		require.Greater(t, at(c.critical+1), Alpha, c)
	}
	require.InDelta(t, 2.0/70, MannWhitney(ramp(1, 4), ramp(10, 4)), 1e-12)
}

// withU makes samples without ties in which u pairs have the greater one in a.
func withU(n, m, u int) (a, b []float64) {
	for j := range m {
		b = append(b, float64(10*(j+1)))
	}
	for i := range n { // each a passes as many of b as are still wanted
		pass := min(u, m)
		u -= pass
		a = append(a, float64(10*pass)+1+float64(i)/100)
	}
	return a, b
}

// byEnumeration looks at every way to share the samples out, ties and all.
func byEnumeration(a, b []float64) float64 {
	ranks, sum := doubleRanks(a, b)
	var all, low, high float64
	for set := uint(0); set < 1<<len(ranks); set++ {
		if bits.OnesCount(set) != len(a) {
			continue
		}
		s := 0
		for i, r := range ranks {
			if set&(1<<i) != 0 {
				s += r
			}
		}
		all++
		if s <= sum {
			low++
		}
		if s >= sum {
			high++
		}
	}
	return min(1, 2*min(low, high)/all)
}

func TestMannWhitneyAgreesWithEnumerationAlsoOfTies(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		draw := func(n int) (xs []float64) {
			for range n {
				xs = append(xs, float64(r.IntN(6)))
			}
			return xs
		}
		a, b := draw(1+r.IntN(6)), draw(1+r.IntN(6))
		require.InDelta(t, byEnumeration(a, b), MannWhitney(a, b), 1e-12, fmt.Sprint(a, b))
	}
}

func TestMannWhitneyOfManyIsCloseToTheExactValue(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		var a, b []float64
		for range exactMost {
			a, b = append(a, float64(r.IntN(100))), append(b, float64(r.IntN(100)+10))
		}
		ranks, sum := doubleRanks(a, b)
		require.InDelta(t, exact(ranks, sum, len(a)), normal(ranks, sum, len(a), len(b)), 0.002)
	}
	same := make([]float64, exactMost+1)
	require.EqualValues(t, 1, MannWhitney(same, same))
}

func TestSamplesOfOneDistributionRarelySeemToDiffer(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	const trials = 4000
	found := 0
	for range trials {
		var a, b []float64
		for range 6 {
			a, b = append(a, r.ExpFloat64()), append(b, r.ExpFloat64())
		}
		if MannWhitney(a, b) < Alpha {
			found++
		}
	}
	require.InDelta(t, 0.041, float64(found)/trials, 0.01, "38 of 924 cases are at or beyond the critical value")
}

func TestLeastPTellsHowManyRoundsItTakes(t *testing.T) {
	require.Greater(t, LeastP(3, 3), Alpha)
	require.Greater(t, LeastP(3, 4), Alpha)
	require.Less(t, LeastP(3, 5), Alpha)
	require.Less(t, LeastP(4, 4), Alpha)
	require.EqualValues(t, 1, LeastP(0, 9))
	for n := 1; n < 8; n++ {
		require.InDelta(t, MannWhitney(ramp(0, n), ramp(100, n+1)), LeastP(n, n+1), 1e-12)
	}
	require.EqualValues(t, 1, MannWhitney(nil, ramp(0, 3)))
}

func TestIntervalsHoldTheTruthAboutAsOftenAsTheySay(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	const trials = 100
	median, ratio := 0, 0
	for range trials {
		var a, b []float64
		for range 20 {
			a, b = append(a, 100+10*r.NormFloat64()), append(b, 200+20*r.NormFloat64())
		}
		if low, high := MedianInterval(a); low <= 100 && 100 <= high {
			median++
		}
		if low, high := RatioInterval(a, b); low <= 2 && 2 <= high {
			ratio++
		}
	}
	require.Greater(t, median, trials*88/100)
	require.Greater(t, ratio, trials*88/100)
	require.Less(t, median+ratio, 2*trials, "an interval that always holds says nothing")
}

func TestIntervalsAreRepeatable(t *testing.T) {
	a, b := ramp(10, 7), ramp(20, 7)
	low, high := RatioInterval(a, b)
	again, too := RatioInterval(a, b)
	require.Equal(t, [2]float64{low, high}, [2]float64{again, too})
	require.False(t, math.IsNaN(low))
	require.Less(t, low, high)
}
