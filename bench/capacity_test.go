package bench

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// limit is a system that meets its objectives up to a rate.
func limit(capacity float64) func(float64) (CapacityStep, error) {
	return func(rate float64) (CapacityStep, error) { return CapacityStep{Met: rate <= capacity}, nil }
}

func rates(c Capacity) (all []float64) {
	for _, s := range c.Steps {
		all = append(all, s.RatePerS)
	}
	return all
}

func TestCapacityIsFoundWithinFivePercent(t *testing.T) {
	for _, first := range []float64{1, 100, 1000, 30_000} {
		for _, capacity := range []float64{3, 90, 1000, 1234, 41_500, 250_000} {
			c, err := FindCapacity(t.Context(), first, limit(capacity))
			require.NoError(t, err)
			require.LessOrEqual(t, len(c.Steps), CapacityRuns)
			if len(c.Steps) == CapacityRuns {
				continue // far from the first rate
			}
			require.True(t, c.Confirmed)
			require.LessOrEqual(t, c.RatePerS, capacity)
			require.Greater(t, c.MissedPerS, capacity)
			require.LessOrEqual(t, c.MissedPerS, c.RatePerS*capacityClose)
		}
	}
}

func TestCapacityDoublesThenHalvesTheGapThenConfirms(t *testing.T) {
	c, err := FindCapacity(t.Context(), 1000, limit(5000))
	require.NoError(t, err)
	require.Equal(t, []float64{1000, 2000, 4000, 8000, 8000, 5660, 4760, 5190, 4970, 4970, 4970}, rates(c))
	require.True(t, c.Confirmed)
	for i, s := range c.Steps {
		require.Equal(t, i >= 9, s.Confirms)
	}
	c, err = FindCapacity(t.Context(), 1000, limit(300))
	require.NoError(t, err)
	require.Equal(t, []float64{1000, 1000, 500, 250, 354, 298, 298, 298}[:4], rates(c)[:4])
	require.InDelta(t, 300, c.RatePerS, 15)
}

func TestCapacitySaysWhenThereIsNoEdge(t *testing.T) {
	c, err := FindCapacity(t.Context(), 50, limit(0))
	require.NoError(t, err)
	require.Zero(t, c.RatePerS)
	require.EqualValues(t, capacityLeast, c.MissedPerS)
	require.False(t, c.Confirmed)

	c, err = FindCapacity(t.Context(), 1e6, limit(1e12))
	require.NoError(t, err)
	require.EqualValues(t, maxRate, c.RatePerS)
	require.Zero(t, c.MissedPerS)
	require.True(t, c.Confirmed)
}

func TestCapacityGoesUpWhereThereAreTooFewSamples(t *testing.T) {
	few := func(least, capacity float64) func(float64) (CapacityStep, error) {
		return func(rate float64) (CapacityStep, error) {
			return CapacityStep{Met: rate >= least && rate <= capacity, Unjudged: rate < least}, nil
		}
	}
	c, err := FindCapacity(t.Context(), 1000, few(3333, 20_000))
	require.NoError(t, err)
	require.True(t, c.Confirmed)
	require.InDelta(t, 20_000, c.RatePerS, 1000)
	require.EqualValues(t, 2000, c.UnjudgedPerS)

	c, err = FindCapacity(t.Context(), 1000, few(900, 100)) // in vain
	require.NoError(t, err)
	require.Zero(t, c.RatePerS)
	require.InDelta(t, 900, c.UnjudgedPerS, 45)
	require.LessOrEqual(t, c.MissedPerS, c.UnjudgedPerS*capacityClose)
	require.Less(t, len(c.Steps), 10)
}

