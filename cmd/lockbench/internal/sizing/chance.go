package sizing

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// RestartLoss is F15: the probability that a lock granted by m of N masters can be had by
// another because masters were restarted and forgot it. Of those that forget r vote for
// the other, and so do the N-m that never granted: a quorum when r >= m+q-N. Each
// restarts with probability p while the lock lasts. It is 0 for masters that stay out
// until no lock of before can be left, or that write each command to disk first.
func RestartLoss(m, masters int, p float64) float64 {
	forget := m + Quorum(masters) - masters
	if forget <= 0 {
		return 1
	}
	if p <= 0 {
		return 0
	}
	fail := make([]float64, m)
	for i := range fail {
		fail[i] = p
	}
	return AtLeast(forget, fail)
}

// Restarts is the probability that a master restarts, at that rate per ns, within ttl.
func Restarts(rate, ttl float64) float64 { return -math.Expm1(-rate * ttl) }

// Collision is F16: the birthday bound for n random tokens of so many bits.
func Collision(n float64, bits int) float64 { return min(1, math.Ldexp(n*n, -bits-1)) }

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

// AtMost is the one-sided bound for something that did not happen in n trials: 3/n at 95 %.
func AtMost(n int64, confidence float64) float64 {
	return -math.Expm1(math.Log1p(-confidence) / float64(max(n, 1)))
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
	lo, hi := int64(1), n+1
	for lo < hi {
		if mid := (lo + hi) / 2; f(mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// SamplesFor is how many samples are needed until ten lie beyond the p-quantile: fewer say little about it.
func SamplesFor(p float64) int64 { return int64(math.Ceil(trusted/(1-p) - 1e-6)) }

// Together is F18: the probability that at least one of independent mishaps happens.
func Together(p ...float64) float64 {
	none := 0.0
	for _, x := range p {
		none += math.Log1p(-min(x, 1))
	}
	return -math.Expm1(none)
}
