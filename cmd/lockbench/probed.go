package main

import (
	"context"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/probe"
)

// probeTimeout is when a probe beside a load counts as lost: five times what a lock
// waits for a master.
func (p *plan) probeTimeout() time.Duration {
	if p.masterTimeout > 0 {
		return 5 * p.masterTimeout
	}
	return time.Second
}

// probed is the runner with a prober beside it, if the plan has one.
func (p *plan) probed(r bench.Runner, addrs []string) bench.Runner {
	if p.probeEvery == 0 {
		return r
	}
	return probedRunner{r, addrs, probe.Options{Every: p.probeEvery, Timeout: p.probeTimeout()}}
}

// probedRunner is a runner beside which the masters are probed, by the way that the
// locks take, in the measured time.
type probedRunner struct {
	bench.Runner
	addrs   []string
	options probe.Options
}

func (r probedRunner) Run(ctx context.Context, cfg bench.Config) (*bench.Result, error) {
	prober, err := probe.Open(ctx, r.addrs, r.options)
	if err != nil {
		return nil, err
	}
	begin := cfg.Begin
	cfg.Begin = func(at time.Time) {
		if begin != nil {
			begin(at)
		}
		prober.Start(at.Add(cfg.Warmup), cfg.Duration)
	}
	if progress := cfg.Progress; progress != nil {
		cfg.Progress = func(now bench.Progress) {
			now.Point.MasterNs = prober.Latest()
			progress(now)
		}
	}
	res, err := r.Runner.Run(ctx, cfg)
	if report := prober.Stop(); report != nil && res != nil {
		report.Into(res)
	}
	return res, err
}
