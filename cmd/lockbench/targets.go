package main

import (
	"context"
	"errors"
	"slices"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/raw"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/engine"
)

// runner is one implementation, connected: a lock under bench's load, or a load of
// its own.
type runner interface {
	Run(ctx context.Context, cfg bench.Config) (*bench.Result, error)
	Close() error
}

// target is one implementation that can be opened again for every run.
type target struct {
	name    string
	masters int
	open    func(ctx context.Context) (runner, error)
}

// lockRunner is a bench.Locker under bench's load.
type lockRunner struct {
	name string
	bench.Locker
}

func (r lockRunner) Run(ctx context.Context, cfg bench.Config) (*bench.Result, error) {
	return bench.Run(ctx, r.name, r.Locker, cfg)
}

// newTarget makes the target for a name that planImpls has checked.
func newTarget(name string, p *plan, addrs []string, kind masters.Kind) target {
	if name == raw.Name {
		return target{name, len(addrs), func(ctx context.Context) (runner, error) {
			return raw.Open(ctx, addrs, p.cfg.TTL)
		}}
	}
	impl, _ := rivals.Find(name)
	t := target{name: name, masters: len(addrs)}
	if impl.Single {
		t.masters = 1
	}
	t.open = func(ctx context.Context) (runner, error) {
		locker, err := impl.Open(ctx, rivals.Options{
			Masters: addrs, TTL: p.cfg.TTL, MasterTimeout: p.masterTimeout,
			Workers: p.cfg.Workers, NoTracking: kind == masters.Embedded,
			Distant: kind == masters.Given || slices.ContainsFunc(p.faults, func(f faults.Fault) bool { return f.Kind == faults.Delay }),
		})
		if errors.Is(err, engine.ErrInvalid) {
			return nil, usagef("--ttl, --master-timeout or --masters: %w", err)
		}
		return lockRunner{name, locker}, err
	}
	return t
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
