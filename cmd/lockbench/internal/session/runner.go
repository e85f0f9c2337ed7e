package session

import (
	"cmp"
	"context"
	"errors"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/internal/probe"
)

// Runner is one connected implementation: a lockRunner, or a load of its own.
type Runner interface {
	// Run follows the rules of bench.Run.
	Run(ctx context.Context, cfg bench.Config) (*bench.Result, error)
	Close() error
}

// lockRunner runs a Locker under the load of bench.Run.
type lockRunner struct {
	Name string
	bench.Locker
}

// Run loads the locker.
func (r lockRunner) Run(ctx context.Context, cfg bench.Config) (*bench.Result, error) {
	return bench.Run(ctx, r.Name, r.Locker, cfg)
}

// riggedRunner runs another runner with the rig's faults and with probes. Probes go through the
// same proxies as the locks. Opening and closing meet no faults.
type riggedRunner struct {
	Runner
	session *Session
	plan    *plan.Plan
}

// Run adds the probes and the faults of the measured time to the result.
func (r riggedRunner) Run(ctx context.Context, cfg bench.Config) (*bench.Result, error) {
	prober := &probe.Prober{} // without masters
	opts := probe.Options{Every: r.plan.ProbeEvery, Timeout: cmp.Or(5*r.plan.MasterTimeout, time.Second)}
	if opts.Every > 0 {
		var err error
		if prober, err = probe.Open(ctx, r.session.Addrs[:r.plan.Masters.Count], opts); err != nil {
			return nil, err
		}
	}
	end := func() ([]bench.Band, error) { return nil, nil }
	cfg.Outages = r.plan.Outages()
	cfg.Begin = func(at time.Time) {
		clients, _ := r.Runner.(faults.Clients) // a load in this process has none
		end = r.session.rig.Begin(at.Add(cfg.Warmup), clients)
		if opts.Every > 0 {
			prober.Start(ctx, at.Add(cfg.Warmup), cfg.Duration)
		}
	}
	res, err := r.Runner.Run(ctx, cfg)
	report := prober.Stop()
	bands, faultErr := end()
	if res != nil {
		for _, b := range bands { // cut to the measured time
			if b.FromS < res.DurationS && b.ToS >= 0 {
				b.FromS, b.ToS = max(b.FromS, 0), min(b.ToS, res.DurationS)
				res.Faults = append(res.Faults, b)
			}
		}
		if report != nil {
			addProbes(res, report, opts.Timeout)
		}
	}
	return res, errors.Join(err, faultErr)
}
