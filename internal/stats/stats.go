// Package stats tells differences between measurements from chance. It works with few samples and assumes no distribution:
// measured rates and latencies are far from normal.
package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Alpha is the significance level: how often chance alone may pass for a difference.
const Alpha = 0.05

// Median returns the median of xs, which must not be empty. It does not reorder xs.
func Median(xs []float64) float64 {
	sorted := slices.Sorted(slices.Values(xs))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// PairsNeeded is the least number of pairs that can show a difference.
const PairsNeeded = 6

// enumeratedMost is the largest number of pairs for which Paired tries all sign changes. For more pairs it draws as many
// sign changes at random.
const enumeratedMost = 16

// Paired tests whether differences, one per pair, lie around 0 (Fisher's permutation test). p is how often the mean would
// be as far from 0 if each difference could as well have the other sign. low to high is the 95 % interval from inverting
// the test: the shifts of the differences that the test does not reject (Hartigan 1969). With fewer pairs than
// PairsNeeded the interval is unbounded.
func Paired(differences []float64) (p, low, high float64) {
	means := subsetMeans(differences)
	all := float64(len(means) + 1) // 1 for the empty subset
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

// subsetMeans returns the means of all nonempty subsets of xs, in ascending order. They stand for sign changes: changing
// the signs of a subset moves the sum of xs by twice the subset's sum.
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
		r := rand.New(rand.NewPCG(1, 2)) // fixed, so that the same pairs always give the same interval
		for range 1 << enumeratedMost {
			mean(func(int) bool { return r.IntN(2) == 1 })
		}
	}
	slices.Sort(means)
	return means
}
