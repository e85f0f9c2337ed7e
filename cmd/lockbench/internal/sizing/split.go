package sizing

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"muxlock/internal/quorum"
)

// SplitAtOnce is F13 for k callers whose requests reach every master in a random order,
// those of one master independent of the others': no caller gets q of the votes. At
// most one caller can get them, so that the k events exclude each other.
func SplitAtOnce(k, masters, q int) float64 {
	if k < 2 {
		return 0
	}
	one := distuv.Binomial{N: float64(masters), P: 1 / float64(k)}
	return max(0, 1-float64(k)*one.Survival(float64(q-1)))
}

// SplitArea is what ties the probability of a split vote to the span D of the random
// delays: with D much longer than the spread of the one-way times, what splits is the
// first callers coming close together.
//
// Two callers, when the masters that are up can be split by two: their gap has density
// k/D at 0, so P = k*A/D with A the integral of P(split | gap) over the gap. Three
// callers, when two cannot split (an odd number of masters, all up): two gaps, of joint
// density k(k-1)/D^2, so P = k(k-1)*A/D^2 with A the integral over both.
type SplitArea struct {
	Callers int     // 2 or 3
	Area    float64 // A: ns for 2, ns^2 for 3
	Error   float64 // standard error of Area
}

// Spread draws the one-way times of one caller's requests to all masters, without what
// they have in common.
type Spread func(rng *rand.Rand, to []float64)

// Spreads takes half of a joint round trip as the one-way time, from a random row.
func (r Rows) Spreads() Spread {
	var whole Rows
	for _, row := range r {
		if slices.Min(row) >= 0 {
			whole = append(whole, row)
		}
	}
	return func(rng *rand.Rand, to []float64) {
		clear(to)
		if len(whole) == 0 {
			return
		}
		row := whole[rng.IntN(len(whole))]
		least := slices.Min(row)
		for i := range to {
			to[i] = (row[i] - least) / 2
		}
	}
}

// MeasureSplit finds the area by drawing one-way times: masters, of which the last down
// do not answer.
func MeasureSplit(spread Spread, masters, down, draws int, rng *rand.Rand) SplitArea {
	up, q := masters-down, quorum.Size(masters)
	// Two callers leave nobody with q of the votes: one has at most q-1, the other too.
	callers := 3
	one := splitOfTwo
	if up <= 2*(q-1) {
		callers = 2
	} else {
		one = splitOfThree
	}
	times := [3][]float64{make([]float64, masters), make([]float64, masters), make([]float64, masters)}
	areas := make([]float64, draws)
	for d := range areas {
		for i := range callers {
			spread(rng, times[i])
		}
		areas[d] = one(times, up, q, rng)
	}
	mean, deviation := stat.PopMeanStdDev(areas, nil)
	return SplitArea{callers, mean, stat.StdErr(deviation, float64(draws))}
}

// splitOfTwo is the length of the gaps at which neither of two callers gets q votes.
// The second gets master i as long as the gap is below lead[i].
func splitOfTwo(times [3][]float64, up, q int, _ *rand.Rand) float64 {
	lead := make([]float64, up)
	for i := range lead {
		lead[i] = max(0, times[0][i]-times[1][i])
	}
	slices.Sort(lead)
	// At gap s the second has as many votes as leads are above s: below q of them from
	// lead[up-q] on, and the first has q or more from lead[q-1] on.
	return max(0, lead[q-1]-lead[up-q])
}

// splitOfThree is the area of the two gaps at which none of three callers gets q votes,
// from one random point in the square that may hold any.
func splitOfThree(times [3][]float64, up, q int, rng *rand.Rand) float64 {
	var side float64
	for i := range up {
		side = max(side, times[0][i]-times[1][i], times[0][i]-times[2][i], times[1][i]-times[2][i])
	}
	if side == 0 {
		return 0
	}
	second := rng.Float64() * side
	third := second + rng.Float64()*side
	votes := [3]int{}
	for i := range up {
		first, who := times[0][i], 0
		if t := times[1][i] + second; t < first {
			first, who = t, 1
		}
		if t := times[2][i] + third; t < first {
			who = 2
		}
		votes[who]++
	}
	if max(votes[0], votes[1], votes[2]) >= q {
		return 0
	}
	return side * side
}

// Probability of a split vote of k callers who come within span.
func (a SplitArea) Probability(k int, span float64) float64 {
	n := float64(k)
	switch {
	case k < a.Callers || a.Area == 0:
		return 0
	case span <= 0:
		return 1
	case a.Callers == 2:
		return min(1, n*a.Area/span)
	}
	return min(1, n*(n-1)*a.Area/(span*span))
}

// BestSpread is F14, for two callers that can split: the span that makes the
// mean time to a decided vote shortest when a lost round costs lost. The first of k comes
// after D/(k+1), a round succeeds with 1-B/D, B = k*A, so the time is
// (D/(k+1) + lost) / (1 - B/D); its derivative is 0 at B + sqrt(B^2 + B*(k+1)*lost).
func (a SplitArea) BestSpread(k int, lost float64) float64 {
	b := float64(k) * a.Area
	return b + math.Sqrt(b*b+b*float64(k+1)*lost)
}
