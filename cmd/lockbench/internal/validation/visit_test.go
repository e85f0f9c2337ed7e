package validation

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestANameIsOccupiedFromWhenItCouldBeGivenToWhenItIsLeft(t *testing.T) {
	b := occupation([]visit{{2, 6, 8}, {0, 1, 5}, {20, 21, 22}})
	require.Equal(t, []float64{0, 3, 0}, b.waits)
	require.Equal(t, []float64{5, 3, 2}, b.occupied)
}

// line is the visits of n callers, one after the other, whom it takes handed to get a
// name that is free.
func line(n int, between, hold func() float64, handed float64) (visits []visit) {
	came, free := 0.0, 0.0
	for range n {
		came += between()
		got := max(came, free) + handed
		free = got + hold()
		visits = append(visits, visit{came, got, free})
	}
	return visits
}

func TestWaitsAreWithinForPoissonArrivalsOnly(t *testing.T) {
	rng := seeded(1, 1)
	exp := func() float64 { return 8e6 * rng.ExpFloat64() }
	even := func() float64 { return 8e6 }
	hold := func() float64 { return 5e6 * math.Exp(0.5*rng.NormFloat64()-0.125) }
	names := func(between func() float64) (names [][]visit) {
		for range queueNames {
			names = append(names, line(750, between, hold, 3e5))
		}
		return names
	}
	requireAll(t, Within, queueCheck(names(exp)))
	requireAll(t, Outside, queueCheck(names(even)))
	// Callers that come two by two.
	second := false
	pairs := func() float64 {
		if second = !second; second {
			return 16e6 * rng.ExpFloat64()
		}
		return 0
	}
	requireAll(t, Outside, queueCheck(names(pairs)))
	// Somebody else has the name now and then, and is not counted.
	hidden := names(exp)
	for _, visits := range hidden {
		for i := range visits {
			visits[i].left -= 2e6
		}
	}
	requireAll(t, Outside, queueCheck(hidden))
}

// loop is k workers on one name.
func loop(k int, length time.Duration, hold, think float64) (visits []visit, thinks []float64) {
	rng := seeded(uint64(k), 1)
	next := make([]float64, k) // when each comes
	for i := range next {
		next[i] = think * rng.ExpFloat64()
	}
	free := 0.0
	for {
		i := slices.Index(next, slices.Min(next))
		came := next[i]
		if came > float64(length) {
			return visits, thinks
		}
		got := max(came, free)
		free = got + hold*rng.ExpFloat64()
		visits = append(visits, visit{came, got, free})
		thinks = append(thinks, think*rng.ExpFloat64())
		next[i] = free + thinks[len(thinks)-1]
	}
}

func TestRatesAreWithinForTheRightWorkersAndPauses(t *testing.T) {
	const length = 20 * time.Second
	for _, k := range []int{1, 4, 16} {
		visits, thinks := loop(k, length, 1e6, 5e6)
		names := [][]visit{visits, visits, visits, visits}
		requireAll(t, Within, closedCheck(k, names, thinks, length))
		if k > 10 {
			continue // they are in each other's way always: the rate is 1/hold
		}
		requireAll(t, Outside, closedCheck(k+1, names, thinks, length))
		for i := range thinks {
			thinks[i] *= 1.4
		}
		requireAll(t, Outside, closedCheck(k, names, thinks, length))
	}
}
