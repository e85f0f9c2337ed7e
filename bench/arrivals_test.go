package bench

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func arrivals(cfg Config, n int) []arrival {
	s := newSchedule(cfg, newZipf(cfg))
	out := make([]arrival, n)
	for i := range out {
		out[i] = s.next()
	}
	return out
}

func TestSameSeedSameArrivals(t *testing.T) {
	cfg := Config{Rate: 1000, Seed: 3, Keys: 100, Dist: Zipf(0.99), Hold: Exp(time.Millisecond), Op: mixOf(t, "mix:acquire-release=90,try=10")}
	other := cfg
	other.Seed = 4
	require.Equal(t, arrivals(cfg, 1000), arrivals(cfg, 1000))
	a, b := arrivals(cfg, 1000), arrivals(other, 1000)
	var times, keys, holds int
	for i := range a {
		times, keys, holds = times+same(a[i].at, b[i].at), keys+same(a[i].key, b[i].key), holds+same(a[i].hold, b[i].hold)
	}
	require.Zero(t, times)
	require.Less(t, keys, 500)
	require.Zero(t, holds)

	short := cfg
	short.Hold = Span{}
	for i, c := range arrivals(short, 1000) {
		require.Equal(t, a[i].at, c.at, "how long locks are held changes no arrival")
		require.Equal(t, a[i].key, c.key)
	}
}

func same[T comparable](a, b T) int {
	if a == b {
		return 1
	}
	return 0
}

func TestPoissonGapsHaveMeanAndDeviationOfTheRate(t *testing.T) {
	const n, rate = 100_000, 50_000
	var last int64
	var sum, squares float64
	for _, a := range arrivals(Config{Rate: rate, Seed: 1}, n) {
		gap := float64(a.at - last)
		last = a.at
		sum += gap
		squares += gap * gap
	}
	mean := sum / n
	require.InEpsilon(t, 1e9/rate, mean, 0.02)
	require.InEpsilon(t, mean, math.Sqrt(squares/n-mean*mean), 0.02)
}

func TestUniformArrivalsHaveEqualGaps(t *testing.T) {
	for i, a := range arrivals(Config{Rate: 1000, Arrivals: ArrivalsUniform}, 100) {
		require.EqualValues(t, (i+1)*1_000_000, a.at)
	}
}

func TestArrivalsOfTheLowestRateAscend(t *testing.T) {
	cfg := Config{Workers: 1, Procs: maxProcs, Rate: MinRate}
	cfg.proc = maxProcs - 1
	s := newSchedule(cfg, nil)
	for last := int64(0); last < int64(100*365*24*time.Hour); {
		a := s.next()
		require.Greater(t, a.at, last)
		last = a.at
	}
}
