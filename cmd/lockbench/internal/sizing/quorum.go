package sizing

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/mathext"
)

// Quorum is the least number of masters of which any two sets have one in common.
func Quorum(masters int) int { return masters/2 + 1 }

// QuorumBelow is F2 for N independent masters alike, each of which has answered with
// probability p: at least q of them have. It is the incomplete beta function of the
// q-th order statistic.
func QuorumBelow(p float64, masters, q int) float64 {
	switch {
	case p <= 0:
		return 0
	case p >= 1:
		return 1
	}
	return mathext.RegIncBeta(float64(q), float64(masters-q+1), p)
}

// MasterPercentile is its inverse: the part of its answers that each master must have
// given for a quorum with probability p. It says which percentile of a master sets the
// percentile of the lock.
func MasterPercentile(p float64, masters, q int) float64 {
	return mathext.InvRegIncBeta(float64(q), float64(masters-q+1), p)
}

// AtLeast is F2 for independent masters that differ: the probability that at least q of
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
			each[i] = answers[i] * (1 - m.Seen(t))
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
