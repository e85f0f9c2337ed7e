package result

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

// limit is a system that meets its objectives up to a rate.
func limit(capacity float64) func(float64) (CapacityStep, error) {
	return func(rate float64) (CapacityStep, error) { return CapacityStep{Met: rate <= capacity}, nil }
}

// noisy is one that meets them at its capacity half of the time, less and less often above,
// and in 5 % of all runs does the opposite.
func noisy(r *rand.Rand, capacity, slope float64) func(float64) (CapacityStep, error) {
	return func(rate float64) (CapacityStep, error) {
		met := r.Float64() < 1/(1+math.Pow(rate/capacity, 1/slope))
		return CapacityStep{Met: met != (r.Float64() < 0.05)}, nil
	}
}

func rates(c Capacity) (all []float64) {
	for _, s := range c.Steps {
		all = append(all, s.RatePerS)
	}
	return all
}

// seeds is in how many of 200 searches the interval holds the truth, and their answers,
// ascending, as shares of the truth.
func seeds(t *testing.T, try func(r *rand.Rand, capacity float64) func(float64) (CapacityStep, error)) (covered int, answers []float64) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		capacity := 500 * math.Pow(100, r.Float64())
		c, err := FindCapacity(t.Context(), 1000, try(r, capacity))
		require.NoError(t, err)
		require.Len(t, c.Steps, c.Runs)
		require.LessOrEqual(t, c.Runs, CapacityRuns)
		if c.LowPerS <= capacity && (capacity <= c.HighPerS || c.HighPerS == 0) {
			covered++
		}
		answers = append(answers, c.RatePerS/capacity)
	}
	slices.Sort(answers)
	return covered, answers
}

// agreeing is the share of pairs of answers, ascending, that are within 1.2x of each other.
func agreeing(answers []float64) float64 {
	agree, pairs := 0, 0
	for i, low := range answers {
		for _, high := range answers[i+1:] {
			pairs++
			if high <= 1.2*low {
				agree++
			}
		}
	}
	return float64(agree) / float64(pairs)
}

func TestTheIntervalHoldsANoisyCapacityAndSearchesAgree(t *testing.T) {
	for _, slope := range []float64{0.01, 0.05, 0.1} {
		covered, answers := seeds(t, func(r *rand.Rand, capacity float64) func(float64) (CapacityStep, error) {
			return noisy(r, capacity, slope)
		})
		require.GreaterOrEqual(t, covered, 170, "slope %v", slope)
		if slope <= 0.05 {
			require.Greater(t, agreeing(answers), 0.95, "slope %v", slope)
		}
	}
}

func TestDisturbedRunsAreRepeatedAndNotCounted(t *testing.T) {
	covered, answers := seeds(t, func(r *rand.Rand, capacity float64) func(float64) (CapacityStep, error) {
		quiet := noisy(r, capacity, 0.02)
		return func(rate float64) (CapacityStep, error) {
			step, err := quiet(rate)
			if r.Float64() < 0.25 {
				return CapacityStep{Disturbed: true, Stalled: r.Float64() < 0.5}, nil
			}
			return step, err
		}
	})
	require.GreaterOrEqual(t, covered, 170)
	require.Greater(t, answers[10], 0.8)
	require.Less(t, answers[190], 1.2)

	runs := 0
	c, err := FindCapacity(t.Context(), 1000, func(rate float64) (CapacityStep, error) {
		runs++
		return CapacityStep{Disturbed: runs == 2, Met: runs != 2 && rate <= 5000}, nil
	})
	require.NoError(t, err)
	require.Equal(t, []float64{1000, 4000, 4000}, rates(c)[:3])
	require.Equal(t, 1, c.Disturbed)
	require.Zero(t, c.GeneratorPerS, "the same rate was met later")
	require.False(t, c.Limited())
}

