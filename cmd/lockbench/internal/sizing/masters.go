package sizing

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/combin"

	"muxlock/internal/quorum"
)

// Unavailable is F19: the probability that fewer than q masters are up, where each is up with
// the probability master while its zone is, and each zone with the probability zone,
// independently. zones is how many masters are in each. All terms are positive, so that it is
// exact however small.
func Unavailable(zones []int, q int, master, zone float64) float64 {
	up := []float64{1}
	for _, n := range zones {
		in := count(slices.Repeat([]float64{master}, n))
		floats.Scale(zone, in)
		in[0] += 1 - zone
		up = convolve(up, in)
	}
	return min(floats.Sum(up[:min(q, len(up))]), 1)
}

// SurvivesZone reports whether a quorum is left when all masters of any one zone are down.
func SurvivesZone(zones []int) bool {
	n := 0
	for _, in := range zones {
		n += in
	}
	return n-slices.Max(zones) >= quorum.Size(n)
}

// EvenSpread is n masters in that many zones, none of which has two more than another.
func EvenSpread(n, zones int) []int {
	spread := make([]int, zones)
	for i := range n {
		spread[i%zones]++
	}
	return spread
}

// TimesOf is the time in which q of the masters of a set answer, for each row; +Inf: fewer do.
func (r Rows) TimesOf(set []int, q int) []float64 {
	times, answers := make([]float64, len(r)), make([]float64, 0, len(set))
	for i, row := range r {
		answers = answers[:0]
		for _, m := range set {
			if row[m] >= 0 {
				answers = append(answers, row[m])
			}
		}
		times[i] = math.Inf(1)
		if len(answers) >= q {
			slices.Sort(answers)
			times[i] = answers[q-1]
		}
	}
	return times
}

// mostCandidates bounds how many masters Fastest combines: 924 sets of 6.
const mostCandidates = 12

// Fastest is the n masters whose quorum takes least at p99, with all of them or else with one
// down, of all such sets that fit; nil: none does. Of more than 12 masters those that are
// fastest themselves are looked at.
func (r Rows) Fastest(n int, fits func(set []int) bool) (best []int) {
	p99 := func(set ...int) float64 { return QuantileOf(r.TimesOf(set, quorum.Size(len(set))), 0.99) }
	candidates := FirstN(r.Masters())
	alone := make([]float64, len(candidates))
	for i := range alone {
		alone[i] = p99(i)
	}
	slices.SortStableFunc(candidates, func(a, b int) int { return cmp.Compare(alone[a], alone[b]) })
	candidates = candidates[:min(len(candidates), mostCandidates)]
	slices.Sort(candidates)
	least := 0.0
	for _, picked := range combin.Combinations(len(candidates), n) {
		set := make([]int, n)
		for i, c := range picked {
			set[i] = candidates[c]
		}
		if !fits(set) {
			continue
		}
		if took := p99(set...); best == nil || took < least || took == least && r.OneDown(set) < r.OneDown(best) {
			best, least = set, took
		}
	}
	return best
}

// OneDown is the time at p99 of a quorum of a set without the master of it that is missed
// most; +Inf: the others are no quorum.
func (r Rows) OneDown(set []int) (worst float64) {
	for i := range set {
		others := slices.Delete(slices.Clone(set), i, i+1)
		worst = max(worst, QuantileOf(r.TimesOf(others, quorum.Size(len(set))), 0.99))
	}
	return worst
}

// QuantileOf is the least of the times that a part p of them does not exceed; +Inf is one.
func QuantileOf(times []float64, p float64) float64 {
	sorted := slices.Sorted(slices.Values(times))
	return stat.Quantile(p, stat.Empirical, sorted, nil)
}
