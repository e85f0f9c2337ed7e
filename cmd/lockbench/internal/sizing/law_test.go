package sizing

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
)

// seeded is the randomness of a test: the same every time.
func seeded(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 4)) }

// near fails unless got is want within that part of it.
func near(t *testing.T, want, got, within float64, about ...any) {
	t.Helper()
	require.InDelta(t, want, got, math.Abs(want)*within+1e-300, about...)
}

func TestSamplesAreReadOffAsFarAsTheyCarry(t *testing.T) {
	l := Samples([]float64{3, 1, 2, 2}, []int64{100, 400, 300, 200})
	require.EqualValues(t, 1000, l.N())
	require.InDelta(t, 1*.4+2*.5+3*.1, l.Mean(), 1e-12)
	require.InDelta(t, 1*.4+4*.5+9*.1, l.Moment(2), 1e-12)
	require.Equal(t, 1.0, l.SampleSurvival(0.5))
	require.InDelta(t, 0.6, l.Survival(1), 1e-12)
	require.InDelta(t, 0.1, l.Survival(2.9), 1e-12)
	require.Equal(t, 1.0, l.UpperQuantile(0.7))
	require.Equal(t, 2.0, l.UpperQuantile(0.5))
	require.Equal(t, 3.0, l.UpperQuantile(0.05))
	require.False(t, l.Extrapolates(0.001))
	require.True(t, l.Extrapolates(0.0009))
	require.Nil(t, Samples(nil, nil))
	require.Nil(t, Samples([]float64{1}, []int64{0}))
}

// What a fitted tail predicts of a known law a decade beyond its samples is near it.
func TestExtrapolationIsNearAndNotAbsurd(t *testing.T) {
	for name, law := range map[string]interface {
		Rand() float64
		Quantile(float64) float64
	}{
		"exponential": distuv.Exponential{Rate: 1, Src: seeded(1)},
		"log-normal":  distuv.LogNormal{Mu: 0, Sigma: 1, Src: seeded(2)},
		"pareto":      distuv.Pareto{Xm: 1, Alpha: 3, Src: seeded(3)},
		"uniform":     distuv.Uniform{Min: 1, Max: 2, Src: seeded(4)},
	} {
		const runs, n = 100, 5000
		ratios := []float64(nil)
		for range runs {
			values := make([]float64, n)
			for i := range values {
				values[i] = law.Rand()
			}
			l := Samples(values, nil)
			ratio := l.UpperQuantile(1e-5) / law.Quantile(1-1e-5)
			ratios = append(ratios, ratio)
			require.GreaterOrEqual(t, l.UpperQuantile(1e-5), l.Max(), name)
		}
		slices.Sort(ratios)
		require.GreaterOrEqual(t, ratios[runs/2], 0.8, name)
		require.Less(t, ratios[runs/2], 2.0, "%s: far too long", name)
	}
}

func TestSurvivalAndUpperQuantileAreEachOthersInverse(t *testing.T) {
	values := make([]float64, 3000)
	rng := seeded(5)
	for i := range values {
		values[i] = rng.ExpFloat64()
	}
	l := Samples(values, nil)
	lastT := 0.0
	for p := 0.5; p > 1e-9; p *= 0.7 {
		x := l.UpperQuantile(p)
		require.GreaterOrEqual(t, x, lastT, "p %v", p)
		lastT = x
		require.LessOrEqual(t, l.Survival(x), p*1.0001, "p %v", p)
		require.GreaterOrEqual(t, l.Survival(x*0.999), p*0.9, "p %v", p)
	}
}

func TestTailIsTheLawItWasDrawnFrom(t *testing.T) {
	for _, shape := range []float64{0, 0.2, 0.4} {
		want := tail{share: 1, shape: shape, scale: 10}
		values := make([]float64, 200_000)
		rng := seeded(6)
		for i := range values {
			values[i] = want.upperQuantile(1 - rng.Float64())
		}
		l := Samples(values, nil)
		near(t, want.upperQuantile(1e-5), l.UpperQuantile(1e-5), 0.45, "shape %v", shape)
		shapeSeen, of := l.Tail()
		require.InDelta(t, (float64(of)*shape+shapeWeight*ShapePrior)/(float64(of)+shapeWeight), shapeSeen, 0.1)
	}
}

// A few samples must not make a measurement of a minute mean anything between half a second
// and ten.
func TestTailOfAFewSamplesIsTheSameAgain(t *testing.T) {
	rng := seeded(7)
	var far []float64
	for range 200 {
		values := make([]float64, 40)
		for i := range values {
			values[i] = math.Exp(rng.NormFloat64())
		}
		far = append(far, Samples(values, nil).UpperQuantile(1e-4))
	}
	slices.Sort(far)
	require.Less(t, far[190]/far[10], 4.0)
	near(t, math.Exp(3.72), far[100], 0.5)
}

func TestCappedLawEndsThere(t *testing.T) {
	l := Samples([]float64{1, 2, 3, 4, 5, 9, 20}, []int64{900, 50, 20, 10, 10, 5, 5}).Capped(30)
	require.Equal(t, 30.0, l.UpperQuantile(1e-12))
	require.Zero(t, l.Survival(30))
	require.Positive(t, l.Survival(29))
	require.True(t, l.Reaches(1e-4))
	require.Less(t, l.Bound(2e-4), 30.0)
	require.Equal(t, 30.0, l.Bound(0.9e-4), "what nobody knows may be as long as can be")
}

func TestScaledLawIsTheSameInAnotherUnit(t *testing.T) {
	l := Samples([]float64{1, 2, 3, 4, 5, 9, 20}, []int64{900, 50, 20, 10, 10, 5, 5})
	s := l.Scaled(3)
	for _, p := range []float64{0.5, 0.01, 1e-4, 1e-7} {
		near(t, 3*l.UpperQuantile(p), s.UpperQuantile(p), 1e-9)
		near(t, l.Survival(l.UpperQuantile(p)), s.Survival(3*l.UpperQuantile(p)), 1e-6)
	}
	near(t, 3*l.Mean(), s.Mean(), 1e-12)
	require.EqualValues(t, 20, l.Max())
}
