package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
	"muxlock/cmd/lockbench/internal/view"
)

// searchDefaults is what a search has unless it is given: many workers, as the lock should be
// the limit, and short runs, since they are fewer times disturbed and more of them fit.
var searchDefaults = map[string]string{"rate": "1000", "workers": "1024", "duration": "2s"}

// findCapacity is --find-max.
func findCapacity(cmd *cobra.Command, f *flags, params []result.SweepParam) error {
	set := cmd.Flags().Changed
	if set("rounds") {
		return usagef("--rounds cannot be used with --find-max, which repeats what is near the edge")
	}
	if err := f.takeConfig(cmd); err != nil { // before what it may have gets a default
		return err
	}
	if len(f.slos) == 0 {
		return usagef("--find-max needs --slo, such as --slo 'response.p99<5ms'")
	}
	for name, value := range searchDefaults {
		switch swept := hasParam(params, name); {
		case swept && name == "rate":
			return usagef("--param rate cannot be used with --find-max, which searches it")
		case !swept && !set(name):
			if err := cmd.Flags().Set(name, value); err != nil {
				return err
			}
		}
	}
	plans, err := f.plans(cmd, params)
	if err != nil {
		return err
	}
	return executeAll(cmd, params, plans, &search{params: params, plans: plans}, "rounds")
}

// search looks for the capacity of every implementation at every setting.
type search struct {
	params []result.SweepParam
	plans  []*plan // one for each setting
	found  []result.Capacity
}

func (s *search) count() int { return len(s.plans) * len(s.plans[0].impls) * result.CapacityRuns }

func (s *search) run(ctx context.Context, open func(*plan) []target, show func(bench.Progress)) (results []*bench.Result, err error) {
	for _, p := range s.plans {
		for _, t := range settle(p, open(p), show) {
			c, err := s.one(ctx, t, &results)
			s.found = append(s.found, c)
			if err != nil || ctx.Err() != nil {
				return results, err
			}
		}
	}
	return results, nil
}

// one searches the capacity of one target and adds its runs to results.
func (s *search) one(ctx context.Context, t target, results *[]*bench.Result) (result.Capacity, error) {
	objectives := s.plans[0].objectives
	round, setting, cfg := 0, t.Setting, *t.Config
	c, err := result.FindCapacity(ctx, cfg.Rate, func(rate float64) (result.CapacityStep, error) {
		round++
		cfg.Rate = rate
		t.Config, t.Setting = &cfg, withRate(setting, rate)
		r, err := t.Run(ctx, cfg, round)
		if r == nil {
			return result.CapacityStep{}, err
		}
		*results = append(*results, r)
		step := stepOf(r, objectives)
		step.Result = len(*results) - 1
		return step, err
	})
	if err != nil {
		err = t.Failed(err)
	}
	c.Impl, c.Setting = t.Name, setting
	for _, o := range objectives {
		c.SLO = append(c.SLO, o.String())
	}
	return c, err
}

func withRate(setting map[string]string, rate float64) map[string]string {
	s := map[string]string{"rate": strconv.FormatFloat(rate, 'f', -1, 64)}
	maps.Copy(s, setting)
	return s
}

