package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/procs"
	"muxlock/cmd/lockbench/internal/raw"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/engine"
)

// newTarget makes the target for a name that planImpls has checked.
func newTarget(name string, p *plan, rig *faults.Rig, addrs []string, kind masters.Kind) bench.Target {
	outages := slices.ContainsFunc(p.faults, func(f faults.Fault) bool { return f.Kind != faults.Delay })
	if name == raw.Name {
		return bench.Target{Name: name, Masters: len(addrs), Open: func(ctx context.Context) (bench.Runner, error) {
			runner, err := raw.Open(ctx, addrs, p.cfg.TTL)
			return hurtRunner{p.probed(runner, addrs), rig, outages}, err
		}}
	}
	impl, _ := rivals.Find(name)
	t := bench.Target{Name: name, Masters: len(addrs)}
	if impl.Single {
		t.Masters = 1
	}
	options := rivals.Options{
		Masters: addrs, TTL: p.cfg.TTL, MaxTTL: p.engine.maxTTL, MasterTimeout: p.masterTimeout,
		Drift: p.engine.drift, RetryHeld: p.engine.retryHeld, RetrySplit: p.engine.retrySplit,
		Workers: p.cfg.Workers, NoTracking: kind == masters.Embedded, NewMasters: p.fresh || kind != masters.Given,
		Distant: kind == masters.Given || slices.ContainsFunc(p.faults, func(f faults.Fault) bool { return f.Kind == faults.Delay }),
	}
	t.Open = func(ctx context.Context) (bench.Runner, error) {
		runner, err := open(ctx, impl, options, p.cfg.Procs)
		if errors.Is(err, engine.ErrInvalid) {
			return nil, usagef("--ttl, --master-timeout, --masters or another setting of the engine: %w%s", err, p.shortLease(err))
		}
		return hurtRunner{p.probed(runner, addrs), rig, outages}, err
	}
	return t
}

// shortLease says how to have a lease that is not longer than the engine's default
// MasterTimeout.
func (p *plan) shortLease(err error) string {
	if p.masterTimeout > 0 || !strings.Contains(err.Error(), "MasterTimeout") {
		return ""
	}
	return fmt.Sprintf("; add --master-timeout, such as --master-timeout %s", max(p.cfg.TTL/4, time.Millisecond))
}

// open connects the implementation in this process, or in several others.
func open(ctx context.Context, impl rivals.Impl, o rivals.Options, n int) (bench.Runner, error) {
	if n > 1 {
		return procs.Open(ctx, impl.Name, o, n, os.Stderr)
	}
	locker, err := impl.Open(ctx, o)
	return bench.LockRunner{Name: impl.Name, Locker: locker}, err
}

// hurtRunner is a runner whose masters suffer the rig's faults while it runs, but
// not when it is opened or closed.
type hurtRunner struct {
	bench.Runner
	rig     *faults.Rig
	outages bool // the faults take masters away
}

// Run adds the faults to the result, as they were in the measured time.
func (h hurtRunner) Run(ctx context.Context, cfg bench.Config) (*bench.Result, error) {
	end := func() ([]bench.Band, error) { return nil, nil }
	cfg.Outages = h.outages
	cfg.Begin = func(at time.Time) { end = h.rig.Begin(at.Add(cfg.Warmup)) }
	res, err := h.Runner.Run(ctx, cfg)
	bands, hurtErr := end()
	if res != nil {
		res.Faults = clip(bands, res.DurationS)
	}
	return res, errors.Join(err, hurtErr)
}

// clip leaves of the bands what lies in the measured time.
func clip(bands []bench.Band, duration float64) (seen []bench.Band) {
	for _, b := range bands {
		if b.FromS < duration && b.ToS >= 0 {
			b.FromS, b.ToS = max(b.FromS, 0), min(b.ToS, duration)
			seen = append(seen, b)
		}
	}
	return seen
}

// caveats is what every implementation but the engine should be read with.
func caveats(impls []string) map[string]string {
	m := map[string]string{}
	for _, name := range impls {
		if name == raw.Name {
			m[name] = raw.Caveat
		} else if impl, _ := rivals.Find(name); impl.Caveat != "" {
			m[name] = impl.Caveat
		}
	}
	return m
}
