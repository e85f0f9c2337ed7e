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
	for took, want := range map[time.Duration]int64{0: 8, ms: 3, 2 * ms: 3, 3 * ms: 2, 4 * ms: 2} {
		share, most := times.Above(took)
		require.Equal(t, float64(want)/8, share)
		require.Equal(t, AtMost(want, 8), most)
	}
	one := Count([]time.Duration{ms}, nil, 0)
	require.Equal(t, ms, one.Mean())
	share, _ := one.Above(0)
	require.Equal(t, 1.0, share)
	var none Times
	require.Zero(t, none.Longest())
	require.Zero(t, none.Mean())
	took, ok := none.Quantile(0.5)
	require.Zero(t, took)
	require.False(t, ok)
	share, most := none.Above(ms)
	require.Zero(t, share)
	require.Equal(t, 1.0, most)
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

func TestGapHasTheMeanOfItsLaw(t *testing.T) {
	require.InEpsilon(t, (150*150+200*200/12.0)/(2*150), gap(50, 250, 1), 1e-9, "the mean rest of a delay")
	require.InEpsilon(t, 2.0/7, gap(0, 2, 3), 1e-9)
	require.InEpsilon(t, 100.0/4, gap(100, 100, 3), 1e-9, "the first of three that are spread evenly")
}

func TestVotesSplitBetweenNeighbouringProbesOfAllMasters(t *testing.T) {
	of := func(trips ...time.Duration) Round { return Round{Trips: trips} }
	m := Measured{Masters: 3, Rounds: []Round{of(0, 4, 7), of(2, 6), of(-1, 6, 9), of(4, 2, 9), of(5, 5, 5)}}
	require.Equal(t, []float64{2, 1}, m.SplitGaps())
	require.Empty(t, Measured{Masters: 3, Rounds: m.Rounds[:3]}.SplitGaps(), "of one probe nothing is known")
	require.Empty(t, Measured{Masters: 1, Rounds: []Round{of(1), of(2)}}.SplitGaps())
	require.Equal(t, 0.5, SplitVotes([]float64{2}, 3, 12))
	require.Equal(t, 1.0, SplitVotes([]float64{4}, 3, 11))
	require.Equal(t, 0.75, SplitVotes([]float64{100, 2}, 3, 12), "no vote splits twice")
	require.Zero(t, SplitVotes(nil, 3, 11))
	require.Equal(t, 10.0, BestSpread([]float64{1}, 2, 10))
	require.Zero(t, BestSpread([]float64{0}, 2, 10))
}

func TestDelaysFollowFromTheWayTheReleaseAndTheHold(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		trip, release, hold time.Duration
		waiters             int
		held, split         time.Duration
	}{
		{ms, 0, 98 * ms, 2, 19 * ms, 4 * ms}, // a tenth of 100 ms, over a gap of 13/24 of the delay
		{ms, 0, 98 * ms, 3, 30 * ms, 4 * ms}, // two that wait: 41/120 of it
		{ms, 49 * ms, 50 * ms, 2, 19 * ms, 4 * ms},
		{ms, 0, 0, 2, 10 * ms, 4 * ms},          // ten round trips
		{10 * us, 0, 0, 2, 2 * ms, 100 * us},    // the least
		{100 * ms, 0, 0, 2, 250 * ms, 250 * ms}, // the longest
		{ms, 0, time.Hour, 2, 250 * ms, 4 * ms},
	} {
		m := Measured{Masters: 3}
		if c.release > 0 {
			m.Releases = Count([]time.Duration{ms, c.release, time.Second}, nil, 0)
		}
		held, split, votes := m.retries(c.trip, c.hold, time.Hour, c.waiters)
		require.Equal(t, c.held, held, c)
		require.Equal(t, c.split, split, c)
		require.Zero(t, votes, "not known")
	}
	trips := func(a, b time.Duration) Round { return Round{Trips: []time.Duration{a, b, b}} }
	m := Measured{Masters: 3, Rounds: []Round{trips(ms, 3*ms), trips(3*ms, ms)}}
	require.Equal(t, []float64{float64(ms)}, m.SplitGaps())
	_, split, votes := m.retries(ms, time.Hour, time.Hour, 2)
	require.Equal(t, 6*ms, split, "2 + sqrt(4 + 2*3*2)")
	require.Equal(t, 2.0/6, votes)
	for longest, want := range map[time.Duration]time.Duration{-ms: 10 * ms, 9 * ms: 10 * ms, 119 * ms: 110 * ms, 251 * ms: 250 * ms} {
		held, _, _ := m.retries(ms, time.Hour, longest, 2)
		require.Equal(t, want, held, longest)
	}
}
