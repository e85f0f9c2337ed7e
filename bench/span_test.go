package bench

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSpansAreReadInBothSpellingsAndPrintedInOne(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0s", "1ms": "1ms", "fixed:1ms": "1ms", "fixed(1ms)": "1ms",
		"exp:2ms": "exp:2ms", "exp(2ms)": "exp:2ms",
		"lognormal:5ms,1": "lognormal:5ms,1", "lognormal(5ms,0.25)": "lognormal:5ms,0.25", "lognormal:5ms,0": "lognormal:5ms,0",
	} {
		s, err := ParseSpan(text)
		require.NoError(t, err, text)
		require.Equal(t, want, s.String())
		again, err := ParseSpan(want)
		require.NoError(t, err)
		require.Equal(t, s, again)
	}
	for _, text := range []string{
		"", "1", "-1ms", "exp", "exp:", "exp:1ms,1", "exp:-1ms", "exp(1ms", "exp:1ms)", "(1ms)", "gauss:1ms", "fixed:1ms,2",
		"lognormal:5ms", "lognormal:5ms,", "lognormal:5ms,-1", "lognormal:5ms,6", "lognormal:5ms,NaN", "lognormal:5ms,1,1", "lognormal:-5ms,1",
	} {
		_, err := ParseSpan(text)
		require.ErrorIs(t, err, ErrConfig, text)
	}
}

// The quantiles come from the laws: F(x) = 1 - exp(-x/mean), and the normal law of ln(x/median)/sigma.
// 2 % is five standard errors of the least certain one.
func TestDrawsFollowTheirLawAndMean(t *testing.T) {
	const draws = 200_000
	const deviation = 1.2816 // of the normal law, at 90 %
	for _, c := range []struct {
		text          string
		p10, p50, p90 float64 // ms
		mean          float64
		meanTolerance float64 // 5 standard errors, relative
	}{
		{text: "3ms", p10: 3, p50: 3, p90: 3, mean: 3, meanTolerance: 1e-9},
		{text: "exp:2ms", p10: 2 * 0.10536, p50: 2 * math.Ln2, p90: 2 * 2.302585, mean: 2, meanTolerance: 0.012},
		{text: "lognormal:5ms,0.5", p10: 5 * math.Exp(-deviation/2), p50: 5, p90: 5 * math.Exp(deviation/2), mean: 5 * math.Exp(0.125), meanTolerance: 0.006},
		{text: "lognormal(5ms,1)", p10: 5 * math.Exp(-deviation), p50: 5, p90: 5 * math.Exp(deviation), mean: 5 * math.Exp(0.5), meanTolerance: 0.015},
	} {
		t.Run(c.text, func(t *testing.T) {
			s, err := ParseSpan(c.text)
			require.NoError(t, err)
			require.InEpsilon(t, c.mean*1e6, s.Mean(), 1e-6)
			sampler := s.Sampler(42, 7)
			all, sum := make([]time.Duration, draws), 0.0
			for i := range all {
				all[i] = sampler()
				sum += float64(all[i])
			}
			slices.Sort(all)
			require.InEpsilon(t, c.p10*1e6, all[draws/10], 0.04)
			require.InEpsilon(t, c.p50*1e6, all[draws/2], 0.02)
			require.InEpsilon(t, c.p90*1e6, all[draws*9/10], 0.02)
			require.InEpsilon(t, c.mean*1e6, sum/draws, c.meanTolerance)
		})
	}
}

func TestNoDrawIsTooLongForAClock(t *testing.T) {
	s := Lognormal(math.MaxInt64, maxSigma)
	require.Equal(t, maxSpan, s.Mean())
	sampler := s.Sampler(1, 1)
	for range 1000 {
		d := sampler()
		require.True(t, d >= 0 && d <= maxSpan, d)
	}
}
