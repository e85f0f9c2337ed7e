package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/view"
)

const (
	firstRate     = 1000
	searchWorkers = 1024 // unless --workers is given: the lock and not the number of workers should be the limit
)

// findCapacity is --find-max.
func findCapacity(cmd *cobra.Command, f *flags, params []bench.SweepParam) error {
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
	for name, value := range map[string]int{"rate": firstRate, "workers": searchWorkers} {
		switch swept := hasParam(params, name); {
		case swept && name == "rate":
			return usagef("--param rate cannot be used with --find-max, which searches it")
		case !swept && !set(name):
			if err := cmd.Flags().Set(name, strconv.Itoa(value)); err != nil {
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
	params []bench.SweepParam
	plans  []*plan // one for each setting
	found  []bench.Capacity
}

func (s *search) count() int { return len(s.plans) * len(s.plans[0].impls) * bench.CapacityRuns }

func (s *search) run(ctx context.Context, open func(*plan) []bench.Target, show func(bench.Progress)) (results []*bench.Result, err error) {
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
func (s *search) one(ctx context.Context, t bench.Target, results *[]*bench.Result) (bench.Capacity, error) {
	objectives := s.plans[0].objectives
	round, setting, cfg := 0, t.Setting, *t.Config
	c, err := bench.FindCapacity(ctx, cfg.Rate, func(rate float64) (bench.CapacityStep, error) {
		round++
		cfg.Rate = rate
		t.Config, t.Setting = &cfg, withRate(setting, rate)
		r, err := t.Run(ctx, cfg, round)
		if r == nil {
			return bench.CapacityStep{}, err
		}
		*results = append(*results, r)
		step := stepOf(r, objectives)
		step.Result = len(*results) - 1
		return step, err
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", t.Name, err)
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

// stepOf judges a run by every objective. One that is not valid misses them,
// whatever its figures are: a rate that was not kept has not been shown. But too few
// operations are no fault of the rate, and a generator that lagged only made responses
// longer: what was met is met, and what was missed is not known, unless the lock alone
// took too long.
func stepOf(r *bench.Result, objectives []bench.Objective) bench.CapacityStep {
	step := bench.CapacityStep{ThroughputPerS: r.ThroughputPerS, P99Ns: r.Headline().P["99"]}
	notValid := "not valid: " + strings.Join(r.Valid.Reasons, "; ")
	lagged := !r.Valid.OK && invalidBy(r, bench.ReasonGenerator)
	if !r.Valid.OK && !lagged {
		step.Why, step.Unjudged = notValid, invalidBy(r, bench.ReasonFew, bench.ReasonGenerator)
		return step
	}
	alone := *r // what the lock took, without waiting for the generator
	alone.Latency.Response = r.Latency.Service
	var texts []string
	met, missed, missedAlone := true, false, false
	for _, o := range objectives {
		slo := o.Judge(r)
		met = met && slo.Pass
		missed = missed || misses(slo)
		missedAlone = missedAlone || misses(o.Judge(&alone))
		texts = append(texts, view.Judged(slo))
	}
	if lagged && !met {
		texts = append(texts, notValid)
	}
	step.Met, step.Unjudged, step.Generator = met, !met && !missed, lagged && missed && !missedAlone
	step.Why = strings.Join(texts, "; ")
	return step
}

func misses(s bench.SLO) bool { return !s.Pass && s.Reason == "" }

// invalidBy reports whether a result has no other reasons than these not to be valid.
func invalidBy(r *bench.Result, reasons ...string) bool { return len(failures(r, reasons)) == 0 }

func (s *search) complete(doc *result.Document) {
	doc.Relative = []bench.Relative{} // it knows no rates
	doc.Capacity = s.found
	doc.Sweep = bench.NewSweep(append(slices.Clone(s.params), bench.SweepParam{Name: "rate", Values: []bench.SweepValue{}}), doc.Results)
}

// judge: runs that miss are how the search works; only a search without an answer has
// failed.
func (s *search) judge(ctx context.Context, results []*bench.Result, runErr error) error {
	if err := grave(ctx, results, runErr); err != nil {
		return err
	}
	for _, c := range s.found {
		if c.RatePerS == 0 && !c.GeneratorLimits() {
			return verdict{exitMissed, fmt.Sprintf("%s was not seen to meet %s at any rate", c.Impl, strings.Join(c.SLO, " and "))}
		}
	}
	for _, c := range s.found {
		if c.GeneratorLimits() {
			return verdict{exitNotValid, view.Answer(c)}
		}
	}
	return nil
}

func hasParam(params []bench.SweepParam, name string) bool {
	return slices.ContainsFunc(params, func(p bench.SweepParam) bool { return p.Name == name })
}
