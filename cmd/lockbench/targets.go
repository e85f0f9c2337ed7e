package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/probe"
	"muxlock/cmd/lockbench/internal/procs"
	"muxlock/cmd/lockbench/internal/raw"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/engine"
)

// newTarget makes the target for a name that planImpls has checked.
func newTarget(name string, p *plan, rig *faults.Rig, addrs []string, kind masters.Kind) target {
	if name == raw.Name {
		return target{Name: name, Masters: len(addrs), Open: func(ctx context.Context) (runner, error) {
			runner, err := raw.Open(ctx, addrs, p.cfg.TTL)
			return riggedRunner{runner, p, rig, addrs}, err
		}}
	}
	impl, _ := rivals.Find(name)
	t := target{Name: name, Masters: len(addrs)}
	if impl.Single {
		t.Masters = 1
	}
	options := p.options(addrs, kind)
	t.Open = func(ctx context.Context) (runner, error) {
		var err error
		if options.Fencing && impl.Fences && kind != masters.Given {
			err = rivals.SetUp(ctx, options)
		}
		var runner runner
		if err == nil {
			runner, err = open(ctx, impl, options, p.cfg.Procs)
		}
		return riggedRunner{runner, p, rig, addrs}, p.refused(err)
	}
	return t
}

// tryOut opens each target once, before anything is measured: one that cannot run on these
// masters would end a comparison in its first round. A rival that cannot is a usage error.
func tryOut(ctx context.Context, targets []target) error {
	for _, t := range targets {
		runner, err := t.Open(ctx)
		if err == nil {
			err = runner.Close()
		}
		switch {
		case err != nil && strings.HasPrefix(t.Name, "muxlock"):
			return t.Failed(err)
		case err != nil:
			return usagef("--impl %s cannot run on these masters: %w", t.Name, err)
		}
	}
	return nil
}

// options is what every implementation is opened with.
func (p *plan) options(addrs []string, kind masters.Kind) rivals.Options {
	o := p.engine
	o.Masters, o.TTL, o.Workers, o.NoTracking = addrs, p.cfg.TTL, p.cfg.Workers, kind == masters.Embedded
	o.NewMasters = o.NewMasters || kind != masters.Given
	o.Distant = o.Distant || slices.ContainsFunc(p.faults, func(f faults.Fault) bool { return f.Kind == faults.Delay })
	return o
}

// refused is an error of the engine, by the flags that it may come from.
func (p *plan) refused(err error) error {
	if errors.Is(err, engine.ErrInvalid) {
		return usagef("--ttl, --master-timeout, --masters or another setting of the engine: %w%s", err, p.shortLease(err))
	}
	return err
}

// shortest is a lease and a MasterTimeout with which the engine can lock.
const (
	shortestLease   = 4 * time.Millisecond
	shortestTimeout = time.Millisecond
)

// shortLease is how to have a lease that is not longer than the engine's default
// MasterTimeout, or that there is none so short.
func (p *plan) shortLease(err error) string {
	if p.engine.MasterTimeout > 0 || !strings.Contains(err.Error(), "MasterTimeout") {
		return ""
	}
	if p.cfg.TTL < shortestLease {
		return fmt.Sprintf("; the shortest is --ttl %s --master-timeout %s", shortestLease, shortestTimeout)
	}
	return fmt.Sprintf("; add --master-timeout, such as --master-timeout %s", max(p.cfg.TTL/4, shortestTimeout))
}

// open connects the implementation in this process, or in several others.
func open(ctx context.Context, impl rivals.Impl, o rivals.Options, n int) (runner, error) {
	if n > 1 {
		return procs.Open(ctx, impl.Name, o, n, os.Stderr)
	}
	locker, err := impl.Open(ctx, o)
	return lockRunner{Name: impl.Name, Locker: locker}, err
}

// outages reports whether faults may leave too few masters to acquire anything for a time.
func (p *plan) outages() bool {
	return !p.progress && slices.ContainsFunc(p.faults, func(f faults.Fault) bool { return f.Kind.TakesAway() })
}

// riggedRunner is a runner whose masters have the rig's faults and are probed, by the way
// that the locks take, while it runs, but not when it is opened or closed.
type riggedRunner struct {
	runner
	plan  *plan
	rig   *faults.Rig
	addrs []string
}

// Run adds the faults to the result, as they were in the measured time, and the probes.
func (r riggedRunner) Run(ctx context.Context, cfg bench.Config) (*bench.Result, error) {
	prober := &probe.Prober{} // of no master
	if r.plan.probeEvery > 0 {
		var err error
		if prober, err = probe.Open(ctx, r.addrs, probe.Options{Every: r.plan.probeEvery, Timeout: r.plan.probeTimeout()}); err != nil {
			return nil, err
		}
	}
	end := func() ([]bench.Band, error) { return nil, nil }
	cfg.Outages = r.plan.outages()
	cfg.Begin = func(at time.Time) {
		end = r.rig.Begin(at.Add(cfg.Warmup))
		if r.plan.probeEvery > 0 {
			prober.Start(at.Add(cfg.Warmup), cfg.Duration)
		}
	}
	res, err := r.runner.Run(ctx, cfg)
	report := prober.Stop()
	bands, faultErr := end()
	if res != nil {
		res.Faults = clip(bands, res.DurationS)
		if report != nil {
			report.Into(res)
		}
	}
	return res, errors.Join(err, faultErr)
}

// probeTimeout is when a probe beside a load counts as lost: five times what a lock
// waits for a master.
func (p *plan) probeTimeout() time.Duration {
	if p.engine.MasterTimeout > 0 {
		return 5 * p.engine.MasterTimeout
	}
	return time.Second
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

// addClients notes what the implementations run on, of several settings the largest pool.
func (p *plan) addClients(clients map[string]rivals.Client, kind masters.Kind) {
	for _, name := range p.impls {
		impl, _ := rivals.Find(name)
		if c := impl.Client(p.options(nil, kind)); impl.Name != "" && c.Pool >= clients[name].Pool {
			clients[name] = c
		}
	}
}

// caveats is what every implementation but the engine should be read with: what it does
// not promise, and what it ran on.
func caveats(c result.Config) map[string]string {
	m := map[string]string{}
	for _, name := range c.Impls {
		text := raw.Caveat
		if name != raw.Name {
			impl, _ := rivals.Find(name)
			text = impl.Caveat
		}
		if client := c.Clients[name].String(); text != "" && client != "" {
			text += " (" + client + ")"
		}
		if text != "" {
			m[name] = text
		}
	}
	return m
}

// ranked is the order in which a comparison shows implementations: the reference, then
// the best first, locks on all masters before those on one, and last what is no lock.
func ranked(impls []string, reference string, results []*bench.Result) []string {
	better := func(name string) float64 {
		whole := result.Finished(results, name)
		if p50, open := result.MustFigure("response.p50").Median(whole); open { // all have the same throughput
			return -p50
		}
		if rate, ran := result.MustFigure("throughput").Median(whole); ran {
			return rate
		}
		return math.Inf(-1)
	}
	kind := func(name string) int {
		impl, _ := rivals.Find(name)
		switch {
		case name == reference:
			return 0
		case name == raw.Name || impl.Yardstick:
			return 3
		case impl.Single:
			return 2
		}
		return 1
	}
	sorted := slices.Clone(impls)
	slices.SortStableFunc(sorted, func(a, b string) int {
		return cmp.Or(cmp.Compare(kind(a), kind(b)), cmp.Compare(better(b), better(a)))
	})
	return sorted
}