// stepOf judges a run by every objective, and by the locks that it acquired: one that keeps
// its latency while most operations time out misses. A run that is not valid misses them too,
// whatever its figures are: a rate that was not kept has not been shown. But too few
// operations are no fault of the rate. What is met is met, whatever disturbed it; what is
// missed is not known if the machine stalled, or if the generator lagged and the lock alone
// did not take too long.
func stepOf(r *bench.Result, objectives []result.Objective) result.CapacityStep {
	step := result.CapacityStep{ThroughputPerS: r.ThroughputPerS, P99Ns: r.Headline().P["99"]}
	alone := *r // what the lock took, without waiting for the generator
	alone.Latency.Response = r.Latency.Service
	var texts []string
	lacks := lacking(r, r.Totals.Offered)
	met, missed, missedAlone := lacks == "", lacks != "", lacking(r, r.Totals.Started) != ""
	for _, o := range objectives {
		slo := o.Judge(r)
		met = met && slo.Pass
		missed = missed || misses(slo)
		missedAlone = missedAlone || misses(o.Judge(&alone))
		texts = append(texts, view.Judged(slo))
	}
	if lacks != "" {
		texts = append(texts, lacks)
	}
	lagged := slices.ContainsFunc(r.Valid.Reasons, func(reason string) bool { return strings.HasPrefix(reason, bench.ReasonGenerator) })
	valid := invalidBy(r, bench.ReasonFew, bench.ReasonGenerator)
	stalls := stalled(r)
	switch {
	case met && invalidBy(r, bench.ReasonGenerator):
		step.Met = true
	case valid && !missed:
		step.Unjudged = true
	case stalls != "":
		step.Disturbed, step.Stalled = true, true
	case lagged && !missedAlone:
		step.Disturbed = true
	}
	if !step.Met {
		if stalls != "" {
			texts = append(texts, stalls)
		}
		if !r.Valid.OK {
			texts = append(texts, "not valid: "+strings.Join(r.Valid.Reasons, "; "))
		}
	}
	step.Why = strings.Join(texts, "; ")
	return step
}

func misses(s bench.SLO) bool { return !s.Pass && s.Reason == "" }

// goodputLeast is the part of what was due that a run must acquire, goodputSlack how many
// operations it may lack in any case.
const (
	goodputLeast = 0.99
	goodputSlack = 3
)

// lacking says how much less was acquired than the lock was to be asked for; empty: no less.
// What was refused (op try) is not lacking.
func lacking(r *bench.Result, asked int64) string {
	acquired, due := float64(r.Totals.Acquired), float64(asked-r.Totals.Refused)
	if acquired >= min(goodputLeast*due, due-goodputSlack) {
		return ""
	}
	seconds := max(r.DurationS, 1e-9)
	return fmt.Sprintf("goodput: %s acquired of %s", units.Rate(acquired/seconds), units.Rate(float64(asked)/seconds))
}

// stalled says how long the machine stalled where that is more than half of the response, both
// at the p99: the tail then shows more of the machine than of the lock.
func stalled(r *bench.Result) string {
	s, response := r.Client.Stall, r.Headline()
	if s == nil || response.Count == 0 || s.P["99"] <= int64(time.Millisecond) || 2*s.P["99"] <= response.P["99"] {
		return ""
	}
	return "the machine stalled: p99 " + units.Duration(float64(s.P["99"]))
}

// invalidBy reports whether a result has no other reasons than these not to be valid.
func invalidBy(r *bench.Result, reasons ...string) bool { return len(failures(r, reasons)) == 0 }

func (s *search) complete(doc *result.Document) {
	doc.Relative = []result.Relative{} // it knows no rates
	doc.Capacity = s.found
	doc.Sweep = result.NewSweep(append(slices.Clone(s.params), result.SweepParam{Name: "rate", Values: []result.SweepValue{}}), doc.Results)
}

// judge: runs that miss are how the search works; only a search without an answer has
// failed.
func (s *search) judge(ctx context.Context, results []*bench.Result, runErr error) error {
	if err := grave(ctx, results, runErr); err != nil {
		return err
	}
	for _, c := range s.found {
		if c.RatePerS == 0 && !c.Limited() {
			return verdict{exitMissed, fmt.Sprintf("%s was not seen to meet %s at any rate", result.Name(c.Impl, c.Setting), strings.Join(c.SLO, " and "))}
		}
	}
	for _, c := range s.found {
		if c.Limited() {
			return verdict{exitNotValid, view.Answer(c)}
		}
	}
	return nil
}

func hasParam(params []result.SweepParam, name string) bool {
	return slices.ContainsFunc(params, func(p result.SweepParam) bool { return p.Name == name })
}
