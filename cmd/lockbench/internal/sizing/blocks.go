package sizing

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Clusters is how many there are of times, in order, that come in groups, and the longest
// of each: two less than gap apart belong together (runs declustering: Smith and Weissman
// 1994, Journal of the Royal Statistical Society B 56:3). A tail that is fitted to all of
// them takes one bad second for many.
func Clusters(at, length []float64, gap float64) (starts, longest []float64) {
	for i := range at {
		if n := len(starts); n > 0 && at[i]-(at[i-1]+length[i-1]) < gap {
			longest[n-1] = max(longest[n-1], length[i])
			continue
		}
		starts, longest = append(starts, at[i]), append(longest, length[i])
	}
	return starts, longest
}

// Met is the law of what those who begin at any moment meet, within a time of their own,
// of stalls that come in groups: the sum of those that begin meanwhile. It is nil without
// stalls. starting is the time in which one may begin and meet any.
//
// As far as that was seen the law is that of all stalls, each as the first that is met by
// those who began since the one before. Its tail, drawn towards a shape, is that of the
// groups, of which the most longest stalls are: see Clusters.
func Met(at, length []float64, during, gap float64, most int, shape float64) (law *Law, starting float64) {
	sums, counts := make([]float64, len(at)), make([]int64, len(at))
	for i := range at {
		first := during
		if i > 0 {
			first = min(during, at[i]-at[i-1])
		}
		starting += first
		counts[i] = int64(math.Ceil(metUnit * first / max(during, 1)))
		for j := i; j < len(at) && at[j] < at[i]+during-first/2+sums[i]; j++ {
			sums[i] += length[j]
		}
	}
	if law = Samples(sums, counts); law == nil {
		return nil, 0
	}
	law.n = int64(len(at)) // as many samples as there were stalls
	return law.GroupTail(at, sums, gap, most, shape), starting
}

// GroupTail is the law with the tail that its longest values have, which come in groups: it
// is that of the groups, of which the most longest values are, drawn towards a shape.
func (l *Law) GroupTail(at, length []float64, gap float64, most int, shape float64) *Law {
	from := 0.0
	if most < len(length) {
		from = slices.Sorted(slices.Values(length))[len(length)-most]
	}
	var starts, long []float64
	for i, x := range length {
		if x >= from {
			starts, long = append(starts, at[i]), append(long, x)
		}
	}
	_, longest := Clusters(starts, long, gap)
	groups := Samples(longest, nil)
	if groups == nil {
		return l
	}
	g := *l
	g.tail = fitTail(groups, shape)
	g.tail.share = max(l.SampleSurvival(g.tail.from), 1/float64(l.n)) // as often as its values come, not the groups
	return &g
}

// metUnit is the weight of a stall that all meet who begin within the time.
const metUnit = 1000

// Blocks draws the order in which the stretches of a measurement are put together to
// another one that might have been made instead (Künsch 1989, Annals of Statistics 17:3):
// what happens together stays together.
type Blocks struct {
	length float64
	order  []int
}

// DrawBlocks cuts all into n stretches.
func DrawBlocks(all float64, n int, rng *rand.Rand) Blocks {
	b := Blocks{length: all / float64(n), order: make([]int, n)}
	for i := range b.order {
		b.order[i] = rng.IntN(n)
	}
	return b
}

// Pick is the indices of those times, in order, that the drawn stretches hold, and when
// each comes in them.
func (b Blocks) Pick(at []float64) (picked []int, when []float64) {
	for n, block := range b.order {
		begin := float64(block) * b.length
		from, _ := slices.BinarySearch(at, begin)
		to, _ := slices.BinarySearch(at, begin+b.length)
		for i := from; i < to; i++ {
			picked, when = append(picked, i), append(when, float64(n)*b.length+at[i]-begin)
		}
	}
	return picked, when
}
