package result

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"

	"muxlock/bench"
	"muxlock/internal/stats"
)

// Capacity is the highest rate at which an implementation met its objectives.
type Capacity struct {
	Impl     string         `json:"impl"`
	SLO      []string       `json:"slo"`
	RatePerS float64        `json:"rate_per_s"` // 0: it met them at no rate
	NextPerS float64        `json:"next_per_s"` // lowest rate tried above RatePerS; 0: none
	Steps    []CapacityStep `json:"steps"`      // in the order of the search
}

// CapacityStep has the runs at one rate.
type CapacityStep struct {
	RatePerS float64 `json:"rate_per_s"`
	Outcome  Outcome `json:"outcome"`
	Met      int     `json:"met"` // number of runs, as are the next
	Missed   int     `json:"missed"`
	Spoiled  int     `json:"spoiled"`
	Why      string  `json:"why"`     // of the last run with this outcome
	Results  []int   `json:"results"` // indices into Document.Results
	// Medians over the runs.
	ThroughputPerS float64 `json:"throughput_per_s"`
	P99Ns          float64 `json:"p99_ns"`

	runs []CapacityRun
}

// CapacityRun is one run at one rate.
type CapacityRun struct {
	Outcome        Outcome
	Why            string // the objectives with measured values, or why the run is not valid
	Result         int    // index into Document.Results; below 0: the run was not made
	ThroughputPerS float64
	P99Ns          float64
}

// Outcome is the verdict on a run, or on most runs at a rate.
type Outcome string

// Outcomes.
const (
	RateMet    Outcome = "met"
	RateMissed Outcome = "missed"
	// RateSpoiled: not met, but the generator lagged or the machine stalled. The lock may not be
	// the cause.
	RateSpoiled Outcome = "spoiled"
	// RateTooFew: not judged. Even the longest run of a search has too few operations.
	RateTooFew Outcome = "too few operations"
)

// A search goes up or down by searchRamp until one rate was met and a higher one was not. Then it
// halves the distance until the two rates are less than searchClose apart. Two runs of three decide
// on a rate, if fewer were spoiled. The two rates of the answer get all three runs.
const (
	searchRuns    = 3
	searchSpoiled = 3 // spoiled runs leave a rate undecided
	searchRamp    = 4
	searchClose   = 1.1
	searchLeast   = 1 // per second
)

// FindCapacity searches from the rate first on; try makes one run. The caller fills in the fields
// that name the search. When try fails or ctx ends, it returns the steps so far, and the error of
// try unless ctx has ended.
func FindCapacity(ctx context.Context, first float64, try func(rate float64) (CapacityRun, error)) (Capacity, error) {
	c := Capacity{Steps: []CapacityStep{}}
	err := c.search(first, func(rate float64) (CapacityRun, error) {
		run, err := try(rate)
		return run, cmp.Or(err, ctx.Err())
	})
	if ctx.Err() != nil {
		err = nil
	}
	byRate := func(a, b CapacityStep) int { return cmp.Compare(a.RatePerS, b.RatePerS) }
	for _, step := range slices.SortedFunc(slices.Values(c.Steps), byRate) {
		if step.Outcome == RateMet {
			c.RatePerS, c.NextPerS = step.RatePerS, 0
		} else if c.NextPerS == 0 {
			c.NextPerS = step.RatePerS
		}
	}
	return c, err
}

// search adds the steps.
func (c *Capacity) search(rate float64, try func(rate float64) (CapacityRun, error)) error {
	low, high := -1, -1 // steps; below 0: none yet
	for {
		last := len(c.Steps)
		c.Steps = append(c.Steps, CapacityStep{RatePerS: rate, Results: []int{}})
		if err := c.decide(last, false, try); err != nil {
			return err
		}
		if o := c.Steps[last].Outcome; o == RateMet || o == RateTooFew { // a higher rate has more operations
			low = last
		} else {
			high = last
		}
		switch {
		case high < 0 && rate < bench.MaxRate:
			rate = round3(min(rate*searchRamp, bench.MaxRate))
		case low < 0 && rate > searchLeast:
			rate = round3(max(rate/searchRamp, searchLeast))
		case low >= 0 && high >= 0 && c.Steps[high].RatePerS > c.Steps[low].RatePerS*searchClose:
			rate = round3(math.Sqrt(c.Steps[low].RatePerS * c.Steps[high].RatePerS))
		default:
			return errors.Join(c.decide(low, true, try), c.decide(high, true, try))
		}
	}
}

// decide makes the runs that decide on step i, or all runs of that step. It does nothing for a
// step below 0.
func (c *Capacity) decide(i int, all bool, try func(rate float64) (CapacityRun, error)) error {
	for i >= 0 && !c.Steps[i].decided(all) {
		run, err := try(c.Steps[i].RatePerS)
		if err != nil {
			return err
		}
		c.Steps[i].add(run)
	}
	return nil
}

func (s *CapacityStep) decided(all bool) bool {
	return s.Outcome != "" && (!all || s.Outcome == RateTooFew || s.Met+s.Missed >= searchRuns || s.Spoiled >= searchSpoiled)
}

// add counts a run. The outcome is empty until the runs have decided on the rate.
func (s *CapacityStep) add(run CapacityRun) {
	if s.runs = append(s.runs, run); run.Result >= 0 {
		s.Results = append(s.Results, run.Result)
	}
	switch run.Outcome {
	case RateMet:
		s.Met++
	case RateMissed:
		s.Missed++
	case RateSpoiled:
		s.Spoiled++
	}
	switch {
	case 2*s.Met > searchRuns:
		s.Outcome = RateMet
	case 2*s.Missed > searchRuns && s.Missed > s.Spoiled: // else the misses may be spoiled too
		s.Outcome = RateMissed
	case s.Spoiled >= searchSpoiled:
		s.Outcome = RateSpoiled
	case run.Outcome == RateTooFew: // other runs would have too few as well
		s.Outcome = RateTooFew
	}
	var throughput, p99 []float64
	for _, r := range s.runs {
		throughput, p99 = append(throughput, r.ThroughputPerS), append(p99, r.P99Ns)
		if r.Outcome == s.Outcome || s.Outcome == "" {
			s.Why = r.Why
		}
	}
	s.ThroughputPerS, s.P99Ns = stats.Median(throughput), stats.Median(p99)
}

// At returns the step of a rate; the zero step if there is none.
func (c Capacity) At(rate float64) CapacityStep {
	if i := slices.IndexFunc(c.Steps, func(s CapacityStep) bool { return s.RatePerS == rate }); i >= 0 {
		return c.Steps[i]
	}
	return CapacityStep{}
}

// Unknown reports whether the runs just above RatePerS could not be judged. The capacity may be
// higher then.
func (c Capacity) Unknown() bool {
	next := c.At(c.NextPerS).Outcome
	return next == RateSpoiled || next == RateTooFew
}

// round3 keeps three digits, which people can read and repeat.
func round3(rate float64) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 3, 64), 64)
	return v
}
