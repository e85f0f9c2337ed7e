package result

import (
	"context"
	"slices"
	"strconv"

	"muxlock/bench"
)

// Capacity is the rate up to which an implementation meets its objectives: at that rate a
// run meets them as often as not.
type Capacity struct {
	Impl    string            `json:"impl"`
	Setting map[string]string `json:"setting,omitempty"` // see Result
	SLO     []string          `json:"slo"`
	// RatePerS is the capacity, and never more than a rate at which a run met all; 0: none did.
	RatePerS float64 `json:"rate_per_s"`
	// LowPerS to HighPerS holds the capacity with a probability of 90 %. LowPerS is 0 when no
	// run met all, HighPerS when it is far above all that was tried.
	LowPerS    float64 `json:"low_per_s"`
	HighPerS   float64 `json:"high_per_s"`
	MissedPerS float64 `json:"missed_per_s"` // lowest rate above RatePerS that missed; 0: none did
	// GeneratorPerS is the lowest rate above RatePerS and UnjudgedPerS that missed in a run
	// that was disturbed, see CapacityStep.Disturbed; 0: none did.
	GeneratorPerS float64 `json:"generator_per_s,omitempty"`
	// UnjudgedPerS is the highest rate at which a run could not be judged, mostly
	// because it had too few samples; 0: all could.
	UnjudgedPerS float64        `json:"unjudged_per_s"`
	Confirmed    bool           `json:"confirmed"`      // HighPerS is at most CapacityClose times LowPerS
	Runs         int            `json:"runs"`           // that were made
	Disturbed    int            `json:"disturbed_runs"` // of Runs; they do not count
	Steps        []CapacityStep `json:"steps"`          // in their order
}

// Limited reports whether the capacity is not known because runs were disturbed.
func (c Capacity) Limited() bool {
	return !c.Confirmed && c.GeneratorPerS > 0 && (c.MissedPerS == 0 || c.GeneratorPerS < c.MissedPerS)
}

// CapacityStep is one run of the search.
type CapacityStep struct {
	RatePerS       float64 `json:"rate_per_s"`
	Confirms       bool    `json:"confirms"` // it repeats a rate that had met them
	Met            bool    `json:"met"`
	Unjudged       bool    `json:"unjudged"`            // valid but for too few operations, but an objective could not be judged; not Met then
	Disturbed      bool    `json:"generator,omitempty"` // not Met, but the generator lagged or the machine stalled: the lock may have had no part in it
	Stalled        bool    `json:"stalled,omitempty"`   // Disturbed by the machine, which has nothing to do with the rate
	Why            string  `json:"why"`                 // the objectives and what was measured, or why the run is not valid
	Result         int     `json:"result"`              // where it stands in Document.Results
	ThroughputPerS float64 `json:"throughput_per_s"`
	P99Ns          int64   `json:"p99_ns"`
}

// The search is a bisection under noise: each run is made at the median of the posterior,
// until its 90 % interval is narrow, and so repeats what is not decided: one run near the
// capacity is luck either way. Every third run is made higher up: runs at the median alone,
// half of which miss, cannot tell a capacity near them from a far higher one and misses of
// other causes. CapacityRuns bounds the whole, and so its time.
const (
	CapacityRuns  = 25
	CapacityClose = 1.25
	capacityReach = 4 // no run is more times above all that met, as masters may be in use, or below all before
	capacityLeast = 1 // per second
)

var capacityQuantiles = []float64{0.5, 0.5, 0.8}

// FindCapacity searches from the rate first on; try makes one run and reports whether
// it met the objectives. It fills in all but what names the search. When try fails
// or ctx ends it returns what is known by then, with the error of try if ctx goes on.
func FindCapacity(ctx context.Context, first float64, try func(rate float64) (CapacityStep, error)) (Capacity, error) {
	s := newSearch(first)
	for {
		rate, ok := s.next()
		if !ok || ctx.Err() != nil {
			return s.answer(), nil
		}
		step, err := try(rate)
		if ctx.Err() != nil {
			return s.answer(), nil
		}
		if err != nil {
			return s.answer(), err
		}
		step.RatePerS = rate
		s.add(step)
	}
}

