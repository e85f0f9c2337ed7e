package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/engine"
	"muxlock/internal/faultproxy"
	"muxlock/internal/redlock"
	"muxlock/internal/usage"
)

// checkEngine returns the error that the engine would return.
func (p *Plan) checkEngine() error {
	addrs := slices.Clone(p.Masters.Given)
	for i := len(addrs); i < p.Masters.Count; i++ { // stand-ins for masters not started yet
		addrs = append(addrs, fmt.Sprintf("127.0.0.1:%d", i+1))
	}
	for _, name := range p.Impls {
		impl, _ := rivals.Find(name)
		if !strings.HasPrefix(name, "muxlock") {
			continue
		}
		own := addrs
		if impl.Single {
			own = addrs[:1]
		}
		if err := p.Options(own, p.Masters.Kind).Validate(); err != nil {
			return p.Refused(err)
		}
	}
	return nil
}

// checkCrashes refuses a crash whose new process would wait for votes. Masters were started for the run, and
// without fencing the engine waits until they are old enough.
func (p *Plan) checkCrashes() error {
	needed := redlock.RestartWait(cmp.Or(p.Engine.MaxTTL, max(redlock.DefaultMaxTTL, p.Load.TTL)), redlock.DefaultDrift)
	for _, name := range p.Impls {
		impl, _ := rivals.Find(name)
		if !strings.HasPrefix(name, "muxlock") || impl.Fences && p.Engine.Fencing {
			continue
		}
		for _, f := range p.Faults {
			if f.Kind == faults.Crash && p.Load.Warmup+f.From < needed {
				help := map[bool]string{true: "--fencing or "}[impl.Fences]
				return usage.Errorf("--fault %s: %s's new process would wait: these masters do not vote for it before they are %s old (%s--warmup %s)",
					f.Text, name, needed.Round(time.Second/10), help, (needed-f.From).Truncate(time.Second)+time.Second)
			}
		}
	}
	return nil
}

// Options returns the options for opening every implementation.
func (p *Plan) Options(addrs []string, kind masters.Kind) rivals.Options {
	o := p.Engine
	o.Masters, o.TTL, o.Workers, o.NoTracking = addrs, p.Load.TTL, p.Load.Workers, kind == masters.Embedded
	o.NewMasters = o.NewMasters || kind != masters.Given
	o.Distant = o.Distant || slices.ContainsFunc(p.Faults, func(f faults.Fault) bool { return f.Kind == faults.Delay })
	if slices.ContainsFunc(p.Faults, func(f faults.Fault) bool { return f.Kind == faults.Blackhole }) {
		o.From = faultproxy.ClientAddr(0)
	}
	return o
}

// Refused turns an error of the engine into one that names the flags it may come from.
func (p *Plan) Refused(err error) error {
	if errors.Is(err, engine.ErrInvalid) {
		return usage.Errorf("--ttl, --master-timeout, --masters or another setting of the engine: %w%s", err, p.shortLease(err))
	}
	return err
}

// The engine can lock with this lease and MasterTimeout.
const (
	shortestLease   = 4 * time.Millisecond
	shortestTimeout = time.Millisecond
)

// shortLease explains how to have a lease no longer than the engine's default MasterTimeout,
// or that no lease can be so short.
func (p *Plan) shortLease(err error) string {
	if p.Engine.MasterTimeout > 0 || !strings.Contains(err.Error(), "MasterTimeout") {
		return ""
	}
	if p.Load.TTL < shortestLease {
		return fmt.Sprintf("; the shortest is --ttl %s --master-timeout %s", shortestLease, shortestTimeout)
	}
	return fmt.Sprintf("; add --master-timeout, such as --master-timeout %s", max(p.Load.TTL/4, shortestTimeout))
}
