package result

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

// outcome returns a run that met the objectives, or missed them.
func outcome(met bool) CapacityRun {
	if met {
		return CapacityRun{Outcome: RateMet}
	}
	return CapacityRun{Outcome: RateMissed}
}

// found searches from 1,000/s; one returns each run.
func found(t *testing.T, one func(rate float64) CapacityRun) Capacity {
	c, err := FindCapacity(t.Context(), 1000, func(rate float64) (CapacityRun, error) { return one(rate), nil })
	require.NoError(t, err)
	return c
}

func TestCapacityIsFoundFromAnyFirstRate(t *testing.T) {
	for _, first := range []float64{1, 100, 1000, 30_000} {
		for _, capacity := range []float64{3, 90, 1000, 1234, 41_500, 250_000} {
			runs := 0
			c, err := FindCapacity(t.Context(), first, func(rate float64) (CapacityRun, error) {
				runs++
				return outcome(rate <= capacity), nil
			})
			require.NoError(t, err)
			require.LessOrEqual(t, c.RatePerS, capacity)
			require.Greater(t, c.NextPerS, capacity)
			require.LessOrEqual(t, c.NextPerS, c.RatePerS*searchClose)
			require.Equal(t, 3, c.At(c.RatePerS).Met)
			require.Equal(t, 3, c.At(c.NextPerS).Missed)
			require.False(t, c.Unknown())
			require.LessOrEqual(t, runs, 32, "from %v to %v", first, capacity)
		}
	}
}

// At its capacity a run meets the objectives half of the time; 5 % of all other runs have the wrong outcome.
func TestSearchesOfANoisyCapacityAgree(t *testing.T) {
	far := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		capacity := 500 * math.Pow(100, r.Float64())
		c := found(t, func(rate float64) CapacityRun {
			met := r.Float64() < 1/(1+math.Pow(rate/capacity, 1/0.02))
			return outcome(met != (r.Float64() < 0.05))
		})
		if c.RatePerS > 1.15*capacity || c.RatePerS < capacity/1.15 {
			far++
		}
	}
	require.Less(t, far, 20, "two lapses of three at one rate are rare")
}

func TestTheMajorityOfThreeRunsDecides(t *testing.T) {
	runs := map[float64]int{}
	c := found(t, func(rate float64) CapacityRun {
		runs[rate]++
		return outcome((rate <= 5000) != (runs[rate] == 1)) // the first is always wrong
	})
	require.InEpsilon(t, 5000, c.RatePerS, 0.1)
	require.Equal(t, 2, c.At(c.RatePerS).Met)
	require.Equal(t, 1, c.At(c.RatePerS).Missed)
}

func TestASpoiledRunIsRepeatedAndDoesNotCount(t *testing.T) {
	runs := map[float64]int{}
	c := found(t, func(rate float64) CapacityRun {
		if runs[rate]++; runs[rate] <= 2 {
			return CapacityRun{Outcome: RateSpoiled}
		}
		return outcome(rate <= 5000)
	})
	require.InEpsilon(t, 5000, c.RatePerS, 0.1)
	require.Equal(t, 2, c.At(c.RatePerS).Spoiled)
	require.False(t, c.Unknown())
}

func TestMissesAmongAsManySpoiledRunsDecideNothing(t *testing.T) {
	runs := map[float64]int{}
	c := found(t, func(rate float64) CapacityRun {
		runs[rate]++
		switch {
		case rate <= 5000:
			return outcome(true)
		case runs[rate]%2 == 0:
			return outcome(false) // missed, but likely spoiled as well
		}
		return CapacityRun{Outcome: RateSpoiled}
	})
	require.InEpsilon(t, 5000, c.RatePerS, 0.1)
	require.Equal(t, RateSpoiled, c.At(c.NextPerS).Outcome)
	require.True(t, c.Unknown())
}

func TestACapacityBelowSpoiledRunsIsNotKnown(t *testing.T) {
	c := found(t, func(rate float64) CapacityRun {
		if rate > 3000 {
			return CapacityRun{Outcome: RateSpoiled, Why: "the machine stalled"}
		}
		return outcome(true)
	})
	require.InEpsilon(t, 3000, c.RatePerS, 0.1)
	require.True(t, c.Unknown())
	require.Equal(t, "the machine stalled", c.At(c.NextPerS).Why)

	c = found(t, func(float64) CapacityRun { return CapacityRun{Outcome: RateSpoiled} })
	require.Zero(t, c.RatePerS)
	require.EqualValues(t, searchLeast, c.NextPerS)
	require.True(t, c.Unknown())
}

func TestWhereThereAreTooFewOperationsThereAreMoreAbove(t *testing.T) {
	few := func(least, capacity float64) func(rate float64) CapacityRun {
		return func(rate float64) CapacityRun {
			if rate < least {
				return CapacityRun{Outcome: RateTooFew}
			}
			return outcome(rate <= capacity)
		}
	}
	c := found(t, few(2000, 20_000))
	require.InEpsilon(t, 20_000, c.RatePerS, 0.1)
	require.Len(t, c.At(1000).Results, 1, "the others would be too few as well")
	c = found(t, few(100, 150))
	require.InEpsilon(t, 150, c.RatePerS, 0.1)
	c = found(t, few(900, 10))
	require.Zero(t, c.RatePerS)
	require.True(t, c.Unknown())
}

func TestCapacitySaysWhenThereIsNoEdge(t *testing.T) {
	c := found(t, func(float64) CapacityRun { return outcome(false) })
	require.Zero(t, c.RatePerS)
	require.EqualValues(t, searchLeast, c.NextPerS)
	require.False(t, c.Unknown())
	c = found(t, func(float64) CapacityRun { return outcome(true) })
	require.EqualValues(t, bench.MaxRate, c.RatePerS)
	require.Zero(t, c.NextPerS)
	require.False(t, c.Unknown())
}

func TestCapacityKeepsWhatItKnowsWhenARunFailsOrTheUserLeaves(t *testing.T) {
	broken := errors.New("broken")
	ctx, cancel := context.WithCancel(t.Context())
	for _, c := range []struct {
		end  func() error
		want error
	}{{func() error { return broken }, broken}, {func() error { cancel(); return nil }, nil}} {
		c, err := FindCapacity(ctx, 1000, func(rate float64) (CapacityRun, error) {
			if rate > 4000 {
				return CapacityRun{}, c.end()
			}
			return outcome(true), nil
		})
		if ctx.Err() == nil {
			require.ErrorIs(t, err, broken)
		} else {
			require.NoError(t, err)
		}
		require.EqualValues(t, 4000, c.RatePerS)
		require.Zero(t, c.NextPerS, "16,000/s was not decided on")
		require.True(t, c.Cut())
		require.False(t, c.Unknown())
	}
}
