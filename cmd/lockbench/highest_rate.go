package main

import (
	"context"
	"strconv"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/session"
)

// A run at a rate takes spareTime times as long as its objectives or leastOperations need, but
// no longer than longestRun or --duration.
const (
	leastOperations = 100
	spareTime       = 1.2
	longestRun      = time.Minute
)

// highest looks for the highest rate at which each implementation meets the objectives.
type highest struct {
	plan    *plan.Plan
	rates   []float64
	results []*bench.Result
	found   []result.HighestRate
}

// highestRates is a sweep of rates with objectives. It makes the runs of each implementation by itself.
func highestRates(param result.SweepParam, plans []*plan.Plan) procedure {
	h := &highest{plan: plans[0]}
	for _, p := range plans {
		h.rates = append(h.rates, p.Rate)
	}
	h.plan.Rounds = result.RateRuns
	s := swept(param, plans)
	return procedure{runs: h.run, complete: func(doc *result.Document) error {
		err := s.complete(doc)
		doc.Sweep.Highest = h.found
		return err
	}}
}

func (h *highest) run(ctx context.Context, on *session.Session) (_ []*bench.Result, err error) {
	for _, t := range on.Targets(h.plan) {
		h.found = append(h.found, result.Climb(t.Name, h.rates, func(rate float64) result.RateTried {
			tried := result.RateTried{RatePerS: rate, Runs: []result.Outcome{}, Results: []int{}}
			t.Load.Rate, t.Setting = rate, map[string]string{"rate": strconv.FormatFloat(rate, 'f', -1, 64)}
			for round := 1; tried.Outcome == "" && err == nil && ctx.Err() == nil; round++ {
				err = h.try(ctx, t, round, &tried)
			}
			return tried
		}))
		if err != nil || ctx.Err() != nil {
			break
		}
	}
	return h.results, err
}

// try makes a run that is long enough to be judged, and counts it unless ctx ends.
func (h *highest) try(ctx context.Context, t session.Target, round int, tried *result.RateTried) error {
	if t.Load.Duration = h.length(t.Load.Rate); t.Load.Duration > max(longestRun, h.plan.Duration) {
		tried.Add(result.RateTooFew, -1)
		return nil
	}
	r, err := t.Run(ctx, round)
	if r != nil {
		h.results = append(h.results, r)
	}
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return t.Failed(err)
	}
	tried.Add(result.JudgeRate(r, h.plan.Objectives), len(h.results)-1)
	return nil
}

// length returns the time of a run at a rate, if each operation is a sample for every objective.
func (h *highest) length(rate float64) time.Duration {
	needs := int64(leastOperations)
	for _, o := range h.plan.Objectives {
		needs = max(needs, o.Samples())
	}
	return max(h.plan.Duration, time.Duration(min(spareTime*float64(needs)/rate*float64(time.Second), 1<<62)))
}
