package result

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"muxlock/bench"
)

// HighestRate is what a sweep of rates found out about an implementation and its objectives.
type HighestRate struct {
	Impl string `json:"impl"`
	// RatePerS is the highest rate that met all objectives, of those below the first that missed; 0: none.
	RatePerS float64     `json:"rate_per_s"`
	Rates    []RateTried `json:"rates"` // from the lowest up
}

// RateTried has the runs at one rate.
type RateTried struct {
	RatePerS float64   `json:"rate_per_s"`
	Outcome  Outcome   `json:"outcome"` // of the runs together; empty: the sweep was cut short
	Runs     []Outcome `json:"runs"`
	Results  Indices   `json:"results"` // none for a run that would take too long
}

// Outcome is the verdict on a run, or on the runs at a rate.
type Outcome string

// Outcomes.
const (
	RateMet    Outcome = "met"
	RateMissed Outcome = "missed"
	// RateSpoiled: not met, but the generator lagged or the machine stalled. The lock may not be
	// the cause.
	RateSpoiled Outcome = "spoiled"
	// RateTooFew: even the longest run has too few operations to be judged.
	RateTooFew Outcome = "too few operations"
)

// RateRuns is the number of runs at a rate. Most of them decide.
const RateRuns = 3

// A sweep of rates ends after so many misses in a row, or so many rates that were not judged.
const enough = 2

// widestStep is the largest ratio of two rates next to each other where the sweep is refined.
const widestStep = 1.2

// Climb goes up the rates, in any order, from the lowest one. Then it goes up smaller steps between the
// highest rate that met all objectives and the next, until one misses. try makes the runs at a rate. An
// empty outcome cuts the sweep short.
func Climb(impl string, rates []float64, try func(rate float64) RateTried) HighestRate {
	h := HighestRate{Impl: impl, Rates: []RateTried{}}
	climb := func(rates []float64, misses int) {
		missed := 0
		for _, rate := range rates {
			t := try(rate)
			h.Rates = append(h.Rates, t)
			if missed++; t.Outcome != RateMissed {
				missed = 0
			}
			if missed == misses || h.unknown() {
				break
			}
		}
		slices.SortFunc(h.Rates, func(a, b RateTried) int { return cmp.Compare(a.RatePerS, b.RatePerS) })
	}
	climb(slices.Sorted(slices.Values(rates)), enough)
	if low, high := h.Edge(); low.Outcome == RateMet && high.Outcome == RateMissed && !h.unknown() {
		climb(between(low.RatePerS, high.RatePerS), 1)
	}
	low, _ := h.Edge()
	h.RatePerS = low.RatePerS
	return h
}

// between returns the rates of the smaller steps, with three digits, which people can read and repeat.
func between(low, high float64) (rates []float64) {
	steps := math.Ceil(math.Log(high/low) / math.Log(widestStep))
	for i := 1.0; i < steps; i++ {
		rate, _ := strconv.ParseFloat(strconv.FormatFloat(low*math.Pow(high/low, i/steps), 'g', 3, 64), 64)
		rates = append(rates, rate)
	}
	return rates
}

// Edge returns the highest rate below the first miss that met all, and the next one. Zero: there is none.
func (h HighestRate) Edge() (best, next RateTried) {
	for _, t := range h.Rates {
		if t.Outcome == RateMet {
			best, next = t, RateTried{}
		} else if next.RatePerS == 0 {
			next = t
		}
		if t.Outcome == RateMissed {
			break
		}
	}
	return best, next
}

// unknown reports whether the sweep ended without its answer.
func (h HighestRate) unknown() bool {
	n := 0
	for _, t := range h.Rates {
		switch t.Outcome {
		case "":
			return true
		case RateSpoiled, RateTooFew:
			n++
		}
	}
	return n >= enough
}

// Outcome is RateMet if some rate met all, RateMissed if the lowest one missed, and RateSpoiled if
// that is not known.
func (h HighestRate) Outcome() Outcome {
	switch {
	case h.unknown():
		return RateSpoiled
	case h.RatePerS > 0:
		return RateMet
	case h.Rates[0].Outcome == RateMissed:
		return RateMissed
	}
	return RateSpoiled
}

// Add counts a run. A result below 0 says that it was not made.
func (t *RateTried) Add(run Outcome, result int) {
	if t.Runs = append(t.Runs, run); result >= 0 {
		t.Results = append(t.Results, result)
	}
	switch {
	case run == RateTooFew: // others would be too few as well
		t.Outcome = RateTooFew
	case len(t.Runs) < RateRuns:
	case 2*t.Votes(RateMet) > RateRuns:
		t.Outcome = RateMet
	case 2*t.Votes(RateMissed) > RateRuns:
		t.Outcome = RateMissed
	default: // some were spoiled, and the others disagree
		t.Outcome = RateSpoiled
	}
}

// Votes returns the number of runs with an outcome.
func (t RateTried) Votes(outcome Outcome) (n int) {
	for _, run := range t.Runs {
		if run == outcome {
			n++
		}
	}
	return n
}

// JudgeRate judges a run by its objectives. A run that is not valid misses them all: it did not
// show its rate. Too few operations are no fault of the rate. A pass counts even in a disturbed
// run. A miss does not if the machine stalled, or if only the generator's lag explains it.
func JudgeRate(r *bench.Result, objectives []Objective) Outcome {
	met, missed := true, false
	for _, o := range objectives {
		slo := o.Judge(r)
		met = met && slo.Pass
		missed = missed || !slo.Pass && slo.Reason == ""
	}
	valid := r.Valid.But(bench.ReasonFew, bench.ReasonGenerator).OK
	switch {
	case valid && met:
		return RateMet
	case valid && !missed:
		return RateTooFew
	case Stalled(r), r.Valid.Has(bench.ReasonGenerator):
		return RateSpoiled
	}
	return RateMissed
}

// Stalled reports whether the p99 of the machine's stalls is more than half of the response's: the
// tail then shows more of the machine than of the lock.
func Stalled(r *bench.Result) bool {
	s, response := r.Client.Stall, r.Headline()
	return s != nil && response.Count > 0 && s.P["99"] > int64(time.Millisecond) && 2*s.P["99"] > response.P["99"]
}
