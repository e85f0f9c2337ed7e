package sizing

import "math"

// Queue is F11: Poisson arrivals on one name in an open loop, each of which occupies it
// for a time of which Service has the first two moments, hand-over gap included.
type Queue struct {
	Lambda  float64    // arrivals per ns
	Service [2]float64 // E[S], E[S^2]
}

// Load is the part of the time in which the name is occupied; from 1 on the queue grows
// without end and the other figures are infinite.
func (q Queue) Load() float64 { return q.Lambda * q.Service[0] }

// MeanWait is that of Pollaczek and Khinchine, the same for every order of service that
// does not look at service times.
func (q Queue) MeanWait() float64 {
	if q.Load() >= 1 {
		return math.Inf(1)
	}
	return q.Lambda * q.Service[1] / (2 * (1 - q.Load()))
}

// WaitsLonger is about P(W > t) in random order under heavy load, with the product of two
// exponentials (Kingman 1982). It is on the safe side, by up to a third at half load.
func (q Queue) WaitsLonger(t float64) float64 {
	u, w := q.Load(), q.MeanWait()
	if u >= 1 {
		return 1
	}
	if u == 0 {
		return 0
	}
	return u * productSurvival(max(t, 0)*u/w)
}

// productSurvival is the probability that the product of two unit exponentials exceeds z:
// 2 sqrt(z) K_1(2 sqrt(z)), by the integral of exp(-x cosh s) cosh s, for which the
// trapezoidal rule converges faster than any power.
func productSurvival(z float64) float64 {
	x := 2 * math.Sqrt(z)
	if x == 0 {
		return 1
	}
	const h = 1.0 / 32
	sum := math.Exp(-x) / 2
	for s := h; ; s += h {
		c := math.Cosh(s)
		d := math.Exp(-x*c) * c
		sum += d
		if x*c > 745 || x*c > 40 && d < sum*1e-17 {
			return min(1, x*sum*h)
		}
	}
}

// ClosedLoop is F12: the rate and the response time of k workers that think in between
// and share one name, by exact mean value analysis (Reiser and Lavenberg 1980). It is
// exact for exponential service; a constant one does better, at most 1/service.
func ClosedLoop(service, think float64, k int) (rate, response float64) {
	var queue float64
	for n := 1; n <= k; n++ {
		response = service * (1 + queue)
		rate = float64(n) / (response + think)
		queue = rate * response
	}
	return rate, response
}
