package sizing

import (
	"math"
	"sort"
)

// AtLeast is F2 for independent masters: the probability that at least q of
// them have answered when master i has with probability p[i] (the Poisson-binomial law,
// by adding one master after the other).
func AtLeast(q int, p []float64) float64 {
	exactly := make([]float64, len(p)+1)
	exactly[0] = 1
	for i, pi := range p {
		for j := i + 1; j > 0; j-- {
			exactly[j] = exactly[j]*(1-pi) + exactly[j-1]*pi
		}
		exactly[0] *= 1 - pi
	}
	var sum float64
	for j := len(p); j >= q; j-- {
		sum += exactly[j]
	}
	return min(sum, 1)
}

// Independent is the time within which a quorum has answered with probability p if the
// masters were independent: F2 from the law of each of them. answers[i] is the part of
// probes that master i answers at all. It is infinite where they never reach p.
func Independent(p float64, q int, masters []*Law, answers []float64) float64 {
	below := func(t float64) float64 {
		each := make([]float64, len(masters))
		for i, m := range masters {
			each[i] = answers[i] * (1 - m.SampleSurvival(t))
		}
		return AtLeast(q, each)
	}
	var times []float64
	for _, m := range masters {
		times = append(times, m.x...)
	}
	sort.Float64s(times)
	i := sort.Search(len(times), func(i int) bool { return below(times[i]) >= p })
	if i == len(times) {
		return math.Inf(1)
	}
	return times[i]
}
