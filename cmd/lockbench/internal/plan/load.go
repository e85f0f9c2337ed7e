package plan

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/raw"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/internal/usage"
)

// probeLeast is the shortest time between probes. More frequent probes would be a load.
const probeLeast = time.Millisecond

// manyNames is the number of names that workers share, or hold, unless --keys says it.
const manyNames = 1000

func (f *Flags) planImpls(p *Plan, set func(string) bool) error {
	if len(f.impl) == 0 {
		return usage.Errorf("--impl names no implementation")
	}
	if err := f.refuseRaw(p.Masters.Count, set); err != nil && slices.Contains(f.impl, raw.Name) {
		if set("impl") {
			return err
		}
		f.impl = slices.DeleteFunc(slices.Clone(f.impl), func(name string) bool { return name == raw.Name }) // the default has it
	}
	for _, name := range f.impl {
		_, known := rivals.Find(name)
		known = known && !strings.Contains(name, "#")
		switch {
		case !known:
			return usage.Errorf("--impl %q is unknown; there are %s", name, strings.Join(rivals.Names(), ", "))
		case f.engine.Groups > 1 && name != "muxlock":
			return usage.Errorf("--groups cannot be used with --impl %s: only muxlock has groups", name)
		}
	}
	if p.Engine.Fencing && !rivals.CanFence(f.impl) {
		if set("fencing") {
			return usage.Errorf("--fencing cannot be used with --impl %s, whose locks have no fencing tokens", strings.Join(f.impl, ","))
		}
		p.Engine.Fencing = false // it was the default
	}
	p.Impls = numbered(f.impl)
	if f.rounds < 1 {
		return usage.Errorf("--rounds must be at least 1, got %d", f.rounds)
	}
	if len(p.Impls) > 1 {
		p.Reference = p.Impls[0]
		if slices.Contains(f.impl, "muxlock") {
			p.Reference = "muxlock"
		}
	}
	return nil
}

// numbered tells entries of the same implementation apart: A/A shows what a comparison makes of chance.
func numbered(impls []string) (names []string) {
	times := map[string]int{}
	for _, name := range impls {
		if times[name]++; times[name] > 1 {
			name = rivals.Again(name, times[name])
		}
		names = append(names, name)
	}
	return names
}

// refuseRaw returns an error if raw cannot make this load on so many masters, or lacks a figure of
// the audit.
func (f *Flags) refuseRaw(masters int, set func(string) bool) error {
	switch {
	case set("rate"):
		return usage.Errorf("--rate cannot be used with --impl raw, which always sends all it can")
	case !(rivals.Impl{}).Can(f.load.Op):
		return usage.Errorf("--op %s cannot be used with --impl raw, which only acquires and releases", f.load.Op)
	}
	for _, s := range f.faults {
		if fault, err := faults.Parse(s, f.runOf(masters)); err == nil && fault.Kind.TakesAway() {
			return usage.Errorf("--fault %s cannot be used with --impl raw, which needs every master", s)
		}
	}
	for _, s := range f.slos {
		if o, err := result.ParseObjective(s); err == nil && o.OfAudit() {
			return usage.Errorf("--slo %s cannot be used with --impl raw, which is not audited", o)
		}
	}
	return nil
}

func (f *Flags) planLoad(p *Plan, set func(string) bool) error {
	f.load.Seed = cmp.Or(f.load.Seed, 1+rand.Uint64N(1<<32)) // one for all settings of a sweep
	p.Load = f.load
	own := f.load.Dist == (bench.Dist{}) && f.load.Op != bench.Hold // with op hold the workers divide --keys among them
	switch {
	case own && f.load.Keys != 0 && set("dist"):
		return usage.Errorf("--keys has no meaning with --dist own, where every worker has a name of its own")
	case own && f.load.Keys != 0:
		p.Load.Dist = bench.Uniform()
	case !own:
		p.Load.Keys = cmp.Or(f.load.Keys, manyNames)
	}
	if f.engine.MasterTimeout < 0 {
		return usage.Errorf("--master-timeout must not be negative, got %s", f.engine.MasterTimeout)
	}
	engine := slices.ContainsFunc(f.impl, func(name string) bool { return strings.HasPrefix(name, "muxlock") })
	for _, given := range []struct {
		flag string
		time time.Duration
	}{{"max-ttl", f.engine.MaxTTL}, {"retry-held", f.engine.RetryHeld}, {"retry-split", f.engine.RetrySplit}} {
		switch {
		case given.time < 0:
			return usage.Errorf("--%s must not be negative, got %s", given.flag, given.time)
		case given.time > 0 && !engine:
			return usage.Errorf("--%s cannot be used with --impl %s: only muxlock takes it", given.flag, strings.Join(f.impl, ","))
		}
	}
	switch {
	case f.probeEvery < 0 || f.probeEvery > 0 && f.probeEvery < probeLeast:
		return usage.Errorf("--probe-every must be 0 or at least %s, got %s", probeLeast, f.probeEvery)
	case f.load.Procs < 1:
		return usage.Errorf("--procs must be at least 1, got %d", f.load.Procs)
	case f.load.Procs > 1 && !bench.SharesMemory:
		return usage.Errorf("--procs above 1 needs memory that processes share, which this system does not offer")
	case set("arrivals") && !set("rate"):
		return usage.Errorf("--arrivals needs --rate")
	}
	if err := p.Load.Validate(); err != nil {
		return usage.Error{Err: err}
	}
	for _, name := range f.impl {
		if impl, ok := rivals.Find(name); ok && !impl.Can(f.load.Op) {
			return usage.Errorf("--op %s cannot be used with --impl %s, whose locks offer no such thing", f.load.Op, name)
		}
	}
	switch {
	case f.engine.Groups > 1 && f.load.Op.TakesAll():
		return usage.Errorf("--op %s cannot be used with --groups %d: its names must be of one group", f.load.Op, f.engine.Groups)
	case f.load.Hold.Mean() >= f.load.TTL:
		return usage.Errorf("--hold must be shorter than --ttl %s, got %s, on average %s", f.load.TTL, f.load.Hold, f.load.Hold.Mean().Round(time.Microsecond))
	case f.engine.MasterTimeout >= f.load.TTL:
		return usage.Errorf("--master-timeout %s must be shorter than --ttl %s", f.engine.MasterTimeout, f.load.TTL)
	case f.engine.MaxTTL != 0 && f.engine.MaxTTL < f.load.TTL:
		return usage.Errorf("--max-ttl %s must be at least --ttl %s", f.engine.MaxTTL, f.load.TTL)
	case f.load.Seed >= 1<<53:
		return usage.Errorf("--seed must be below 2^53, so that every JSON reader keeps it whole")
	}
	if p.Load.Op.Shares() { // two runs at once measure readers apart from writers
		p.Load.KeyPrefix = fmt.Sprintf("lockbench:%d:", p.Load.Seed)
	}
	return nil
}
