package sizing

import (
	"maps"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/mathext"
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
	of := map[time.Duration]int64{}
	for i, d := range took {
		if counts == nil {
			of[d]++
		} else if counts[i] > 0 {
			of[d] += counts[i]
		}
	}
	t := Times{took: slices.Sorted(maps.Keys(of)), n: censored, censored: censored}
	for _, d := range t.took {
		t.counts = append(t.counts, of[d])
		t.n += of[d]
	}
	return t
}

// Open returns t with so many more times whose end was not seen.
func (t Times) Open(more int64) Times {
	t.n, t.censored = t.n+more, t.censored+more
	return t
}

// Empty reports whether there are no times, not even censored ones.
func (t Times) Empty() bool { return t.n == 0 }

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

// upTo returns t with all times longer than most censored.
func (t Times) upTo(most time.Duration) Times {
	n, _ := slices.BinarySearch(t.took, most+1)
	known := Count(t.took[:n], t.counts[:n], 0)
	return known.Open(t.n - known.n)
}

// forever stands for a censored time.
const forever = time.Duration(math.MaxInt64 / 4)

// spread returns n times that stand for all of them, ascending; nil if there are none.
func (t Times) spread(n int) (all []time.Duration) {
	seen, i := int64(0), -1 // seen is up to i, with it
	for k := range n * int(min(t.n, 1)) {
		rank := int64((float64(k) + 0.5) / float64(n) * float64(t.n)) // from 0
		for ; i+1 < len(t.took) && seen <= rank; i++ {
			seen += t.counts[i+1]
		}
		took := forever
		if seen > rank {
			took = t.took[i]
		}
		all = append(all, took)
	}
	return all
}

// Samples returns up to most times that stand for all of them. A censored time is as long as the
// longest other.
func (t Times) Samples(most int) []time.Duration {
	all := t.spread(int(min(int64(most), t.n)))
	for i := range all {
		all[i] = min(all[i], t.Longest())
	}
	return all
}

// AtMost returns the 95 % upper bound on the probability of an event seen k times in n, by Clopper
// and Pearson: 3/n for an event that was not seen.
func AtMost(k, n int64) float64 {
	if k >= n || n <= 0 {
		return 1
	}
	return mathext.InvRegIncBeta(float64(max(k, 0))+1, float64(n-max(k, 0)), Confidence) // distuv.Beta has it too, and 2 MB of matrices
}

// Confidence of all bounds.
const Confidence = 0.95
