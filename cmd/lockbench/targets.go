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
	"muxlock/cmd/lockbench/internal/procs"
	"muxlock/cmd/lockbench/internal/raw"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/engine"
	"muxlock/internal/stats"
)

// newTarget makes the target for a name that planImpls has checked.
func newTarget(name string, p *plan, rig *faults.Rig, addrs []string, kind masters.Kind) bench.Target {
	outages := slices.ContainsFunc(p.faults, func(f faults.Fault) bool { return f.Kind != faults.Delay })
	if name == raw.Name {
		return bench.Target{Name: name, Masters: len(addrs), Open: func(ctx context.Context) (bench.Runner, error) {
			runner, err := raw.Open(ctx, addrs, p.cfg.TTL)
			return faultyRunner{p.probed(runner, addrs), rig, outages, p.engine.prefix}, err
		}}
	}
	impl, _ := rivals.Find(name)
	t := bench.Target{Name: name, Masters: len(addrs)}
	if impl.Single {
		t.Masters = 1
	}
	options := p.options(addrs, kind)
	t.Open = func(ctx context.Context) (bench.Runner, error) {
		runner, err := open(ctx, impl, options, p.cfg.Procs)
		if errors.Is(err, engine.ErrInvalid) {
			return nil, usagef("--ttl, --master-timeout, --masters or another setting of the engine: %w%s", err, p.shortLease(err))
		}
		return faultyRunner{p.probed(runner, addrs), rig, outages, p.engine.prefix}, err
	}
	return t
}

// options is what every implementation is opened with.
func (p *plan) options(addrs []string, kind masters.Kind) rivals.Options {
	return rivals.Options{
		Masters: addrs, TTL: p.cfg.TTL, MaxTTL: p.engine.maxTTL, MasterTimeout: p.masterTimeout,
		Drift: p.engine.drift, RetryHeld: p.engine.retryHeld, RetrySplit: p.engine.retrySplit,
		Workers: p.cfg.Workers, NoTracking: kind == masters.Embedded, NewMasters: p.fresh || kind != masters.Given,
		Distant: p.distant || slices.ContainsFunc(p.faults, func(f faults.Fault) bool { return f.Kind == faults.Delay }),
	}
}

// shortest is a lease and a MasterTimeout with which the engine can lock.
const (
	shortestLease   = 4 * time.Millisecond
	shortestTimeout = time.Millisecond
)

// shortLease is how to have a lease that is not longer than the engine's default
// MasterTimeout, or that there is none so short.
func (p *plan) shortLease(err error) string {
	if p.masterTimeout > 0 || !strings.Contains(err.Error(), "MasterTimeout") {
		return ""
	}
	if p.cfg.TTL < shortestLease {
		return fmt.Sprintf("; the shortest is --ttl %s --master-timeout %s", shortestLease, shortestTimeout)
	}
	return fmt.Sprintf("; add --master-timeout, such as --master-timeout %s", max(p.cfg.TTL/4, shortestTimeout))
}

// open connects the implementation in this process, or in several others.
func open(ctx context.Context, impl rivals.Impl, o rivals.Options, n int) (bench.Runner, error) {
	if n > 1 {
		return procs.Open(ctx, impl.Name, o, n, os.Stderr)
	}
	locker, err := impl.Open(ctx, o)
	return bench.LockRunner{Name: impl.Name, Locker: locker}, err
}

// faultyRunner is a runner whose masters suffer the rig's faults while it runs, but
// not when it is opened or closed.
type faultyRunner struct {
	bench.Runner
	rig     *faults.Rig
	outages bool   // the faults take masters away
	prefix  string // of all keys
}

// Run adds the faults to the result, as they were in the measured time.
func (h faultyRunner) Run(ctx context.Context, cfg bench.Config) (*bench.Result, error) {
	end := func() ([]bench.Band, error) { return nil, nil }
	cfg.Outages = h.outages
	if h.prefix != "" {
		cfg.KeyPrefix = h.prefix + bench.RandomKeyPrefix()
	}
	cfg.Begin = func(at time.Time) { end = h.rig.Begin(at.Add(cfg.Warmup)) }
	res, err := h.Runner.Run(ctx, cfg)
	bands, faultErr := end()
	if res != nil {
		res.Faults = clip(bands, res.DurationS)
	}
	return res, errors.Join(err, faultErr)
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

// clients is what the implementations ran on.
func (p *plan) clients(kind masters.Kind) map[string]rivals.Client {
	m := map[string]rivals.Client{}
	for _, name := range p.impls {
		if impl, _ := rivals.Find(name); impl.Name != "" {
			m[name] = impl.Client(p.options(nil, kind))
		}
	}
	return m
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
		var values []float64
		for _, r := range results {
			if r.Impl == name && !r.Interrupted() {
				values = append(values, r.ThroughputPerS)
				if open := r.Latency.Response; open != nil { // where all have the same throughput
					values[len(values)-1] = -float64(open.P["50"])
				}
			}
		}
		if len(values) == 0 {
			return math.Inf(-1)
		}
		return stats.Median(values)
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
