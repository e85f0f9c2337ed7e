// Package stats tells differences between measurements from chance, with few
// samples and without assuming how they are distributed: measured rates and
// latencies are anything but normal.
package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Alpha is how often a difference may be called one although there is none.
const Alpha = 0.05

// Median of xs, which is not empty and is left as it is.
func Median(xs []float64) float64 { return medianOf(slices.Clone(xs)) }

// medianOf sorts.
func medianOf(xs []float64) float64 {
	slices.Sort(xs)
	n := len(xs)
	return (xs[(n-1)/2] + xs[n/2]) / 2
}

// PairsNeeded is the least number of pairs among which a difference can be told from chance.
const PairsNeeded = 6

// enumeratedMost is up to how many pairs all changes of signs are looked at; of more, as many
// are drawn.
const enumeratedMost = 16

// Paired tests whether differences, one of each pair, lie around 0 (Fisher's permutation test): p is
// how often their mean would be as far away if each could as well have had the other sign.
// low to high is the 95 % interval that the test inverts: every shift of the differences
// that it does not reject (Hartigan 1969). With fewer pairs than PairsNeeded it is unbounded.
func Paired(differences []float64) (p, low, high float64) {
	means := subsetMeans(differences)
	all := float64(len(means) + 1) // and the empty subset
	below, above := 0, 0
	for _, m := range means {
		if m <= 0 {
			below++
		}
		if m >= 0 {
			above++
		}
	}
	p = min(1, 2*float64(min(below, above)+1)/all)
	cut := int(math.Ceil(all*Alpha/2)) - 1
	if cut < 1 {
		return p, math.Inf(-1), math.Inf(1)
	}
	return p, means[cut-1], means[len(means)-cut]
}

// subsetMeans is, ascending, the mean of every subset of xs that is not empty: to change the
// signs of a subset moves the sum of xs by twice that subset's.
func subsetMeans(xs []float64) (means []float64) {
	mean := func(in func(i int) bool) {
		sum, n := 0.0, 0
		for i, x := range xs {
			if in(i) {
				sum, n = sum+x, n+1
			}
		}
		if n > 0 {
			means = append(means, sum/float64(n))
		}
	}
	if len(xs) <= enumeratedMost {
		for set := range 1 << len(xs) {
			mean(func(i int) bool { return set>>i&1 == 1 })
		}
	} else {
		r := rand.New(rand.NewPCG(1, 2)) // the same pairs have the same interval
		for range 1 << enumeratedMost {
			mean(func(int) bool { return r.IntN(2) == 1 })
		}
	}
	slices.Sort(means)
	return means
}
