package sizing

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStallsThatComeTogetherAreOne(t *testing.T) {
	at, long := Clusters([]float64{0, 30, 500, 560, 1000}, []float64{5, 40, 10, 3, 1}, 100)
	require.Equal(t, []float64{0, 500, 1000}, at)
	require.Equal(t, []float64{40, 10, 1}, long)
}

func TestDrawnBlocksKeepTogetherWhatCameTogether(t *testing.T) {
	var at []float64
	for i := range 1000 {
		at = append(at, float64(i))
	}
	b := DrawBlocks(1000, 10, seeded(1))
	picked, when := b.Pick(at)
	require.Len(t, picked, 1000)
	require.Equal(t, at, when)
	breaks := 0
	for i := 1; i < len(picked); i++ {
		if picked[i] != picked[i-1]+1 {
			breaks++
			require.Zero(t, picked[i]%100)
		}
	}
	require.Positive(t, breaks)
	require.Less(t, breaks, 10)
}

// A bad moment is one sample of the tail, however many stalls it has.
func TestTailOfGroupsHasOneSampleForEach(t *testing.T) {
	rng := seeded(2)
	var at, long []float64
	for i := range 60 {
		for j := range 1 + 40*(i%30/29) {
			at, long = append(at, 1000*float64(i)+10*float64(j)), append(long, 1+rng.ExpFloat64())
		}
	}
	_, longest := Clusters(at, long, 100)
	require.Len(t, longest, 60)
	met, starting := Met(at, long, 1, 100, 1000, ShapePrior)
	each := Samples(longest, nil)
	require.EqualValues(t, len(at), starting)
	require.Equal(t, each.tail.scale, met.tail.scale)
	require.Equal(t, each.tail.shape, met.tail.shape)
	require.Equal(t, met.SampleSurvival(met.tail.from), met.tail.share, "each value is as likely as it was")
}

func TestWhoBeginsAtAnyMomentMeetsTheSumOfStalls(t *testing.T) {
	rng := seeded(3)
	var at, long []float64
	const all = 2e6
	for now := 0.0; now < all; now += 300 * rng.ExpFloat64() {
		for range 4 {
			at, long = append(at, now), append(long, 5*rng.ExpFloat64())
			now += long[len(long)-1] + 20*rng.Float64()
		}
	}
	met, starting := Met(at, long, 50, 100, len(at), ShapePrior)
	const n = 50_000
	for _, limit := range []float64{5, 15, 25} {
		over := 0
		for range n {
			begin, sum := all*rng.Float64(), 0.0
			for i := range at {
				if at[i] >= begin && at[i] < begin+50+sum {
					sum += long[i]
				} else if at[i] > begin+200 {
					break
				}
			}
			if sum > limit {
				over++
			}
		}
		near(t, float64(over)/n, starting/all*met.SampleSurvival(limit), 0.15, "%v", limit)
	}
}
