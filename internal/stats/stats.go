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

// exactMost is up to how many samples on each side MannWhitney counts all cases;
// beyond it the normal approximation is right to three digits.
const exactMost = 50

// MannWhitney returns the two-sided p-value of the rank-sum test (Mann, Whitney
// 1947): how often samples of one and the same distribution would differ by as much
// as a and b do. Exact for up to 50 on each side, also with ties; 1 when a side is empty.
func MannWhitney(a, b []float64) float64 {
	n, m := len(a), len(b)
	if n == 0 || m == 0 {
		return 1
	}
	ranks, sum := doubleRanks(a, b)
	if n > exactMost || m > exactMost {
		return normal(ranks, sum, n, m)
	}
	return exact(ranks, sum, n)
}

// LeastP is the smallest p-value that MannWhitney can return for sides of n and m
// samples without ties: when it is above Alpha, no difference whatever is significant.
func LeastP(n, m int) float64 {
	ways := 1.0
	for i := range min(n, m) {
		ways *= float64(n+m-i) / float64(i+1)
	}
	return min(1, 2/ways)
}

// doubleRanks returns twice the rank of every sample, so that those of ties are
// whole numbers too, and the sum of those of a.
func doubleRanks(a, b []float64) (ranks []int, sum int) {
	all := slices.Concat(a, b)
	slices.Sort(all)
	double := func(x float64) int { // first and last position of x, from 1
		first, _ := slices.BinarySearch(all, x)
		last := first
		for last < len(all) && all[last] == x {
			last++
		}
		return first + 1 + last
	}
	for _, x := range a {
		ranks = append(ranks, double(x))
		sum += double(x)
	}
	for _, x := range b {
		ranks = append(ranks, double(x))
	}
	return ranks, sum
}

// exact counts, for every sum, the ways to choose n of the ranks that have it. It
// doubles the smaller tail.
func exact(ranks []int, sum, n int) float64 {
	most := 0
	for _, r := range ranks {
		most += r
	}
	ways := make([][]float64, n+1) // ways[k][s]: of k ranks with the sum s
	for k := range ways {
		ways[k] = make([]float64, most+1)
	}
	ways[0][0] = 1
	for _, r := range ranks {
		for k := n; k > 0; k-- {
			for s := most; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	var all, low, high float64
	for s, w := range ways[n] {
		all += w
		if s <= sum {
			low += w
		}
		if s >= sum {
			high += w
		}
	}
	return min(1, 2*min(low, high)/all)
}

// normal approximates, with the corrections for ties and for continuity.
func normal(ranks []int, sum, n, m int) float64 {
	tied := map[int]float64{}
	for _, r := range ranks {
		tied[r]++
	}
	all := float64(n + m)
	ties := 0.0
	for _, t := range tied {
		ties += t*t*t - t
	}
	mean := float64(n) * (all + 1) / 2
	variance := float64(n) * float64(m) / 12 * (all + 1 - ties/(all*(all-1)))
	if variance == 0 {
		return 1
	}
	distance := max(math.Abs(float64(sum)/2-mean)-0.5, 0)
	return math.Erfc(distance / math.Sqrt(2*variance))
}

// resamples of a bootstrap; more change the third digit of an interval.
const resamples = 4000

// MedianInterval is the 95 % interval of the median of xs, by bootstrap from a
// fixed seed: the same samples have the same interval.
func MedianInterval(xs []float64) (low, high float64) {
	return bootstrap(func(r *rand.Rand) float64 { return resample(r, xs) })
}

// RatioInterval is the 95 % interval of the median of b over that of a, likewise.
// No sample of a is 0.
func RatioInterval(a, b []float64) (low, high float64) {
	return bootstrap(func(r *rand.Rand) float64 { return resample(r, b) / resample(r, a) })
}

func bootstrap(draw func(*rand.Rand) float64) (low, high float64) {
	r := rand.New(rand.NewPCG(1, 2))
	draws := make([]float64, resamples)
	for i := range draws {
		draws[i] = draw(r)
	}
	slices.Sort(draws)
	tail := int(resamples * Alpha / 2)
	return draws[tail], draws[resamples-1-tail]
}

// resample is the median of as many samples, drawn with replacement.
func resample(r *rand.Rand, xs []float64) float64 {
	drawn := make([]float64, len(xs))
	for i := range drawn {
		drawn[i] = xs[r.IntN(len(xs))]
	}
	return medianOf(drawn)
}
