package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/engine"
	"muxlock/internal/faultproxy"
	"muxlock/internal/redlock"
	"muxlock/internal/usage"
)

// checkImpls refuses what the implementations cannot do together, and what the engine would refuse.
func (p *Plan) checkImpls() error {
	ours := slices.DeleteFunc(slices.Clone(p.Impls), func(name string) bool { return !implOf(name).Ours })
	impls, rivals := strings.Join(p.Impls, ","), len(ours) == 0
	const oursAlone = "--%s cannot be used with --impl %s: only muxlock takes it"
	if err := cmp.Or(
		usage.Refuse(rivals && p.MaxTTL != 0, oursAlone, "max-ttl", impls),
		usage.Refuse(rivals && p.RetryHeld != 0, oursAlone, "retry-held", impls),
		usage.Refuse(rivals && p.RetrySplit != 0, oursAlone, "retry-split", impls),
		usage.Refuse(p.Groups > 1 && p.Op.TakesAll(), "--op %s cannot be used with --groups %d: its names must be of one group", p.Op, p.Groups),
		usage.Refuse(p.Hold.Mean() >= p.TTL, "--hold must be shorter than --ttl %s, got %s, on average %s", p.TTL, p.Hold, p.Hold.Mean().Round(time.Microsecond)),
		usage.Refuse(p.MasterTimeout < 0 || p.MasterTimeout >= p.TTL, "--master-timeout must be from 0 to below --ttl %s, got %s", p.TTL, p.MasterTimeout),
	); err != nil {
		return err
	}
	addrs := slices.Clone(p.Masters.Given)
	for i := len(addrs); i < p.Masters.Count; i++ { // stand-ins for masters not started yet
		addrs = append(addrs, fmt.Sprintf("127.0.0.1:%d", i+1))
	}
	for _, name := range ours {
		own := addrs
		if implOf(name).Single {
			own = addrs[:1]
		}
		if err := p.Options(own, p.Masters.Target).Validate(); err != nil {
			return p.Refused(err)
		}
	}
	return nil
}

// implOf returns an implementation whose name was checked.
func implOf(name string) rivals.Impl {
	impl, _ := rivals.Find(name)
	return impl
}

// checkCrashes refuses a crash whose new process would wait for votes. Masters were started for the run, and
// without fencing the engine waits until they are old enough.
func (p *Plan) checkCrashes() error {
	needed := redlock.RestartWait(MaxTTL(p.Settings), redlock.DefaultDrift)
	for _, name := range p.Impls {
		impl := implOf(name)
		if !impl.Ours || impl.Fences && p.Fencing {
			continue
		}
		for _, f := range p.Faults {
			if f.Kind == faults.Crash && p.Warmup+f.From < needed {
				help := map[bool]string{true: "--fencing or "}[impl.Fences]
				return usage.Errorf("--fault %s: %s's new process would wait: these masters do not vote for it before they are %s old (%s--warmup %s)",
					f.Text, name, needed.Round(time.Second/10), help, (needed-f.From).Truncate(time.Second)+time.Second)
			}
		}
	}
	return nil
}

// Options returns the options for opening every implementation.
func (p *Plan) Options(addrs []string, target result.Target) rivals.Options {
	o := rivals.Options{
		Engine: p.Engine, Masters: addrs, TTL: p.TTL, Workers: p.Workers,
		NewMasters: p.Masters.New || target != result.Given, NoTracking: target == result.Embedded,
		Distant: slices.ContainsFunc(p.Faults, func(f faults.Fault) bool { return f.Kind == faults.Delay }),
	}
	if slices.ContainsFunc(p.Faults, func(f faults.Fault) bool { return f.Kind == faults.Blackhole }) {
		o.From = faultproxy.ClientAddr(0)
	}
	return o
}

// engineFlags are the flags of the fields and arguments that the engine names.
var engineFlags = map[string]string{
	"ttl": "ttl", "MaxTTL": "max-ttl", "MasterTimeout": "master-timeout", "RetryHeld": "retry-held", "RetrySplit": "retry-split",
}

// Refused turns an error of the engine about its configuration into one that names the flag.
func (p *Plan) Refused(err error) error {
	if !errors.Is(err, engine.ErrInvalid) {
		return err
	}
	if wrong, is := errors.AsType[*engine.InvalidError](err); is && engineFlags[wrong.Field] != "" {
		return usage.Errorf("--%s %s%s", engineFlags[wrong.Field], wrong.Reason, p.shortLease(wrong))
	}
	return usage.Errorf("--masters or another setting of the engine: %w", err)
}

// The engine can lock with this lease and MasterTimeout.
const (
	shortestLease   = 4 * time.Millisecond
	shortestTimeout = time.Millisecond
)

// shortLease explains how to have a lease no longer than the engine's default MasterTimeout,
// or that no lease can be so short.
func (p *Plan) shortLease(wrong *engine.InvalidError) string {
	switch {
	case p.MasterTimeout > 0 || wrong.Field != "ttl":
		return ""
	case p.TTL < shortestLease:
		return fmt.Sprintf("; the shortest is --ttl %s --master-timeout %s", shortestLease, shortestTimeout)
	}
	return fmt.Sprintf("; add --master-timeout, such as --master-timeout %s", max(p.TTL/4, shortestTimeout))
}
