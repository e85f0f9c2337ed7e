package wallclock

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// watch simulates readings of a clock that is ahead by offset(at). An answer takes at least 60 us; any longer time is
// spent on either way.
func watch(seed uint64, length time.Duration, offset func(at float64) float64) (all []Reading) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for sent := int64(0); sent < int64(length); sent += int64(50 * time.Millisecond) {
		there, back := 30_000+rng.ExpFloat64()*40_000, 30_000+rng.ExpFloat64()*40_000
		middle := sent + int64((there+back)/2)
		read := float64(sent) + there // the moment at which the master reads its clock
		reading := math.Floor((read+offset(read))/1000) * 1000
		all = append(all, Reading{At: middle, Offset: int64(reading) - middle, Trip: int64(there + back)})
	}
	return all
}

func TestAClockThatGainsIsFound(t *testing.T) {
	for seed := range uint64(20) {
		for _, ppm := range []float64{50, -50, 200, 12_000, -12_000} {
			c := Of(watch(seed, 30*time.Second, func(at float64) float64 { return 7e6 + ppm*1e-6*at }))
			require.InDelta(t, ppm, c.PPM, c.PPMError)
			require.Less(t, c.PPMError, 10.0)
			require.Zero(t, c.JumpNs, "%+v", c)
			require.InDelta(t, 7e6, c.OffsetNs, 60e3+math.Abs(ppm))
		}
	}
}

func TestAStepOfAClockIsFoundAndNotTakenForARate(t *testing.T) {
	for seed := range uint64(20) {
		for _, at := range []float64{5e9, 15e9, 27e9} {
			for _, ppm := range []float64{0, 100} {
				c := Of(watch(seed, 30*time.Second, func(now float64) float64 {
					if now > at {
						return -20e6 + ppm*1e-6*now
					}
					return ppm * 1e-6 * now
				}))
				require.InDelta(t, 20e6, c.JumpNs, 0.5e6)
				require.InDelta(t, ppm, c.PPM, c.PPMError)
				require.Less(t, c.PPMError, 20.0)
			}
		}
	}
}

func TestNoiseIsNotTakenForARateOrAStep(t *testing.T) {
	for seed := range uint64(50) {
		for _, length := range []time.Duration{2 * time.Second, 30 * time.Second, 10 * time.Minute} {
			c := Of(watch(seed, length, func(float64) float64 { return 0 }))
			require.LessOrEqual(t, math.Abs(c.PPM), c.PPMError, "%s seed %d: %+v", length, seed, c)
			require.Zero(t, c.JumpNs)
			require.InEpsilon(t, length, c.WatchedNs, 0.25)
		}
	}
}

func TestAClockThatIsNeverSteadyHasStepsAndNoRate(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	c := Of(watch(1, 10*time.Second, func(float64) float64 { return 1e9 * rng.NormFloat64() }))
	require.Greater(t, c.JumpNs, int64(1e9))
	require.EqualValues(t, unseen, c.PPMError)
}

func TestTooFewReadingsTellNothing(t *testing.T) {
	require.Nil(t, Of(nil))
	require.Nil(t, Of(watch(1, (least-1)*50*time.Millisecond, func(float64) float64 { return 0 })))
	require.NotNil(t, Of(watch(1, least*50*time.Millisecond, func(float64) float64 { return 0 })))
	require.Nil(t, Of(make([]Reading, 20)), "all at one time")
}
