package bench

import (
	"context"
	"math"
	"strconv"
)

// Capacity is the highest rate at which an implementation met its objectives.
type Capacity struct {
	Impl       string            `json:"impl"`
	Setting    map[string]string `json:"setting,omitempty"` // see Result
	SLO        []string          `json:"slo"`
	RatePerS   float64           `json:"rate_per_s"`   // highest rate that met all; 0: none that was tried did
	MissedPerS float64           `json:"missed_per_s"` // lowest rate above it that missed; 0: none did
	// GeneratorPerS is the lowest rate above RatePerS that missed while the generator lagged,
	// so that the lock's part in it is not known; 0: none did.
	GeneratorPerS float64 `json:"generator_per_s,omitempty"`
	// UnjudgedPerS is the highest rate at which a run could not be judged, mostly
	// because it had too few samples; 0: all could.
	UnjudgedPerS float64        `json:"unjudged_per_s"`
	Confirmed    bool           `json:"confirmed"` // RatePerS met them in further runs
	Steps        []CapacityStep `json:"steps"`     // in their order
}

// GeneratorLimits reports whether what lies just above RatePerS is not known because the
// generator could not show it.
func (c Capacity) GeneratorLimits() bool {
	return c.GeneratorPerS > 0 && (c.MissedPerS == 0 || c.GeneratorPerS < c.MissedPerS)
}

// CapacityStep is one run of the search.
type CapacityStep struct {
	RatePerS       float64 `json:"rate_per_s"`
	Confirms       bool    `json:"confirms"` // it repeats a rate that had met them
	Met            bool    `json:"met"`
	Unjudged       bool    `json:"unjudged"`            // valid but for too few operations, but an objective could not be judged; not Met then
	Generator      bool    `json:"generator,omitempty"` // not Met, and the generator lagged
	Why            string  `json:"why"`                 // the objectives and what was measured, or why the run is not valid
	Result         int     `json:"result"`              // where it stands in Document.Results
	ThroughputPerS float64 `json:"throughput_per_s"`
	P99Ns          int64   `json:"p99_ns"`
}

// The search doubles the rate until it is missed, or halves it until it is met,
// then closes in on the edge between the two, each time at their geometric mean,
// until they are closer than capacityClose. The first miss is repeated before it is
// believed, since all that follows is below it. A run that the generator spoiled bounds
// the search as a miss does, but is none. A run that cannot be judged has too
// few samples, so the search goes on above it, as if it were met. One run near the edge is luck either
// way, so the rate found must meet the objectives capacityConfirms more times; when
// it does not, it is lowered by capacityBack and confirmed anew. CapacityRuns bounds
// the whole, and so its time.
const (
	CapacityRuns     = 20
	capacityClose    = 1.05
	capacityConfirms = 2
	capacityBack     = 0.95
	capacityLeast    = 1 // per second
)

// FindCapacity searches from the rate first on; try makes one run and reports whether
// it met the objectives. It fills in the rates, Confirmed and Steps. When try fails
// or ctx ends it returns what is known by then, with the error of try if ctx goes on.
func FindCapacity(ctx context.Context, first float64, try func(rate float64) (CapacityStep, error)) (Capacity, error) {
	s := search{ctx: ctx, try: try, c: Capacity{Steps: []CapacityStep{}}}
	s.close(first)
	s.confirm()
	return s.c, s.err
}

// nextRate is what to try when low is the highest rate that did not miss and missed
// the lowest that did, each 0 when there is none yet.
func nextRate(first, low, missed float64) (rate float64, done bool) {
	switch {
	case low == 0 && missed == 0:
		rate = first
	case missed == 0:
		rate, done = 2*low, low >= maxRate
	case low == 0:
		rate, done = missed/2, missed <= capacityLeast
	default:
		rate, done = math.Sqrt(low*missed), missed <= low*capacityClose
	}
	return round3(min(max(rate, capacityLeast), maxRate)), done
}

// round3 keeps three digits, which is what people can read and repeat.
func round3(rate float64) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 3, 64), 64)
	return v
}

// search is a search under way.
type search struct {
	ctx context.Context
	try func(float64) (CapacityStep, error)
	c   Capacity
	err error
}

// step makes one run; ok is false when there was none any more.
func (s *search) step(rate float64, confirms bool) (step CapacityStep, ok bool) {
	if s.err != nil || s.ctx.Err() != nil || len(s.c.Steps) >= CapacityRuns {
		return step, false
	}
	step, s.err = s.try(rate)
	if s.ctx.Err() != nil {
		s.err = nil
	}
	if s.err != nil || s.ctx.Err() != nil {
		return step, false
	}
	step.RatePerS, step.Confirms = rate, confirms
	s.c.Steps = append(s.c.Steps, step)
	return step, true
}

// close finds the edge.
func (s *search) close(first float64) {
	for {
		rate, done := nextRate(first, max(s.c.RatePerS, s.c.UnjudgedPerS), s.bound())
		if done {
			return
		}
		step, ok := s.step(rate, false)
		if ok && !step.Met && !step.Unjudged && s.bound() == 0 {
			step, ok = s.step(rate, false)
		}
		switch {
		case !ok:
			return
		case step.Met:
			s.c.RatePerS = rate
		case step.Unjudged:
			s.c.UnjudgedPerS = rate
		default:
			s.missed(rate, step)
		}
	}
}

// missed keeps a rate that bounds the search from above.
func (s *search) missed(rate float64, step CapacityStep) {
	if step.Generator {
		s.c.GeneratorPerS = rate
	} else {
		s.c.MissedPerS = rate
	}
}

// bound is the lowest rate that was not met; 0: none yet.
func (s *search) bound() float64 {
	if s.c.GeneratorLimits() {
		return s.c.GeneratorPerS
	}
	return s.c.MissedPerS
}

// confirm repeats the rate found, or lower ones.
func (s *search) confirm() {
	for rate := s.c.RatePerS; rate > 0; rate = round3(rate * capacityBack) {
		met := 0
		var step CapacityStep
		for ok := true; met < capacityConfirms; met++ {
			if step, ok = s.step(rate, true); !ok {
				return
			}
			if !step.Met {
				break
			}
		}
		if met == capacityConfirms {
			s.c.RatePerS, s.c.Confirmed = rate, true
			return
		}
		s.c.RatePerS = s.metBelow(rate)
		s.missed(rate, step)
	}
}

// metBelow is the highest rate below that one that met the objectives in a run.
func (s *search) metBelow(rate float64) (best float64) {
	for _, step := range s.c.Steps {
		if step.Met && step.RatePerS < rate {
			best = max(best, step.RatePerS)
		}
	}
	return best
}