func TestCapacityIsFoundFromAnyFirstRate(t *testing.T) {
	for _, first := range []float64{1, 100, 1000, 30_000} {
		for _, capacity := range []float64{3, 90, 1000, 1234, 41_500, 250_000} {
			c, err := FindCapacity(t.Context(), first, limit(capacity))
			require.NoError(t, err)
			if c.Runs == CapacityRuns && !c.Confirmed {
				continue // far from the first rate
			}
			require.True(t, c.Confirmed)
			require.InEpsilon(t, capacity, c.RatePerS, 0.1)
			require.LessOrEqual(t, c.RatePerS, capacity, "no rate above was met")
			require.LessOrEqual(t, c.LowPerS, capacity)
			require.GreaterOrEqual(t, c.HighPerS, capacity)
			require.LessOrEqual(t, c.HighPerS, c.LowPerS*CapacityClose*1.01)
			require.Greater(t, c.MissedPerS, capacity)
			for i, rate := range rates(c)[1:] {
				require.LessOrEqual(t, rate, slices.Max(rates(c)[:i+1])*capacityReach*1.01) // rounded
				require.GreaterOrEqual(t, rate*1.01, slices.Min(rates(c)[:i+1])/capacityReach)
			}
		}
	}
}

func TestCapacitySaysWhenThereIsNoEdge(t *testing.T) {
	c, err := FindCapacity(t.Context(), 50, limit(0))
	require.NoError(t, err)
	require.Zero(t, c.RatePerS)
	require.Zero(t, c.LowPerS)
	require.EqualValues(t, capacityLeast, c.MissedPerS)
	require.False(t, c.Confirmed)

	c, err = FindCapacity(t.Context(), 1e6, limit(1e12))
	require.NoError(t, err)
	require.InEpsilon(t, bench.MaxRate, c.RatePerS, 0.15)
	require.Zero(t, c.MissedPerS)
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
	require.InEpsilon(t, 20_000, c.RatePerS, 0.1)
	require.EqualValues(t, 1000, c.UnjudgedPerS)

	c, err = FindCapacity(t.Context(), 1000, few(900, 100)) // in vain
	require.NoError(t, err)
	require.Zero(t, c.RatePerS)
	require.InEpsilon(t, 900, c.UnjudgedPerS, 0.1)
	require.False(t, c.Limited())

	disturbed := false
	c, err = FindCapacity(t.Context(), 1000, func(rate float64) (CapacityStep, error) { // one below was disturbed
		disturbs := !disturbed && 300 < rate && rate < 900
		disturbed = disturbed || disturbs
		return CapacityStep{Disturbed: disturbs, Unjudged: !disturbs && rate < 900}, nil
	})
	require.NoError(t, err)
	require.Equal(t, 1, c.Disturbed)
	require.False(t, c.Limited(), "it was repeated")
}

func TestCapacityTellsALaggingGeneratorFromAMiss(t *testing.T) {
	lagging := func(generator, capacity float64) func(float64) (CapacityStep, error) {
		return func(rate float64) (CapacityStep, error) {
			return CapacityStep{Met: rate <= min(capacity, generator), Disturbed: rate > generator && rate <= capacity}, nil
		}
	}
	c, err := FindCapacity(t.Context(), 1000, lagging(5000, 1e12))
	require.NoError(t, err)
	require.True(t, c.Limited())
	require.False(t, c.Confirmed)
	require.InEpsilon(t, 5000, c.RatePerS, 0.1)
	require.InEpsilon(t, 5000, c.GeneratorPerS, 0.1)
	require.Zero(t, c.MissedPerS, "nothing was")

	c, err = FindCapacity(t.Context(), 1000, lagging(5000, 7000)) // missed above, not known between
	require.NoError(t, err)
	require.True(t, c.Limited())
	require.InEpsilon(t, 5000, c.RatePerS, 0.1)

	c, err = FindCapacity(t.Context(), 10_000, func(rate float64) (CapacityStep, error) { // lags far above the edge
		return CapacityStep{Met: rate <= 1000, Disturbed: rate > 6000}, nil
	})
	require.NoError(t, err)
	require.False(t, c.Limited())
	require.InEpsilon(t, 1000, c.RatePerS, 0.1)

	c, err = FindCapacity(t.Context(), 1000, func(rate float64) (CapacityStep, error) {
		return CapacityStep{Disturbed: true}, nil
	})
	require.NoError(t, err)
	require.Zero(t, c.RatePerS)
	require.Equal(t, c.Runs, c.Disturbed)
	require.True(t, c.Limited())
}

