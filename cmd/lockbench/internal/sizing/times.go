package sizing

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// Times is how long something took, every time that it was seen. The zero value is none.
type Times struct {
	took     []time.Duration // ascending, without repetition
	counts   []int64         // of each
	n        int64           // all, those of Censored too
	censored int64           // whose end was not seen: they count as longer than all others
}

// Count makes Times of values that were seen so many times each; nil counts: once each.
func Count(took []time.Duration, counts []int64, censored int64) Times {
	if counts == nil {
		counts = slices.Repeat([]int64{1}, len(took))
	}
	order := make([]int, len(took))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(took[a], took[b]) })
	t := Times{n: censored, censored: censored}
	for _, i := range order {
		t.add(took[i], counts[i])
	}
	return t
}

// add adds n of a time that none before is longer than.
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

// Longest is the longest whose end was seen.
func (t Times) Longest() time.Duration {
	if len(t.took) == 0 {
		return 0
	}
	return t.took[len(t.took)-1]
}

// Mean counts those whose end was not seen as long as the longest.
func (t Times) Mean() time.Duration {
	sum := float64(t.Longest()) * float64(t.censored)
	for i, took := range t.took {
		sum += float64(took) * float64(t.counts[i])
	}
	return time.Duration(sum / float64(max(t.n, 1)))
}

// Quantile is what all but a part of beyond took at most: an order statistic. It is false,
// and the longest, where the one of that rank did not end.
func (t Times) Quantile(beyond float64) (time.Duration, bool) {
	rank := max(t.n-int64(beyond*float64(t.n)*(1+1e-12)), 1) // from 1, of all in order
	seen := int64(0)
	for i, n := range t.counts {
		if seen += n; seen >= rank {
			return t.took[i], true
		}
	}
	return t.Longest(), false
}

// enough is how many samples lie beyond a quantile that is read off them.
const enough = 10

// Shows reports whether the samples show what a part of beyond exceeds.
func (t Times) Shows(beyond float64) bool {
	return beyond*float64(t.n) >= enough*(1-1e-9)
}

// Above is the part that takes longer, and what it is at most, with 95 %: by Clopper and
// Pearson, which is 3/n where none of n does.
func (t Times) Above(took time.Duration) (p, most float64) {
	k := t.n // those included whose end was not seen
	for i, one := range t.took {
		if one <= took {
			k -= t.counts[i]
		}
	}
	return float64(k) / float64(max(t.n, 1)), AtMost(k, t.n)
}

// AtMost is what the probability behind k of n is at most, with 95 %.
func AtMost(k, n int64) float64 {
	if k >= n || n <= 0 {
		return 1
	}
	return distuv.Beta{Alpha: float64(max(k, 0)) + 1, Beta: float64(n - max(k, 0))}.Quantile(Confidence)
}

// Confidence of all bounds and intervals.
const Confidence = 0.95

// redrawn is other samples of as many, which might have been seen instead: each value comes as
// often as a Poisson law of its count has it.
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
