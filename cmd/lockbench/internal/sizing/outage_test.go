package sizing

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/redlock"
)

// client is a holder's client that plays it: it renews, and its masters go away for a
// time. A master is dialled again after pauses that double.
func (r Renewal) client(outage, delta float64, rng *rand.Rand) (kept bool) {
	away := rng.Float64() * r.Every // since a renewal was sent
	back := away
	for pause := 25e6; back < away+outage; pause = min(2*pause, float64(redlock.LongestRedial)) {
		back += pause * (0.5 + rng.Float64())
	}
	for now := r.Every; now <= r.usable(r.TTL)-delta; now += r.Timeout + r.Again {
		if now >= back {
			return true
		}
	}
	return false
}

func TestOutagesEndLeasesAsOftenAsIsSaid(t *testing.T) {
	rng := seeded(1)
	inside := 0
	for _, ttl := range []float64{1e9, 3e9, 10e9, 30e9} {
		r := Renewal{Clocks: Clocks{Rho: 0.01, C: 2e6}, TTL: ttl, Every: ttl / 3, Again: ttl / 24, Timeout: 50e6}
		for _, outage := range []float64{0.2e9, 1e9, 2.5e9, 6e9, 15e9} {
			const n = 20_000
			lost := 0
			for range n {
				if !r.client(outage, 1e6, rng) {
					lost++
				}
			}
			simulated, said := float64(lost)/n, r.LostTo(outage, 1e6)
			least, most := r.LostBetween(outage, 1e6)
			require.LessOrEqual(t, least-0.03, simulated, "ttl %v outage %v", ttl, outage)
			require.GreaterOrEqual(t, most+0.03, simulated, "ttl %v outage %v", ttl, outage)
			if outage < r.Survives(1e6) {
				require.Zero(t, lost, "ttl %v outage %v", ttl, outage)
			}
			if simulated > 0.02 {
				inside++
				require.Greater(t, said, simulated/2, "ttl %v outage %v", ttl, outage)
				require.Less(t, said, simulated*2, "ttl %v outage %v", ttl, outage)
			}
		}
		need := r.ShortestSurviving(r.Survives(1e6), 1.0/3, 1.0/24, r.Timeout, 1e6)
		near(t, ttl, need, 0.01)
	}
	require.GreaterOrEqual(t, inside, 6)
}

func TestOutagesAreReadOffTheRows(t *testing.T) {
	ms := func(x float64) float64 { return x * float64(time.Millisecond) }
	rows, at := Rows{}, []float64{}
	for i := range 100 {
		at = append(at, ms(10*float64(i)))
		trip := ms(1)
		switch {
		case i >= 20 && i < 35: // answered when it is over
			trip = ms(351 - 10*float64(i))
		case i >= 60 && i < 80: // never
			trip = -1
		}
		rows = append(rows, []float64{trip, trip, ms(1)})
	}
	all := rows.Outages(at, ms(50), 2)
	require.Len(t, all, 2)
	near(t, ms(151), all[0].Length, 0.01)
	near(t, ms(200), all[0].At, 0.01)
	near(t, ms(200), all[1].Length, 0.01)
	require.Empty(t, rows.Outages(at, ms(50), 1), "one master was well")
}
