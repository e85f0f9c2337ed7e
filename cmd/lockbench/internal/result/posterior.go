package result

import (
	"math"
	"slices"

	"muxlock/bench"
)

// posterior is what runs have shown of a capacity: a weight for every rate that it may be.
// A run at some rate meets its objectives with
//
//	P(met) = luck + (1 - luck - lapse) / (1 + (rate/capacity)^(1/slope))
//
// How soon it falls around the capacity, and how often a run misses for reasons that have
// nothing to do with the rate, is not known: every rate has a weight for each of some slopes
// and lapses. On a quiet machine the runs themselves soon rule out a high lapse, and each
// miss counts; on a busy one it takes several. Met by luck is what hardly any run above the
// capacity is. Each run multiplies the weights by how probable it was (Bayes), as in QUEST
// (Watson, Pelli 1983, Perception & Psychophysics 33); what is not asked for is integrated
// out as in Prins 2013 (Journal of Vision 13). Before any run, all magnitudes from
// capacityLeast to bench.MaxRate are alike.
type posterior [len(posteriorSlopes) * len(posteriorLapses)][]float64 // by slope and lapse, then by rate

var (
	posteriorSlopes = [...]float64{0.02, 0.05, 0.1, 0.2} // of the logarithm of the rate
	posteriorLapses = [...]float64{0.02, 0.1, 0.3}
)

const (
	posteriorLuck = 0.02
	posteriorStep = 0.02 // between rates, as the logarithm of their ratio
)

func newPosterior() (p posterior) {
	for i := range p {
		p[i] = slices.Repeat([]float64{1}, int(math.Log(bench.MaxRate/capacityLeast)/posteriorStep)+1)
	}
	return p
}

// observe takes a run into account.
func (p posterior) observe(rate float64, met bool) {
	at := math.Log(rate / capacityLeast)
	for i, slope := range posteriorSlopes {
		for j := range p[0] {
			holds := 1 / (1 + math.Exp((at-float64(j)*posteriorStep)/slope))
			for k, lapse := range posteriorLapses {
				likely := posteriorLuck + (1-posteriorLuck-lapse)*holds
				if !met {
					likely = 1 - likely
				}
				p[i*len(posteriorLapses)+k][j] *= likely
			}
		}
	}
}

// quantile is the rate below which the capacity lies with probability q.
func (p posterior) quantile(q float64) float64 {
	sums := make([]float64, len(p[0]))
	for _, weights := range p {
		for j, w := range weights {
			sums[j] += w
		}
	}
	total := 0.0
	for j, sum := range sums {
		total += sum
		sums[j] = total
	}
	j, _ := slices.BinarySearch(sums, q*total)
	return min(capacityLeast*math.Exp(float64(j)*posteriorStep), bench.MaxRate)
}

// interval holds the capacity with a probability of 90 %.
func (p posterior) interval() (low, high float64) { return p.quantile(0.05), p.quantile(0.95) }
