package result

import (
	"cmp"
	"context"
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
	NextPerS float64        `json:"next_per_s"` // lowest rate above RatePerS that was decided on; 0: none
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
// that name the search. When try fails or ctx ends, it returns the answer so far, and the error of
// try unless ctx has ended.
func FindCapacity(ctx context.Context, first float64, try func(rate float64) (CapacityRun, error)) (c Capacity, err error) {
	for rate := first; rate > 0; rate = c.next() {
		step := c.step(rate)
		run, err := try(rate)
		if ctx.Err() != nil {
			return c, nil
		} else if err != nil {
			return c, err
		}
		step.add(run)
		low, high := c.edge(RateMet)
		c.RatePerS, c.NextPerS = low.RatePerS, high.RatePerS
	}
	return c, nil
}

// step returns the step of a rate, a new one if there is none.
func (c *Capacity) step(rate float64) *CapacityStep {
	i := slices.IndexFunc(c.Steps, func(s CapacityStep) bool { return s.RatePerS == rate })
	if i < 0 {
		i, c.Steps = len(c.Steps), append(c.Steps, CapacityStep{RatePerS: rate, Results: []int{}})
	}
	return &c.Steps[i]
}

// next returns the rate of the next run; 0: the search has its answer.
func (c *Capacity) next() float64 {
	if last := c.Steps[len(c.Steps)-1]; last.Outcome == "" {
		return last.RatePerS
	}
	low, high := c.edge(RateMet, RateTooFew) // a higher rate has more operations
	switch {
	case high.RatePerS == 0 && low.RatePerS < bench.MaxRate:
		return round3(min(low.RatePerS*searchRamp, bench.MaxRate))
	case low.RatePerS == 0 && high.RatePerS > searchLeast:
		return round3(max(high.RatePerS/searchRamp, searchLeast))
	case low.RatePerS > 0 && high.RatePerS > low.RatePerS*searchClose:
		return round3(math.Sqrt(low.RatePerS * high.RatePerS))
	case low.RatePerS > 0 && !low.whole():
		return low.RatePerS
	case high.RatePerS > 0 && !high.whole():
		return high.RatePerS
	}
	return 0
}

// edge returns the highest rate with one of those outcomes, and the next one above it that was decided on. Zero steps: there are none.
func (c *Capacity) edge(outcomes ...Outcome) (low, high CapacityStep) {
	for _, s := range slices.SortedFunc(slices.Values(c.Steps), func(a, b CapacityStep) int { return cmp.Compare(a.RatePerS, b.RatePerS) }) {
		switch {
		case slices.Contains(outcomes, s.Outcome):
			low, high = s, CapacityStep{}
		case s.Outcome != "" && high.RatePerS == 0:
			high = s
		}
	}
	return low, high
}

// Cut reports whether the search ended before it had decided on its last rate.
func (c Capacity) Cut() bool {
	return slices.ContainsFunc(c.Steps, func(s CapacityStep) bool { return s.Outcome == "" })
}

// whole reports whether a rate of the answer has all its runs. If one has too few operations, others would as well.
func (s *CapacityStep) whole() bool {
	return s.Outcome == RateTooFew || s.Met+s.Missed >= searchRuns || s.Spoiled >= searchSpoiled
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
	case run.Outcome == RateTooFew:
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
