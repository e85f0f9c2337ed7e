package sizing

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// ClopperPearson is F17: an interval that holds the probability behind k of n with at
// least the given confidence, half of the error on each side. With k = 0 and 95 % its
// upper end is 3.7/n.
func ClopperPearson(k, n int64, confidence float64) (lo, hi float64) {
	a := (1 - confidence) / 2
	lo, hi = 0, 1
	if k > 0 {
		lo = distuv.Beta{Alpha: float64(k), Beta: float64(n-k) + 1}.Quantile(a)
	}
	if k < n {
		hi = distuv.Beta{Alpha: float64(k) + 1, Beta: float64(n - k)}.Quantile(1 - a)
	}
	return lo, hi
}

// PoissonInterval is an interval for the mean behind k events (Garwood 1936), which may be
// a sum of parts of events.
func PoissonInterval(k, confidence float64) (lo, hi float64) {
	a := (1 - confidence) / 2
	if k > 0 {
		lo = distuv.Gamma{Alpha: k, Beta: 1}.Quantile(a)
	}
	return lo, distuv.Gamma{Alpha: k + 1, Beta: 1}.Quantile(1 - a)
}

// RankInterval is F17 for a quantile: the ranks, from 1, of n ordered samples between
// which the p-quantile lies with at least the given confidence; rank 0 and n+1 are no
// sample: too few to bound it on that side.
func RankInterval(n int64, p, confidence float64) (lo, hi int64) {
	a := (1 - confidence) / 2
	below := distuv.Binomial{N: float64(n), P: p}
	// P(X_(r) > quantile) = P(fewer than r samples below it).
	lo = search(n, func(r int64) bool { return below.CDF(float64(r-1)) > a }) - 1
	hi = search(n, func(r int64) bool { return below.CDF(float64(r-1)) >= 1-a })
	return max(lo, 0), hi
}

// search is the least of 1 to n for which f holds, n+1 if for none; f never turns back
// to false.
func search(n int64, f func(int64) bool) int64 {
	return int64(sort.Search(int(n), func(i int) bool { return f(int64(i) + 1) })) + 1
}

// Together is F18: the probability that at least one of independent mishaps happens.
func Together(p ...float64) float64 {
	none := 0.0
	for _, x := range p {
		none += math.Log1p(-min(x, 1))
	}
	return -math.Expm1(none)
}
