package sizing

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
)

func TestIntervalsHoldWhatTheyPromise(t *testing.T) {
	for _, c := range []struct {
		n int64
		p float64
	}{{20, 0.1}, {200, 0.01}, {1000, 0.5}, {50, 0.999}} {
		seen := distuv.Binomial{N: float64(c.n), P: c.p}
		var inside float64
		for k := range c.n + 1 {
			lo, hi := ClopperPearson(k, c.n, 0.95)
			if lo <= c.p && c.p <= hi {
				inside += seen.Prob(float64(k))
			}
		}
		require.GreaterOrEqual(t, inside, 0.95, "%+v", c)
		require.Less(t, inside, 0.9999, "%+v", c)
	}
	near(t, 1-math.Pow(0.025, 1/1000.0), second(ClopperPearson(0, 1000, 0.95)), 1e-6)
	lo, hi := ClopperPearson(7, 7, 0.95)
	require.Equal(t, 1.0, hi)
	require.Less(t, lo, 1.0)
}

func second(_, b float64) float64 { return b }

func TestRankIntervalHoldsTheQuantile(t *testing.T) {
	rng := seeded(2)
	for _, p := range []float64{0.5, 0.9, 0.99} {
		const n, runs = 1000, 2000
		lo, hi := RankInterval(n, p, 0.95)
		require.Less(t, lo, hi)
		inside := 0
		for range runs {
			below := int64(0) // samples below the quantile
			for range n {
				if rng.Float64() < p {
					below++
				}
			}
			if lo <= below && below < hi {
				inside++
			}
		}
		require.InDelta(t, 0.96, float64(inside)/runs, 0.02, "p %v", p)
	}
	lo, hi := RankInterval(100, 0.999, 0.95)
	require.EqualValues(t, 101, hi, "no sample bounds it from above")
	require.Less(t, lo, int64(101))
}

func TestMishapsTogether(t *testing.T) {
	near(t, 1-0.9*0.8*0.7, Together(0.1, 0.2, 0.3), 1e-12)
	near(t, 3e-15, Together(1e-15, 2e-15), 1e-6)
	require.Equal(t, 1.0, Together(1, 0.5))
	near(t, 1-math.Pow(0.99, 8), Within(0.01, 80, 10), 1e-9)
}

func TestDriftCoversTheTwoClocksThatDifferMost(t *testing.T) {
	near(t, (33+12)*1e-6, DriftNeeded([]float64{30, -10, 5}, []float64{3, 2, 1}), 1e-9)
	near(t, 33e-6, DriftNeeded([]float64{30, 20}, []float64{3, 1}), 1e-9)
	require.Zero(t, DriftNeeded(nil, nil))
}
