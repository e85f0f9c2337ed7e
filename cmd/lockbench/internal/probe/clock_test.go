package probe

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// watch makes readings of a clock that is ahead of here by offset(at): the answer takes
// at least 60 us, and what it takes longer is spent on either way.
func watch(seed uint64, length, every time.Duration, offset func(at float64) float64) []Sample {
	rng := rand.New(rand.NewPCG(seed, 1))
	var s samples
	for sent := int64(0); sent < int64(length); sent += int64(every) {
		there, back := 30_000+rng.ExpFloat64()*40_000, 30_000+rng.ExpFloat64()*40_000
		middle := sent + int64((there+back)/2)
		read := float64(sent) + there // when the master looks at its clock
		reading := math.Floor((read+offset(read))/1000) * 1000
		s.add(Sample{At: middle, Offset: int64(reading) - middle, RTT: int64(there + back)})
	}
	return s.kept
}

func TestAClockThatGainsIsFound(t *testing.T) {
	for seed := range uint64(20) {
		for _, ppm := range []float64{50, -50, 200} {
			c := Clock(watch(seed, 30*time.Second, 50*time.Millisecond, func(at float64) float64 { return 7e6 + ppm*1e-6*at }))
			require.InDelta(t, ppm, c.PPM, max(c.PPMError, 2))
			require.Zero(t, c.JumpNs, "%+v", c)
			require.InDelta(t, 7e6, c.OffsetNs, 60e3)
		}
	}
}

func TestAStepOfAClockIsFound(t *testing.T) {
	for seed := range uint64(20) {
		for _, at := range []float64{5e9, 15e9, 27e9} {
			c := Clock(watch(seed, 30*time.Second, 50*time.Millisecond, func(now float64) float64 {
				if now > at {
					return 20e6
				}
				return 0
			}))
			require.InDelta(t, 20e6, c.JumpNs, 0.2e6)
			require.InDelta(t, 0, c.PPM, 5, "the step is not taken for a rate")
		}
	}
}

func TestNoiseIsNotTakenForARateOrAStep(t *testing.T) {
	for seed := range uint64(50) {
		for _, length := range []time.Duration{2 * time.Second, 30 * time.Second, 10 * time.Minute} {
			c := Clock(watch(seed, length, 50*time.Millisecond, func(float64) float64 { return 0 }))
			require.LessOrEqual(t, math.Abs(c.PPM), c.PPMError, "%s seed %d: %+v", length, seed, c)
			require.Zero(t, c.JumpNs)
			require.InEpsilon(t, length, c.WatchedNs, 0.25)
		}
	}
}

func TestTooFewReadingsTellNothing(t *testing.T) {
	require.Nil(t, Clock(nil))
	require.Nil(t, Clock(watch(1, 5*50*time.Millisecond, 50*time.Millisecond, func(float64) float64 { return 0 })))
	require.Nil(t, Clock(make([]Sample, 20)), "all at one time")
}

func TestReadingsThatAreKeptStayFewAndSpread(t *testing.T) {
	kept := watch(3, time.Hour, 50*time.Millisecond, func(float64) float64 { return 0 })
	require.LessOrEqual(t, len(kept), samplesMost)
	require.Greater(t, len(kept), samplesMost/3)
	require.Less(t, kept[0].At, int64(time.Minute))
	require.Greater(t, kept[len(kept)-1].At, int64(59*time.Minute))
	for i, x := range kept {
		require.True(t, i == 0 || kept[i-1].At < x.At)
		require.Less(t, x.RTT, int64(80_000), "the best of each stretch")
	}
}
