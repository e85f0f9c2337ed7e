package sizing

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// Times is a sample of times. The zero value is empty.
type Times struct {
	took     []time.Duration // ascending, without repetition
	counts   []int64         // of each
	n        int64           // all, with censored ones
	censored int64           // times whose end was not seen; they count as longer than all others
}

// Count makes Times from values and their counts. Nil counts means once each.
func Count(took []time.Duration, counts []int64, censored int64) Times {
	if counts == nil {
		counts = slices.Repeat([]int64{1}, len(took))
	}
	order := make([]int, len(took))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(took[a], took[b]) })
	t := Times{took: make([]time.Duration, 0, len(took)), counts: make([]int64, 0, len(took)), n: censored, censored: censored}
	for _, i := range order {
		t.add(took[i], counts[i])
	}
	return t
}

// add adds n times of took, which is no shorter than those before.
func (t *Times) add(took time.Duration, n int64) {
	if n == 0 {
		return
	}
	t.n += n
	if last := len(t.took) - 1; last >= 0 && t.took[last] == took {
		t.counts[last] += n
		return
	}
	t.took, t.counts = append(t.took, took), append(t.counts, n)
}

// Longest returns the longest time that is not censored.
func (t Times) Longest() time.Duration {
	if len(t.took) == 0 {
		return 0
	}
	return t.took[len(t.took)-1]
}

// Mean counts a censored time as long as the longest.
func (t Times) Mean() time.Duration {
	sum := float64(t.Longest()) * float64(t.censored)
	for i, took := range t.took {
		sum += float64(took) * float64(t.counts[i])
	}
	return time.Duration(sum / float64(max(t.n, 1)))
}

// sum adds up the times from the first to below the second.
func (t Times) sum(from, below time.Duration) (sum time.Duration) {
	for i, took := range t.took {
		if from <= took && took < below {
			sum += took * time.Duration(t.counts[i])
		}
	}
	return sum
}

// Quantile returns the order statistic that a share of beyond exceeds. It returns the longest
// time and false if the time of that rank is censored.
func (t Times) Quantile(beyond float64) (time.Duration, bool) {
	rank := max(t.n-int64(beyond*float64(t.n)*(1+1e-12)), 1) // from 1
	seen := int64(0)
	for i, n := range t.counts {
		if seen += n; seen >= rank {
			return t.took[i], true
		}
	}
	return t.Longest(), false
}

// A quantile needs enough samples beyond it.
const enough = 10

// Shows reports whether the samples show the quantile that a share of beyond exceeds.
func (t Times) Shows(beyond float64) bool {
	return beyond*float64(t.n) >= enough*(1-1e-9)
}

// Above returns the share of times longer than took, and its 95 % bound by Clopper and Pearson.
// The bound is 3/n if none of n is longer.
func (t Times) Above(took time.Duration) (p, most float64) {
	k := t.n // includes censored times
	for i, one := range t.took {
		if one <= took {
			k -= t.counts[i]
		}
	}
	return float64(k) / float64(max(t.n, 1)), AtMost(k, t.n)
}

// AtMost returns the 95 % upper bound on the probability of an event seen k times in n.
func AtMost(k, n int64) float64 {
	if k >= n || n <= 0 {
		return 1
	}
	return distuv.Beta{Alpha: float64(max(k, 0)) + 1, Beta: float64(n - max(k, 0))}.Quantile(Confidence)
}

// Confidence of all bounds and intervals.
const Confidence = 0.95

// redrawn returns a bootstrap sample: each count is drawn from a Poisson law with that mean.
func (t Times) redrawn(rng *rand.Rand) Times {
	draw := func(n int64) int64 {
		if n == 0 {
			return 0
		}
		return int64(distuv.Poisson{Lambda: float64(n), Src: rng}.Rand())
	}
	r := Times{censored: draw(t.censored)}
	r.n = r.censored
	for i, took := range t.took {
		r.add(took, draw(t.counts[i]))
	}
	if len(r.took) == 0 {
		return t
	}
	return r
}
