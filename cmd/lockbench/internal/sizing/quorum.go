package sizing

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/floats"
)

// AtLeast is F2 for independent masters: the probability that at least q of
// them have answered when master i has with probability p[i].
func AtLeast(q int, p []float64) float64 { return min(floats.Sum(count(p)[q:]), 1) }

// count is the law of how many of independent masters have answered, by adding one after the
// other (the Poisson-binomial law).
func count(p []float64) []float64 {
	law := []float64{1}
	for _, pi := range p {
		law = convolve(law, []float64{1 - pi, pi})
	}
	return law
}

// convolve is the law of the sum of two numbers: a[i] is the probability of i.
func convolve(a, b []float64) []float64 {
	sum := make([]float64, len(a)+len(b)-1)
	for i, x := range a {
		for j, y := range b {
			sum[i+j] += x * y
		}
	}
	return sum
}

// Independent is the time within which q masters would have answered with probability p if
// they were independent: F2 from the answers of each. It is infinite where they never reach p.
func (r Rows) Independent(p float64, q int) float64 {
	var times []float64
	each := make([][]float64, r.Masters())
	for i := range each {
		each[i] = sorted(r.column(i))
		times = append(times, each[i]...)
	}
	slices.Sort(times)
	i := sort.Search(len(times), func(i int) bool {
		answered := make([]float64, len(each))
		for m, answers := range each {
			within := sort.Search(len(answers), func(j int) bool { return answers[j] > times[i] })
			answered[m] = float64(within) / float64(len(r))
		}
		return AtLeast(q, answered) >= p
	})
	if i == len(times) {
		return math.Inf(1)
	}
	return times[i]
}