// search is a search under way: next, a run, add, and so on.
type search struct {
	first float64
	steps []CapacityStep
	// known is by what runs have shown. One with too few samples counts as met, since there are
	// more of them above; no rate is an answer unless another run met there or above.
	known posterior
	place posterior // known, and as if missed where the generator lagged twice in a row: it may be no faster
}

func newSearch(first float64) *search {
	return &search{first: first, steps: []CapacityStep{}, known: newPosterior(), place: newPosterior()}
}

// next is the rate of the next run; false when there is none.
func (s *search) next() (rate float64, ok bool) {
	n := len(s.steps)
	if n == 0 {
		return s.first, true
	}
	if low, high := s.place.interval(); n >= CapacityRuns || high <= low*CapacityClose {
		return 0, false
	}
	if last := s.steps[n-1]; last.Disturbed && !s.lagsAgain(n-1) {
		return last.RatePerS, true
	}
	least, most := s.first, s.first
	for _, step := range s.steps {
		least = min(least, step.RatePerS)
		if step.Met || step.Unjudged {
			most = max(most, step.RatePerS)
		}
	}
	return round3(min(max(s.place.quantile(capacityQuantiles[n%len(capacityQuantiles)]), least/capacityReach, capacityLeast), most*capacityReach, bench.MaxRate)), true
}

// lagsAgain reports whether the generator lagged in step i as in the one before it.
func (s *search) lagsAgain(i int) bool {
	lags := func(t CapacityStep) bool { return t.Disturbed && !t.Stalled }
	return i > 0 && lags(s.steps[i]) && lags(s.steps[i-1]) && s.steps[i].RatePerS == s.steps[i-1].RatePerS
}

// add takes the run at the rate that next returned into account.
func (s *search) add(step CapacityStep) {
	step.Confirms = slices.ContainsFunc(s.steps, func(t CapacityStep) bool { return t.Met && t.RatePerS == step.RatePerS })
	s.steps = append(s.steps, step)
	met := step.Met || step.Unjudged
	if !step.Disturbed {
		s.known.observe(step.RatePerS, met)
	}
	if !step.Disturbed || s.lagsAgain(len(s.steps)-1) {
		s.place.observe(step.RatePerS, met)
	}
}

// answer is what is known by now.
func (s *search) answer() Capacity {
	c := Capacity{Runs: len(s.steps), Steps: s.steps}
	lowest := func(best *float64, rate float64) {
		if *best == 0 || rate < *best {
			*best = rate
		}
	}
	best, most := 0.0, 0.0
	for _, step := range s.steps {
		most = max(most, step.RatePerS)
		switch {
		case step.Met:
			best = max(best, step.RatePerS)
		case step.Unjudged:
			c.UnjudgedPerS = max(c.UnjudgedPerS, step.RatePerS)
		case step.Disturbed:
			c.Disturbed++
		}
	}
	low, high := s.known.interval()
	if best > 0 {
		c.RatePerS = min(round3(s.known.quantile(0.5)), best)
		c.LowPerS = min(round3(low), c.RatePerS)
		c.Confirmed = high <= low*CapacityClose
	}
	if high <= most*capacityReach {
		c.HighPerS = round3(high)
	}
	for _, step := range s.steps {
		switch {
		case step.Met || step.Unjudged || step.RatePerS <= c.RatePerS:
		case step.Disturbed:
			if step.RatePerS > c.UnjudgedPerS {
				lowest(&c.GeneratorPerS, step.RatePerS)
			}
		default:
			lowest(&c.MissedPerS, step.RatePerS)
		}
	}
	return c
}

// round3 keeps three digits, which is what people can read and repeat.
func round3(rate float64) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 3, 64), 64)
	return v
}