func TestARunIsRepeatedUntilTheMachineDoesNotStall(t *testing.T) {
	runs := 0
	c, err := FindCapacity(t.Context(), 1000, func(rate float64) (CapacityStep, error) {
		runs++
		return CapacityStep{Disturbed: runs < 6, Stalled: true, Met: runs >= 6 && rate <= 3000}, nil
	})
	require.NoError(t, err)
	require.Equal(t, []float64{1000, 1000, 1000, 1000, 1000, 1000, 4000}, rates(c)[:7])
	require.Equal(t, 5, c.Disturbed)
	require.InEpsilon(t, 3000, c.RatePerS, 0.1)

	c, err = FindCapacity(t.Context(), 1000, func(rate float64) (CapacityStep, error) {
		return CapacityStep{Disturbed: true, Stalled: true}, nil
	})
	require.NoError(t, err)
	require.Equal(t, CapacityRuns, c.Disturbed)
	require.Zero(t, c.RatePerS)
	require.True(t, c.Limited())
}

func TestMissesThatHaveNothingToDoWithTheRateOnlyWidenTheInterval(t *testing.T) {
	covered, answers := seeds(t, func(r *rand.Rand, capacity float64) func(float64) (CapacityStep, error) {
		quiet := noisy(r, capacity, 0.02)
		return func(rate float64) (CapacityStep, error) {
			step, err := quiet(rate)
			step.Met = step.Met && r.Float64() < 0.8
			return step, err
		}
	})
	require.GreaterOrEqual(t, covered, 170)
	require.Greater(t, answers[20], 0.8)
	require.Less(t, answers[190], 1.2)
}

func TestTheFirstRunMayLapse(t *testing.T) {
	for _, capacity := range []float64{100, 20_000} {
		runs := 0
		c, err := FindCapacity(t.Context(), 1000, func(rate float64) (CapacityStep, error) {
			runs++
			return CapacityStep{Met: (rate <= capacity) != (runs == 1)}, nil
		})
		require.NoError(t, err)
		require.InEpsilon(t, capacity, c.RatePerS, 0.1)
	}
}

func TestAMachineThatIsNeverTheSameGetsNoNarrowInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	c, err := FindCapacity(t.Context(), 1000, func(rate float64) (CapacityStep, error) {
		return CapacityStep{Met: r.Float64() < 0.5}, nil
	})
	require.NoError(t, err)
	require.False(t, c.Confirmed)
	require.Equal(t, CapacityRuns, c.Runs)
	require.Greater(t, c.HighPerS, c.LowPerS*CapacityClose)
}

func TestCapacityKeepsWhatItKnowsWhenARunFailsOrTheUserLeaves(t *testing.T) {
	broken := errors.New("broken")
	c, err := FindCapacity(t.Context(), 1000, func(rate float64) (CapacityStep, error) {
		if rate > 4000 {
			return CapacityStep{}, broken
		}
		return CapacityStep{Met: true}, nil
	})
	require.ErrorIs(t, err, broken)
	require.Equal(t, []float64{1000, 4000}, rates(c))
	require.EqualValues(t, 4000, c.RatePerS)
	require.False(t, c.Confirmed)

	ctx, cancel := context.WithCancel(t.Context())
	c, err = FindCapacity(ctx, 1000, func(rate float64) (CapacityStep, error) {
		if rate > 4000 {
			cancel()
		}
		return CapacityStep{Met: true}, nil
	})
	require.NoError(t, err)
	require.Equal(t, []float64{1000, 4000}, rates(c))
}
