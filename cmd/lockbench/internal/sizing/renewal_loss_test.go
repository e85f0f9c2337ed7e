package sizing

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTriesAreThoseThatEndBeforeValidity(t *testing.T) {
	r := Renewal{Clocks: Clocks{Rho: 0.01, C: 2}, TTL: 1000, Every: 333, Again: 40, Timeout: 100}
	for _, delta := range []float64{0, 50, 300, 500, 800} {
		for _, pause := range []float64{0, 30, 200} {
			// The holder's client plays it: try, fail after the timeout, pause, again.
			now, tries := delta+r.Every+pause, 0
			for now+r.Timeout <= 1000-0.01*1000-2 {
				tries, now = tries+1, now+r.Timeout+r.Again
			}
			require.Equal(t, tries, r.Tries(delta, pause), "delta %v pause %v", delta, pause)
		}
	}
}

func TestRenewalsLoseAsOftenAsTheySay(t *testing.T) {
	rng := seeded(1)
	r := Renewal{Clocks: Clocks{Rho: 0.01, C: 2}, TTL: 1000, Every: 333, Again: 40, Timeout: 100}
	var pauses []float64
	for range 100_000 {
		pauses = append(pauses, 100*rng.ExpFloat64())
	}
	pause := Pauses{Each: Samples(pauses, nil), Moments: 1}
	const n, fails, delta = 200_000, 0.2, 20.0
	lost := 0
	for range n {
		now := delta + r.Every + 100*rng.ExpFloat64()
		kept := false
		for ; !kept && now+r.Timeout <= r.usable(r.TTL); now += r.Timeout + r.Again {
			kept = rng.Float64() >= fails
		}
		if !kept {
			lost++
		}
	}
	near(t, float64(lost)/n, r.Loss(fails, delta, pause), 0.1)
}

func TestALongerLeaseLosesNoMoreRenewals(t *testing.T) {
	rng := seeded(2)
	var pauses []float64
	for range 1000 {
		pauses = append(pauses, 10e6*rng.ExpFloat64())
	}
	each := Samples(pauses, nil)
	for _, fails := range []float64{0, 1e-4, 0.02, 1} {
		last := 1.0
		for ttl := 100e6; ttl < 100e9; ttl *= 1.07 {
			r := Renewal{Clocks: Clocks{Rho: 0.01, C: 2e6}, TTL: ttl, Every: ttl / 3, Again: ttl / 24, Timeout: 50e6}
			loss := r.Loss(fails, 1e6, Pauses{Each: each, Moments: r.Every / 10e6})
			hour := Within(loss, 3600e9, r.Every)
			require.LessOrEqual(t, hour, last*(1+1e-9), "ttl %v fails %v", ttl, fails)
			last = hour
			if ttl > 500e6 && fails < 1 { // a pause of 1e-9 would leave no room
				require.Less(t, loss, 1e-3, "ttl %v fails %v", ttl, fails)
			}
		}
		require.Equal(t, fails == 1, last > 1e-3, "fails %v: %v", fails, last)
	}
}

func TestShortestRenewedLeavesRoomForTheTries(t *testing.T) {
	c := Clocks{Rho: 0.01, C: 2}
	for tries := 1; tries <= 4; tries++ {
		ttl := c.ShortestRenewed(tries, 1.0/3, 1.0/24, 100, 20, 30)
		fits := func(ttl float64) int {
			return Renewal{c, ttl, ttl / 3, ttl / 24, 100}.Tries(20, 30)
		}
		require.Equal(t, tries, fits(ttl*1.0001))
		require.Equal(t, tries-1, fits(ttl*0.9999))
	}
	require.Greater(t, c.ShortestRenewed(30, 1.0/3, 1.0/24, 1, 1, 1), 1e300)
}
