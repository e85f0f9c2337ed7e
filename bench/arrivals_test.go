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
	cfg := Config{Rate: 1000, Seed: 3, Keys: 100, Dist: Zipf(0.99)}
	other := cfg
	other.Seed = 4
	require.Equal(t, arrivals(cfg, 1000), arrivals(cfg, 1000))
	require.NotEqual(t, arrivals(cfg, 1000), arrivals(other, 1000))
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
	for i, a := range arrivals(Config{Rate: 1000, Arrivals: Even}, 100) {
		require.EqualValues(t, (i+1)*1_000_000, a.at)
	}
}

// clockwork is a pacer with a clock set by hand, at 1000 equal arrivals a second
// for one second from second 1.
func clockwork() (p *pacer, now *int64) {
	now = new(int64)
	cfg := Config{Rate: 1000, Arrivals: Even, Duration: time.Second}
	return newPacer(cfg, nil, func() int64 { return *now }, nil), now
}

func TestTakeGivesOnlyWhatIsDue(t *testing.T) {
	p, now := clockwork()
	_, wait := p.take()
	require.EqualValues(t, 1_000_000, wait)
	*now = 2_500_000
	for _, at := range []int64{1_000_000, 2_000_000} {
		a, wait := p.take()
		require.Zero(t, wait)
		require.Equal(t, at, a.at)
		require.False(t, a.measured)
	}
	_, wait = p.take()
	require.EqualValues(t, 500_000, wait)
}

func TestUnstartedArrivalsAreOfferedNotDropped(t *testing.T) {
	p, now := clockwork()
	*now = int64(time.Second)
	p.begin(*now) // what the warm-up left is forgotten
	*now = int64(2 * time.Second)
	for range 400 {
		a, wait := p.take()
		require.Zero(t, wait)
		require.True(t, a.measured)
	}
	offered, started, _ := p.end(*now)
	require.EqualValues(t, 1000, offered)
	require.EqualValues(t, 400, started)
	_, wait := p.take()
	require.Negative(t, wait)
}

func TestBacklogGrowsOnlyWhenItGrows(t *testing.T) {
	for _, c := range []struct {
		name    string
		lag     func(i int64) int64 // of arrival i of 1000, ms
		growing bool
	}{
		{"none", func(int64) int64 { return 0 }, false},
		{"constant", func(int64) int64 { return 50 }, false},
		{"a rate 10 % too high", func(i int64) int64 { return i / 10 }, true},
		{"slight, below the floor", func(i int64) int64 { return i / 200 }, false},
		{"a stall of 200 ms, worked off", func(i int64) int64 { return max(0, 200-max(0, i-500)) * min(1, i/500) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, now := clockwork()
			*now = int64(time.Second)
			p.begin(*now)
			for i := range int64(1000) {
				*now = max(*now, int64(time.Second)+(i+c.lag(i))*1_000_000)
				_, _ = p.take()
			}
			_, _, growing := p.end(*now)
			require.Equal(t, c.growing, growing)
		})
	}
}
