// Package stats tells differences between measurements from chance. It works with few samples and assumes no distribution:
// measured rates and latencies are far from normal.
package stats

import (
	"math"
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

// SignTest tests whether the median of a distribution is null, given samples xs. p is how often at least as many samples
// would lie on one side of null if each could as well lie on the other. low to high is the 95 % interval from inverting
// the test: from the k-th least sample to the k-th greatest. So it holds the median of xs. With fewer samples than
// PairsNeeded it is unbounded.
func SignTest(xs []float64, null float64) (p, low, high float64) {
	sorted := slices.Sorted(slices.Values(xs))
	below, above := 0, 0
	for _, x := range xs {
		if x <= null {
			below++
		}
		if x >= null {
			above++
		}
	}
	n := len(xs)
	p, low, high = 1, math.Inf(-1), math.Inf(1)
	log, tail := -float64(n)*math.Ln2, 0.0 // of the chance of k on one side; chance of up to k
	for k := range (n + 1) / 2 {
		tail += math.Exp(log)
		log += math.Log(float64(n-k) / float64(k+1))
		if 2*tail < Alpha {
			low, high = sorted[k], sorted[n-1-k]
		}
		if k == min(below, above) {
			p = min(1, 2*tail)
		}
	}
	return p, low, high
}
