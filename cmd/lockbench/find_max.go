package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/session"
	"muxlock/cmd/lockbench/internal/units"
	"muxlock/cmd/lockbench/internal/usage"
	"muxlock/cmd/lockbench/internal/view"
)

// searchDefaults are the defaults of a search. Workers are many, so that the lock is the limit.
var searchDefaults = map[string]string{"rate": "1000", "workers": "1024", "duration": "2s"}

// A run of a search takes searchMargin times as long as its objectives or searchOperations
// need. It takes no longer than searchLongest or --duration.
const (
	searchOperations = 100
	searchMargin     = 1.2
	searchLongest    = time.Minute
)

// findCapacity is sweep --find-max.
func findCapacity(cmd *cobra.Command, f *plan.Flags) error {
	fs := cmd.Flags()
	for _, name := range []string{"rounds", "param"} {
		if fs.Changed(name) {
			return usage.Errorf("--%s cannot be used with --find-max, which gives --rate one value after the other and repeats its runs", name)
		}
	}
	if err := f.TakeConfig(fs); err != nil { // before defaults are set
		return err
	}
	for name, value := range searchDefaults {
		if !fs.Changed(name) {
			_ = fs.Set(name, value) // the flag takes its default
		}
	}
	p, err := f.Plan(cmd.Name(), fs)
	if err != nil {
		return err
	}
	if len(p.Objectives) == 0 {
		return usage.Errorf("--find-max needs --slo, such as --slo 'response.p99<5ms'")
	}
	p.Args = slices.DeleteFunc(p.Args, func(arg string) bool { return strings.HasPrefix(arg, "--rounds=") })
	s := &search{plan: p}
	return execute(cmd, p, procedure{runs: s.run, complete: s.complete, judge: s.judge})
}

// search looks for the capacity of every implementation.
type search struct {
	plan    *plan.Plan
	results []*bench.Result
	found   []result.Capacity
}

func (s *search) run(ctx context.Context, on *session.Session) ([]*bench.Result, error) {
	for _, t := range on.Targets(s.plan) {
		if err := s.find(ctx, t); err != nil || ctx.Err() != nil {
			return s.results, err
		}
	}
	return s.results, nil
}

// find searches the capacity of one target.
func (s *search) find(ctx context.Context, t session.Target) error {
	round := 0
	c, err := result.FindCapacity(ctx, s.plan.Load.Rate, func(rate float64) (run result.CapacityRun, err error) {
		t.Load.Rate, t.Load.Duration = rate, s.length(rate)
		t.Setting = map[string]string{"rate": strconv.FormatFloat(rate, 'f', -1, 64)}
		longest := max(searchLongest, s.plan.Load.Duration)
		if t.Load.Duration > longest {
			return result.CapacityRun{Outcome: result.RateTooFew, Result: -1, Why: fmt.Sprintf("a run would take %s; a longer --duration allows it", t.Load.Duration.Round(time.Second))}, nil
		}
		for {
			round++
			r, err := t.Run(ctx, round)
			if r != nil {
				s.results = append(s.results, r)
			}
			if err != nil {
				return run, t.Failed(err)
			}
			run = judgeRun(r, s.plan.Objectives)
			run.Result = len(s.results) - 1
			if run.Outcome != result.RateTooFew || t.Load.Duration == longest || ctx.Err() != nil {
				return run, nil
			}
			longer := 1.0
			for _, o := range s.plan.Objectives {
				longer = max(longer, o.Longer(r))
			}
			t.Load.Duration = time.Duration(min(float64(longest), longer*searchMargin*float64(t.Load.Duration)))
		}
	})
	c.Impl = t.Name
	for _, o := range s.plan.Objectives {
		c.SLO = append(c.SLO, o.String())
	}
	s.found = append(s.found, c)
	return err
}

// length returns the time of a run at a rate, if each operation is a sample for every objective.
func (s *search) length(rate float64) time.Duration {
	needs := int64(searchOperations)
	for _, o := range s.plan.Objectives {
		needs = max(needs, o.Samples())
	}
	return max(s.plan.Load.Duration, time.Duration(min(searchMargin*float64(needs)/rate*float64(time.Second), 1<<62)))
}

// judgeRun judges a run by every objective. A run that is not valid misses them all: it did
// not show its rate. Too few operations are no fault of the rate. A pass counts even in a
// disturbed run. A miss does not if the machine stalled, or if only the generator's lag
// explains it.
func judgeRun(r *bench.Result, objectives []result.Objective) result.CapacityRun {
	run := result.CapacityRun{Outcome: result.RateMissed, ThroughputPerS: r.ThroughputPerS, P99Ns: float64(r.Headline().P["99"])}
	var passed, failed []string
	missed := false
	for _, o := range objectives {
		slo := o.Judge(r)
		missed = missed || !slo.Pass && slo.Reason == ""
		if slo.Pass {
			passed = append(passed, view.Judged(slo))
		} else {
			failed = append(failed, view.Judged(slo))
		}
	}
	for _, reason := range r.Valid.Reasons {
		kind, _, _ := strings.Cut(reason, ":") // the details are in the result
		failed = append(failed, kind)
	}
	valid := len(failures(r, []string{bench.ReasonFew, bench.ReasonGenerator})) == 0
	stalls := stalled(r)
	if slices.Contains(failed, bench.ReasonGenerator) {
		stalls = cmp.Or(stalls, bench.ReasonGenerator)
	}
	switch {
	case valid && len(passed) == len(objectives):
		run.Outcome, failed = result.RateMet, passed[:1]
	case valid && !missed:
		run.Outcome = result.RateTooFew
	case stalls != "":
		run.Outcome, failed = result.RateSpoiled, []string{stalls}
	}
	run.Why = strings.Join(failed, "; ")
	return run
}

// stalled returns a text if the p99 of the machine's stalls is more than half of the response's:
// the tail then shows more of the machine than of the lock.
func stalled(r *bench.Result) string {
	s, response := r.Client.Stall, r.Headline()
	if s == nil || response.Count == 0 || s.P["99"] <= int64(time.Millisecond) || 2*s.P["99"] <= response.P["99"] {
		return ""
	}
	return "the machine stalled: p99 " + units.Duration(float64(s.P["99"]))
}

func (s *search) complete(doc *result.Document) {
	doc.Relative = []result.Relative{} // Relative knows no rates
	doc.Capacity = s.found
	doc.Sweep = result.NewSweep([]result.SweepParam{{Name: "rate", Values: []result.SweepValue{}}}, doc.Results)
}

// judge returns the verdict on a search. Missing runs are part of it; only a search without an
// answer has failed.
func (s *search) judge(ctx context.Context, results []*bench.Result, runErr error) error {
	if err := grave(ctx, results, runErr); err != nil {
		return err
	}
	if i := slices.IndexFunc(s.found, result.Capacity.Unknown); i >= 0 {
		return verdict{exitNotValid, "not valid: " + view.Answer(s.found[i])}
	}
	if i := slices.IndexFunc(s.found, func(c result.Capacity) bool { return c.RatePerS == 0 }); i >= 0 {
		return verdict{exitMissed, "missed: " + view.Answer(s.found[i])}
	}
	return nil
}