func TestCapacityTellsALaggingGeneratorFromAMiss(t *testing.T) {
	lagging := func(generator, capacity float64) func(float64) (CapacityStep, error) {
		return func(rate float64) (CapacityStep, error) {
			return CapacityStep{Met: rate <= min(capacity, generator), Generator: rate > generator && rate <= capacity}, nil
		}
	}
	c, err := FindCapacity(t.Context(), 1000, lagging(5000, 1e12))
	require.NoError(t, err)
	require.True(t, c.GeneratorLimits())
	require.True(t, c.Confirmed)
	require.InDelta(t, 5000, c.RatePerS, 250)
	require.InDelta(t, 5000, c.GeneratorPerS, 250)
	require.Zero(t, c.MissedPerS, "nothing was")

	c, err = FindCapacity(t.Context(), 1000, lagging(5000, 7000)) // missed at 8000, not known below
	require.NoError(t, err)
	require.True(t, c.GeneratorLimits())
	require.InDelta(t, 5000, c.RatePerS, 250)
	require.EqualValues(t, 8000, c.MissedPerS)

	c, err = FindCapacity(t.Context(), 10_000, func(rate float64) (CapacityStep, error) { // lags far above the edge
		return CapacityStep{Met: rate <= 1000, Generator: rate > 6000}, nil
	})
	require.NoError(t, err)
	require.False(t, c.GeneratorLimits())
	require.InDelta(t, 1000, c.RatePerS, 50)
	require.InDelta(t, 1000, c.MissedPerS, 50)

	c, err = FindCapacity(t.Context(), 1000, func(rate float64) (CapacityStep, error) {
		return CapacityStep{Generator: true}, nil
	})
	require.NoError(t, err)
	require.Zero(t, c.RatePerS)
	require.True(t, c.GeneratorLimits())
}

func TestCapacityDoesNotBelieveASingleMissFarFromTheEdge(t *testing.T) {
	runs := 0
	c, err := FindCapacity(t.Context(), 1000, func(rate float64) (CapacityStep, error) {
		runs++
		return CapacityStep{Met: runs != 2 && rate <= 20_000}, nil
	})
	require.NoError(t, err)
	require.InDelta(t, 20_000, c.RatePerS, 1000)
}

func TestCapacityStepsBackFromARateThatWasLuck(t *testing.T) {
	runs := map[float64]int{}
	c, err := FindCapacity(t.Context(), 1000, func(rate float64) (CapacityStep, error) {
		runs[rate]++
		return CapacityStep{Met: rate <= 4600 || rate <= 5000 && runs[rate] == 1}, nil
	})
	require.NoError(t, err)
	require.True(t, c.Confirmed)
	require.LessOrEqual(t, c.RatePerS, 4600.0)
	require.Greater(t, c.RatePerS, 4600*capacityBack*capacityBack)
	require.Greater(t, c.MissedPerS, c.RatePerS)

	c, err = FindCapacity(t.Context(), 1000, func(rate float64) (CapacityStep, error) { // never twice
		runs[rate+1]++
		return CapacityStep{Met: rate <= 5000 && runs[rate+1] == 1}, nil
	})
	require.NoError(t, err)
	require.Len(t, c.Steps, CapacityRuns)
	require.False(t, c.Confirmed)
	require.Less(t, c.RatePerS, c.MissedPerS)
}

func TestCapacityBearsANoisyEdge(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		c, err := FindCapacity(t.Context(), 1000, func(rate float64) (CapacityStep, error) {
			return CapacityStep{Met: rate <= 20_000*(1+0.05*r.NormFloat64())}, nil
		})
		require.NoError(t, err)
		if c.Confirmed {
			require.InDelta(t, 20_000, c.RatePerS, 4000, "seed %d: %v", seed, rates(c))
		}
	}
}

func TestCapacityKeepsWhatItKnowsWhenARunFailsOrTheUserLeaves(t *testing.T) {
	broken := errors.New("broken")
	c, err := FindCapacity(t.Context(), 1000, func(rate float64) (CapacityStep, error) {
		if rate > 2000 {
			return CapacityStep{}, broken
		}
		return CapacityStep{Met: true}, nil
	})
	require.ErrorIs(t, err, broken)
	require.Equal(t, []float64{1000, 2000}, rates(c))
	require.EqualValues(t, 2000, c.RatePerS)
	require.False(t, c.Confirmed)

	ctx, cancel := context.WithCancel(t.Context())
	c, err = FindCapacity(ctx, 1000, func(rate float64) (CapacityStep, error) {
		if rate > 2000 {
			cancel()
		}
		return CapacityStep{Met: true}, nil
	})
	require.NoError(t, err)
	require.Equal(t, []float64{1000, 2000}, rates(c))
}
