package main

import (
	"context"
	"strconv"
	"time"

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
	plan  *plan.Plan
	found []result.HighestRate
}

func (h *highest) run(ctx context.Context, on *session.Session) (err error) {
	var rates []float64
	for _, p := range h.plan.Each {
		rates = append(rates, p.Rate)
	}
	for _, t := range on.Targets(h.plan) {
		h.found = append(h.found, result.Climb(t.Name, rates, func(rate float64) (tried result.RateTried) {
			tried, err = h.try(ctx, on, t, rate)
			return tried
		}))
		if err != nil || ctx.Err() != nil {
			break
		}
	}
	return err
}

// try makes runs at a rate that are long enough to be judged, until they decide. The outcome is empty after an error and when
// ctx ends.
func (h *highest) try(ctx context.Context, on *session.Session, t session.Target, rate float64) (tried result.RateTried, err error) {
	tried = result.RateTried{RatePerS: rate}
	t.Load.Rate, t.Setting = rate, map[string]string{"rate": strconv.FormatFloat(rate, 'f', -1, 64)}
	if t.Load.Duration = h.length(rate); t.Load.Duration > max(longestRun, h.plan.Duration) {
		tried.Add(result.RateTooFew, -1)
	}
	for round := 1; tried.Outcome == ""; round++ {
		r, err := on.Run(ctx, t, round)
		if err != nil || ctx.Err() != nil {
			return tried, err
		}
		tried.Add(result.JudgeRate(r, h.plan.Objectives), len(on.Results)-1)
	}
	return tried, nil
}

// length returns the time of a run at a rate, if each operation is a sample for every objective.
func (h *highest) length(rate float64) time.Duration {
	needs := int64(leastOperations)
	for _, o := range h.plan.Objectives {
		needs = max(needs, o.Samples())
	}
	return max(h.plan.Duration, time.Duration(min(spareTime*float64(needs)/rate*float64(time.Second), 1<<62)))
}
