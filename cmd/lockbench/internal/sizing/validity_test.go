package sizing

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"muxlock/internal/redlock"
)

var clocks = Clocks{Rho: 0.01, C: 2}

func TestValidityIsWhatRedisIoSays(t *testing.T) {
	// MIN_VALIDITY = TTL - (T2-T1) - CLOCK_DRIFT.
	require.InDelta(t, 1000-30-(10+2), clocks.Validity(1000, 30), 1e-9)
	require.InDelta(t, 1000, clocks.TTL(clocks.usable(1000)), 1e-9)
}

func TestFormulaeTakeTheEnginesRules(t *testing.T) {
	for _, ttl := range []time.Duration{50 * time.Millisecond, 10 * time.Second, time.Hour} {
		const elapsed = 7 * time.Millisecond
		want := redlock.Validity(ttl, elapsed, redlock.DefaultDrift)
		require.InDelta(t, float64(want), EngineClocks.Validity(float64(ttl), float64(elapsed)), 2, "rounded to whole ns")
	}
	from, to := redlock.HeldDelay(25 * time.Millisecond)
	require.Equal(t, Polling{float64(from), float64(to)}, HeldPolling(25*time.Millisecond))
}

// model is a world whose laws are known: acquires, holds and pauses of these.
type model struct{ delta, hold, pause distuv.LogNormal }

func newModel(rng *rand.Rand) model {
	return model{distuv.LogNormal{Mu: 1, Sigma: 0.5, Src: rng}, distuv.LogNormal{Mu: 2, Sigma: 0.4, Src: rng}, distuv.LogNormal{Mu: 0, Sigma: 0.8, Src: rng}}
}

func (m model) laws() (delta, hold *Law, pause Pauses) {
	return Exact(m.delta.Quantile), Exact(m.hold.Quantile), Pauses{Each: Exact(m.pause.Quantile), Moments: 0.5}
}

// paused draws the longest pause of a hold, which meets half a one in the mean.
func (m model) paused() (longest float64) {
	for range int(distuv.Poisson{Lambda: 0.5, Src: m.pause.Src}.Rand()) {
		longest = max(longest, m.pause.Rand())
	}
	return longest
}

// lost draws n locks and returns which part of them outlasted the lease.
func (m model) lost(ttl float64, n int) float64 {
	lost := 0
	for range n {
		if m.delta.Rand()+m.hold.Rand()+m.paused() > ttl-(0.01*ttl+2) {
			lost++
		}
	}
	return float64(lost) / float64(n)
}

func TestLossAtAcquireIsWhatHappens(t *testing.T) {
	m := newModel(seeded(1))
	delta, _, _ := m.laws()
	const n = 200_000
	for _, ttl := range []float64{8, 10, 14} {
		lost := 0
		for range n {
			if ttl-m.delta.Rand()-(0.01*ttl+2) < 1 {
				lost++
			}
		}
		near(t, float64(lost)/n, clocks.LossAtAcquire(ttl, 1, delta), 0.1)
	}
	k, of := clocks.SeenAtAcquire(8, 0, Samples([]float64{1, 2, 6, 7}, nil))
	require.EqualValues(t, 2, k)
	require.EqualValues(t, 4, of)
}

func TestShortestTTLLosesAsOftenAsItSays(t *testing.T) {
	m := newModel(seeded(2))
	delta, hold, pause := m.laws()
	const eps = 1e-3
	safe := clocks.ShortestBoole(eps, delta, hold, pause)
	tight := clocks.Shortest(eps, delta, hold, pause, safe)
	require.Less(t, tight, safe)
	require.Less(t, safe, 3*tight)
	lost := m.lost(tight, 400_000)
	require.LessOrEqual(t, lost, eps*1.2)
	require.GreaterOrEqual(t, lost, eps*0.5)
	near(t, m.lost(tight/2, 100_000), clocks.LossHolding(tight/2, delta, hold, pause), 0.15)
	require.Greater(t, m.lost(tight/2, 100_000), 10*eps, "below the interval it loses more")
	require.LessOrEqual(t, m.lost(safe, 400_000), eps)
}

// Boole's bound must hold whatever ties the three together. The worst is that never two
// are long at once: then their probabilities add up.
func TestSafeTTLHoldsAlsoWhereOneAtATimeIsLong(t *testing.T) {
	const often, eps, n = 0.004, 0.01, 200_000
	rare := Exact(func(p float64) float64 {
		if p > 1-often {
			return 100
		}
		return 1
	})
	ttl := clocks.ShortestBoole(eps, rare, rare, Pauses{Each: rare, Moments: 1})
	rng, lost := seeded(3), 0
	for range n {
		sum := 3.0
		if rng.Float64() < 3*often {
			sum += 99
		}
		if sum > clocks.usable(ttl) {
			lost++
		}
	}
	require.LessOrEqual(t, float64(lost)/n, eps)
}

func TestLongestHoldIsSafeAndNotMuchTooShort(t *testing.T) {
	m := newModel(seeded(4))
	delta, _, pause := m.laws()
	const ttl, eps, n = 60.0, 1e-2, 300_000
	hold := clocks.LongestHold(ttl, eps, delta, pause)
	lost := func(hold float64) float64 {
		k := 0
		for range n {
			if m.delta.Rand()+hold+m.paused() > clocks.usable(ttl) {
				k++
			}
		}
		return float64(k) / n
	}
	require.LessOrEqual(t, lost(hold), eps)
	require.Greater(t, lost(hold+10), eps)
}

func TestPausesOfAHoldAreTheLongestOfThoseItMeets(t *testing.T) {
	rng := seeded(5)
	each := distuv.Exponential{Rate: 1, Src: rng}
	for _, met := range []float64{0.02, 0.5, 50} {
		g := Pauses{Each: Exact(each.Quantile), Moments: met}
		const n = 40_000
		limit, longer := g.UpperQuantile(0.01), 0
		for range n {
			longest := 0.0
			for range int(distuv.Poisson{Lambda: met, Src: rng}.Rand()) {
				longest = max(longest, each.Rand())
			}
			if longest > limit {
				longer++
			}
		}
		near(t, 0.01, float64(longer)/n, 0.2, "%v", met)
		near(t, 0.01, g.Survival(limit), 0.1, "%v", met)
	}
}

func TestBudgetStandsWhereNothingWasMeasured(t *testing.T) {
	g := Pauses{Each: Samples([]float64{2, 3, 4, 5, 9}, nil), Moments: 0.1, Least: 1, Budget: 500}
	require.Equal(t, 1.0, g.UpperQuantile(0.2), "a hold meets none")
	require.Less(t, g.UpperQuantile(0.002), 60.0, "one decade beyond five samples")
	require.Equal(t, 500.0, g.UpperQuantile(0.0019))
	require.Equal(t, 500.0, g.UpperQuantile(1e-12), "however rare")
	g.Budget = 0
	require.GreaterOrEqual(t, g.UpperQuantile(1e-12), g.UpperQuantile(0.002), "never less than was seen")
	require.Equal(t, 1.0, g.Survival(0.5))
	near(t, 0.1*0.4, g.Survival(4), 0.03)
}
