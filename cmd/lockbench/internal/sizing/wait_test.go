package sizing

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGapOfPollingWaitersIsWhatHappens(t *testing.T) {
	rng := seeded(1)
	for _, c := range []struct {
		p Polling
		k int
	}{{Polling{50, 250}, 1}, {Polling{50, 250}, 7}, {Polling{0.5, 1.5}, 3}, {Polling{0, 2}, 2}} {
		// k waiters have polled for long; the lock is released at a random moment.
		const n = 40_000
		var sum, squares float64
		for range n {
			release := 20*c.p.To + rng.Float64()*c.p.To
			first := math.Inf(1)
			for range c.k {
				t := 0.0
				for t <= release {
					t += c.p.From + rng.Float64()*(c.p.To-c.p.From)
				}
				first = min(first, t-release)
			}
			sum, squares = sum+first, squares+first*first
		}
		mean := sum / n
		se := math.Sqrt((squares/n - mean*mean) / n)
		require.InDelta(t, mean, c.p.Gap(c.k), 4*se, "%+v", c)
	}
	// A waiter alone: E[Y^2]/(2E[Y]).
	near(t, (50*50+250*250+50*250)/3.0/300, Polling{50, 250}.Gap(1), 1e-6)
	near(t, 0.29, Polling{50, 250}.Gap(512), 0.02)
	near(t, 5e6, HeldPolling(time.Duration(SlowestPolling(5e6, 4))).Gap(4), 1e-6)
}

// queue simulates arrivals on one name, and gives the waits.
func queue(load float64, n int, random bool, service func() float64, seed uint64) (waits []float64) {
	rng := seeded(seed)
	var line []float64 // arrival times of those who wait
	next, free := rng.ExpFloat64()/load, 0.0
	for len(waits) < n {
		if len(line) == 0 || next <= free {
			line = append(line, next)
			next += rng.ExpFloat64() / load
			continue
		}
		i := 0
		if random {
			i = rng.IntN(len(line))
		}
		start := max(free, line[i])
		waits = append(waits, start-line[i])
		line = slices.Delete(line, i, i+1)
		free = start + service()
	}
	return waits
}

func TestWaitsInAnOpenLoopAreThoseOfAQueue(t *testing.T) {
	rng := seeded(2)
	// Log-normal service of mean 1 with sigma 0.5.
	const sigma = 0.5
	service := func() float64 { return math.Exp(sigma*rng.NormFloat64() - sigma*sigma/2) }
	moment := func(k float64) float64 { return math.Exp(sigma * sigma / 2 * (k*k - k)) }
	q := Queue{0.7, [2]float64{1, moment(2)}}
	for _, random := range []bool{false, true} {
		waits := queue(0.7, 600_000, random, service, 3)
		var sum float64
		for _, w := range waits {
			sum += w
		}
		n := float64(len(waits))
		near(t, sum/n, q.MeanWait(), 0.04, "random %v", random)
		if random { // an approximation, better in the far tail, and safe
			ratio := q.WaitsLonger(QuantileOf(waits, 0.99)) / 0.01
			require.True(t, ratio > 0.95 && ratio < 2.1, "%v", ratio)
		}
	}
	require.Equal(t, 0.7, q.Load())
	require.True(t, math.IsInf(Queue{1, [2]float64{1, 1}}.MeanWait(), 1))
	require.Equal(t, 1.0, Queue{1, [2]float64{1, 1}}.WaitsLonger(5))
	require.Zero(t, Queue{0, [2]float64{1, 1}}.WaitsLonger(0))
}

func TestProductOfTwoExponentials(t *testing.T) {
	rng := seeded(4)
	const n = 400_000
	for _, z := range []float64{0.01, 1, 5} {
		k := 0
		for range n {
			if rng.ExpFloat64()*rng.ExpFloat64() > z {
				k++
			}
		}
		near(t, float64(k)/n, productSurvival(z), 0.03, "z %v", z)
	}
	require.Equal(t, 1.0, productSurvival(0))
	require.InDelta(t, 1, productSurvival(1e-12), 1e-9)
	require.Less(t, productSurvival(1e4), 1e-80)
}

// The machine repairman has a closed form: p_n = k!/(k-n)! * (S/Z)^n * p_0.
func TestClosedLoopIsTheMachineRepairman(t *testing.T) {
	const service, think = 2.0, 7.0
	for k := 1; k <= 20; k++ {
		term, sum := 1.0, 1.0
		for n := 1; n <= k; n++ {
			term *= float64(k-n+1) * service / think
			sum += term
		}
		rate, response := ClosedLoop(service, think, k)
		near(t, (1-1/sum)/service, rate, 1e-9, "k %d", k)
		near(t, float64(k)/rate-think, response, 1e-9)
		require.LessOrEqual(t, rate, min(float64(k)/(service+think), 1/service)+1e-12)
	}
}
