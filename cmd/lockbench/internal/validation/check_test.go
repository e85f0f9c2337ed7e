package validation

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireAll wants the same verdict of each.
func requireAll(t *testing.T, want Verdict, checks ...Check) {
	t.Helper()
	require.NotEmpty(t, checks)
	for _, c := range checks {
		c = c.judge()
		require.Equal(t, want, c.Verdict, "%+v", c)
	}
}

func TestVerdicts(t *testing.T) {
	check := func(predicted, measured Estimate, tolerance float64) Check {
		return Check{Predicted: predicted, Measured: measured, Tolerance: tolerance}
	}
	around := func(lo, v, hi float64) Estimate { return Estimate{v, lo, hi, 100} }
	for _, c := range []struct {
		name string
		Check
		want Verdict
	}{
		{"near enough", check(exact(100), around(108, 109, 112), 0.1), Within},
		{"too long, perhaps", check(exact(100), around(90, 111, 130), 0.1), Within},
		{"too long", check(exact(100), around(112, 115, 118), 0.1), Outside},
		{"too short, perhaps", check(exact(100), around(70, 85, 100), 0.1), Within},
		{"too short", check(exact(100), around(80, 85, 89), 0.1), Outside},
		{"the same", check(around(90, 100, 110), around(90, 100, 110), 0), Within},
		{"in the interval", check(exact(100), around(60, 80, 100), 0), Within},
		{"below the interval", check(exact(59), around(60, 80, 100), 0), Outside},
		{"above the interval", check(exact(101), around(60, 80, 100), 0), Outside},
		{"intervals meet", check(around(90, 120, 130), around(60, 80, 100), 0), Within},
		{"intervals do not meet", check(around(101, 120, 130), around(60, 80, 100), 0), Outside},
		{"never, and it was never", check(exact(0), around(0, 0, 0.02), 0), Within},
		{"never, and it was", check(exact(0), around(0.001, 0.01, 0.02), 0), Outside},
		{"too few", check(exact(100), Estimate{100, 100, 100, fewest - 1}, 0.1), Unmeasured},
		{"without end", check(exact(math.Inf(1)), around(60, 80, 100), 0), Unmeasured},
		{"nothing at all", check(exact(math.NaN()), around(60, 80, 100), 0), Unmeasured},
	} {
		got := c.judge()
		require.Equal(t, c.want, got.Verdict, c.name)
		_, err := json.Marshal(got)
		require.NoError(t, err, c.name)
	}
	require.InDelta(t, 1.09, check(exact(100), around(108, 109, 112), 0.1).judge().Ratio, 1e-9)
}

func TestIntervalsHoldTheTruthAlmostAlways(t *testing.T) {
	rng := seeded(1, 1)
	const runs = 3000
	var missed [3]int
	for range runs {
		samples, below := make([]float64, 400), int64(0)
		for i := range samples {
			samples[i] = rng.ExpFloat64()
			if samples[i] < 0.1 {
				below++
			}
		}
		for i, c := range []struct {
			Estimate
			truth float64
		}{{mean(samples), 1}, {quantile(samples, 0.9), math.Log(10)}, {share(below, 400), 1 - math.Exp(-0.1)}} {
			require.True(t, c.Lo <= c.Value && c.Value <= c.Hi)
			if c.truth < c.Lo || c.truth > c.Hi {
				missed[i]++
			}
			require.Less(t, c.Hi-c.Lo, 2.0, "and are of use")
		}
	}
	for _, n := range missed {
		require.LessOrEqual(t, n, runs*4/1000, "of the mean, the quantile, the share: %v", missed)
	}
}

func TestNothingMeasuredIsNoVerdict(t *testing.T) {
	require.Zero(t, mean([]float64{1}).N)
	require.Zero(t, quantile(nil, 0.5).N)
	require.Zero(t, share(0, 0).N)
	requireAll(t, Unmeasured, queueCheck(make([][]visit, 3)), closedCheck(1, nil, nil, 1), gapCheck(1, 0, nil), splitCheck(3, 5, 0, 0))
	require.Empty(t, quorumChecks(nil, nil))
	require.Empty(t, expiryChecks(nil, nil))
}
