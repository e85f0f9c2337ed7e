package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
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

// InTurn runs every target once per round, in the order A B C, then C B A, and so on. A drift of
// the machine thus affects all alike. It ends with ctx, or with the first error of Run.
func (s *Session) InTurn(ctx context.Context, targets []Target, rounds int) error {
	for round := 1; round <= rounds; round++ {
		order := slices.Clone(targets)
		if round%2 == 0 {
			slices.Reverse(order)
		}
		for _, t := range order {
			if ctx.Err() != nil {
				return nil
			}
			if _, err := s.Run(ctx, t, round); err != nil {
				return err
			}
		}
	}
	return nil
}

// Run opens a target, runs it in a round, counted from 1, and closes it. So no state of an
// earlier run is left. All targets of a round get the seed Load.Seed+round-1.
//
// The result is added to Results, also with an error; it is nil if the run could not begin. When ctx ends, the result has
// ReasonInterrupted, and the error is nil. Other errors have the target's name.
func (s *Session) Run(ctx context.Context, t Target, round int) (res *bench.Result, err error) {
	place := func(r *bench.Result) {
		if r != nil {
			r.Round, r.Masters, r.Setting = round, t.Masters, t.Setting
		}
	}
	cfg := t.Load
	cfg.Seed += uint64(round - 1)
	if progress := cfg.Progress; progress != nil {
		cfg.Progress = func(p bench.Progress) {
			p.Round, p.Setting = round, t.Setting
			place(p.Result)
			progress(p)
		}
	}
	r, err := t.Open(ctx)
	if err == nil {
		res, err = r.Run(ctx, cfg)
		err = errors.Join(err, r.Close())
	}
	if place(res); res != nil {
		s.Results = append(s.Results, res)
	}
	switch {
	case ctx.Err() != nil:
		err = nil
	case err != nil:
		err = fmt.Errorf("%s: %w", result.Name(t.Name, t.Setting), err)
	}
	return res, err
}

// probeTimeouts is how long a probe waits for a master, in its timeouts.
const probeTimeouts = 5

// rigged has the rig's faults and probes beside its load, and adds both to the result. Probes go through the
// same proxies as the locks. Opening and closing meet no faults.
type rigged struct {
	Runner
	on   *Session
	plan *plan.Plan
}

func (r rigged) Run(ctx context.Context, cfg bench.Config) (*bench.Result, error) {
	p := r.plan
	prober := &probe.Prober{} // without masters
	opts := probe.Options{Every: p.ProbeEvery, Timeout: cmp.Or(probeTimeouts*p.MasterTimeout, time.Second)}
	if opts.Every > 0 {
		var err error
		if prober, err = probe.Open(ctx, r.on.Addrs[:p.Masters.Count], opts); err != nil {
			return nil, err
		}
	}
	end := func() ([]bench.Band, error) { return nil, nil }
	cfg.Outages = p.Outages()
	cfg.Begin = func(at time.Time) {
		if len(p.Faults) > 0 {
			clients, _ := r.Runner.(faults.Clients) // a load in this process has none
			end = r.on.rig.Begin(at.Add(cfg.Warmup), clients)
		}
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
