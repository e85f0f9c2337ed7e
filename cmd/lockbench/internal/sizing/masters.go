package sizing

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/combin"

	"muxlock/internal/quorum"
)

// Unavailable is F19: the probability that fewer than q masters are up, where each is up with
// the probability master while its zone is, and each zone with the probability zone,
// independently. zones is how many masters are in each. All terms are positive, so that it is
// exact however small.
func Unavailable(zones []int, q int, master, zone float64) float64 {
	up := []float64{1} // up[j] is the probability that j of the masters so far are
	for _, n := range zones {
		all := make([]float64, len(up)+n)
		for j := range n + 1 {
			p := zone * choose(n, j) * math.Pow(master, float64(j)) * math.Pow(1-master, float64(n-j))
			if j == 0 {
				p += 1 - zone
			}
			for i, before := range up {
				all[i+j] += before * p
			}
		}
		up = all
	}
	sum := 0.0
	for _, p := range up[:min(q, len(up))] {
		sum += p
	}
	return min(sum, 1)
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

// Of is the rows of some masters alone.
func (r Rows) Of(masters []int) Rows {
	rows := make(Rows, len(r))
	for j, row := range r {
		rows[j] = make([]float64, len(masters))
		for i, m := range masters {
			rows[j][i] = row[m]
		}
	}
	return rows
}

// mostCandidates bounds how many masters Fastest combines: 924 sets of 6.
const mostCandidates = 12

// Fastest is the n masters whose quorum takes least at p99, then at p50, of all such sets
// that fit; nil: none does. Of more than 12 masters those that are fastest themselves are
// looked at.
func (r Rows) Fastest(n int, fits func(set []int) bool) (best []int) {
	faster := func(a, b [2]float64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }
	of := func(set []int) [2]float64 {
		times := r.Of(set).QuorumTimes(quorum.Size(len(set)))
		return [2]float64{QuantileOf(times, 0.99), QuantileOf(times, 0.5)}
	}
	alone, candidates := map[int][2]float64{}, []int{}
	for i := range r.Masters() {
		alone[i], candidates = of([]int{i}), append(candidates, i)
	}
	slices.SortStableFunc(candidates, func(a, b int) int { return faster(alone[a], alone[b]) })
	candidates = candidates[:min(len(candidates), mostCandidates)]
	slices.Sort(candidates)
	var least [2]float64
	for _, picked := range combin.Combinations(len(candidates), n) {
		set := make([]int, n)
		for i, c := range picked {
			set[i] = candidates[c]
		}
		if fits(set) {
			if t := of(set); best == nil || faster(t, least) < 0 {
				best, least = set, t
			}
		}
	}
	return best
}

// OneDown is the time at p99 of a quorum of all masters without the one that is missed
// most; +Inf: the others are no quorum.
func (r Rows) OneDown() (worst float64) {
	for i := range r.Masters() {
		worst = max(worst, QuantileOf(r.Without(i).QuorumTimes(quorum.Size(r.Masters())), 0.99))
	}
	return worst
}

// QuantileOf is the least of the times that a part p of them does not exceed; +Inf is one.
func QuantileOf(times []float64, p float64) float64 {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[max(int(math.Ceil(p*float64(len(sorted))))-1, 0)]
}
