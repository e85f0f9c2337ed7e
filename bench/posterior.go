package bench

import (
	"math"
	"slices"
)

// posterior is what runs have shown of a capacity: a weight for every rate that it may be.
// A run at some rate meets its objectives with
//
//	P(met) = lapse + (1 - 2 lapse) / (1 + (rate/capacity)^(1/slope))
//
// At the capacity that is one half. How soon it falls around it is not known, so every rate
// has a weight for each of some slopes; and a lapse is a run that met or missed for reasons
// of its own, so that no single run can exclude anything. Each run multiplies the weights by
// how probable it was (Bayes). The model and the search with it are QUEST's (Watson, Pelli
// 1983, Perception & Psychophysics 33), with the slope as in Kontsevich, Tyler 1999 (Vision
// Research 39). Before any run, all magnitudes from capacityLeast to maxRate are alike.
type posterior [][]float64 // by slope, then by rate

const (
	posteriorLapse = 0.05
	posteriorStep  = 0.01 // between rates, as the logarithm of their ratio
)

var posteriorSlopes = []float64{0.02, 0.05, 0.1, 0.2} // of the logarithm of the rate

func newPosterior() posterior {
	p := make(posterior, len(posteriorSlopes))
	for i := range p {
		p[i] = slices.Repeat([]float64{1}, int(math.Log(maxRate/capacityLeast)/posteriorStep)+1)
	}
	return p
}

// observe takes a run into account.
func (p posterior) observe(rate float64, met bool) {
	at := math.Log(rate / capacityLeast)
	for i, slope := range posteriorSlopes {
		for j := range p[i] {
			likely := posteriorLapse + (1-2*posteriorLapse)/(1+math.Exp((at-float64(j)*posteriorStep)/slope))
			if !met {
				likely = 1 - likely
			}
			p[i][j] *= likely
		}
	}
}

// quantile is the rate below which the capacity lies with probability q.
func (p posterior) quantile(q float64) float64 {
	sums := make([]float64, len(p[0]))
	total := 0.0
	for j := range sums {
		for i := range p {
			total += p[i][j]
		}
		sums[j] = total
	}
	j, _ := slices.BinarySearch(sums, q*total)
	return min(capacityLeast*math.Exp(float64(j)*posteriorStep), maxRate)
}

// interval holds the capacity with a probability of 90 %.
func (p posterior) interval() (low, high float64) { return p.quantile(0.05), p.quantile(0.95) }
