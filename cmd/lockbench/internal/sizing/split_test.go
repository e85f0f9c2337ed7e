package sizing

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
)

// split plays one vote: k callers begin at the given times, each master votes for the
// request that comes first.
func split(starts []float64, up, q int, spread Spread, rng *rand.Rand, masters int) bool {
	times := make([][]float64, len(starts))
	for i := range times {
		times[i] = make([]float64, masters)
		spread(rng, times[i])
	}
	votes := make([]int, len(starts))
	for m := range up {
		best := 0
		for i := range starts {
			if starts[i]+times[i][m] < starts[best]+times[best][m] {
				best = i
			}
		}
		if votes[best]++; votes[best] >= q {
			return false
		}
	}
	return true
}

// even is one-way times between 0 and 4 of any caller to any master.
func even(rng *rand.Rand, to []float64) {
	for i := range to {
		to[i] = 4 * rng.Float64()
	}
}

func TestVotesOfCallersAtOnceAreSplitAsOftenAsItSays(t *testing.T) {
	rng := seeded(1)
	const n = 30_000
	for _, c := range []struct{ k, masters int }{{2, 5}, {3, 5}, {10, 5}, {2, 4}, {3, 3}, {5, 7}} {
		lost := 0
		for range n {
			if split(make([]float64, c.k), c.masters, quorum.Size(c.masters), even, rng, c.masters) {
				lost++
			}
		}
		require.InDelta(t, float64(lost)/n, SplitAtOnce(c.k, c.masters, quorum.Size(c.masters)), 0.012, "%+v", c)
	}
	require.Zero(t, SplitAtOnce(1, 5, 3))
	require.InDelta(t, 0, SplitAtOnce(2, 5, 3), 1e-12)
}

func TestSpreadVotesAreSplitAsOftenAsItSays(t *testing.T) {
	rng := seeded(2)
	for _, c := range []struct {
		masters, down, k int
		span             float64
	}{{5, 1, 10, 240}, {5, 0, 20, 240}, {4, 0, 4, 120}, {5, 2, 6, 320}, {3, 1, 3, 160}} {
		area := MeasureSplit(even, c.masters, c.down, 300_000, rng)
		want := area.Probability(c.k, c.span)
		const n = 60_000
		lost := 0
		for range n {
			starts := make([]float64, c.k)
			for i := range starts {
				starts[i] = rng.Float64() * c.span
			}
			if split(starts, c.masters-c.down, quorum.Size(c.masters), even, rng, c.masters) {
				lost++
			}
		}
		lo, hi := ClopperPearson(int64(lost), n, 0.99)
		// First order in spread/span: some percent too much or too little.
		require.GreaterOrEqual(t, want, lo*0.85, "%+v %v", c, area)
		require.LessOrEqual(t, want, hi*1.15, "%+v %v", c, area)
		require.Less(t, area.Error, area.Area/20)
	}
}

func TestSplitProbabilityAtItsEnds(t *testing.T) {
	two := SplitArea{Callers: 2, Area: 1}
	require.Zero(t, two.Probability(1, 10))
	require.Equal(t, 1.0, two.Probability(2, 0))
	require.Equal(t, 1.0, two.Probability(100, 10))
	require.Equal(t, SplitArea{Callers: 3}, MeasureSplit(Rows{}.Spreads(), 5, 0, 10, seeded(1)))
}

func TestBestSpreadIsTheLeastCost(t *testing.T) {
	a := SplitArea{Callers: 2, Area: 0.3}
	for _, k := range []int{2, 5, 40} {
		cost := func(d float64) float64 { return (d/float64(k+1) + 7) / (1 - float64(k)*a.Area/d) }
		best := a.BestSpread(k, 7)
		require.Less(t, cost(best), cost(best*1.02))
		require.Less(t, cost(best), cost(best*0.98))
	}
}

func TestOneWayTimesAreHalfOfWhatARowDiffersBy(t *testing.T) {
	spread := Rows{{10, 14, 12}, {-1, 2, 3}}.Spreads()
	to := make([]float64, 3)
	spread(seeded(3), to)
	require.Equal(t, []float64{0, 2, 1}, to)
}
