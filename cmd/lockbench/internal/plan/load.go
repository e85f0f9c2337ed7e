package plan

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/raw"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/internal/usage"
)

// probeLeast is the shortest time between probes. More frequent probes would be a load.
const probeLeast = time.Millisecond

// manyNames is the number of names that workers share, or hold, unless --keys says it.
const manyNames = 1000

func (f *Flags) planImpls(p *Plan, set func(string) bool) error {
	if len(p.Impls) == 0 {
		return usage.Errorf("--impl names no implementation")
	}
	if err := p.refuseRaw(); err != nil && slices.Contains(p.Impls, raw.Name) {
		if set("impl") {
			return err
		}
		p.Impls = slices.DeleteFunc(slices.Clone(p.Impls), func(name string) bool { return name == raw.Name }) // the default has it
	}
	for _, name := range p.Impls {
		impl, known := rivals.Find(name)
		switch {
		case !known:
			return usage.Errorf("--impl %q is unknown; there are %s", name, strings.Join(rivals.Names(), ", "))
		case p.Groups > 1 && (!impl.Ours || impl.Single):
			return usage.Errorf("--groups cannot be used with --impl %s: only muxlock has groups", name)
		}
	}
	if p.Fencing && !rivals.CanFence(p.Impls) {
		if set("fencing") {
			return usage.Errorf("--fencing cannot be used with --impl %s, whose locks have no fencing tokens", strings.Join(p.Impls, ","))
		}
		p.Fencing = false // it was the default
	}
	p.Impls = numbered(p.Impls)
	if p.Rounds < 1 {
		return usage.Errorf("--rounds must be at least 1, got %d", p.Rounds)
	}
	if len(p.Impls) > 1 {
		p.Reference = p.Impls[0]
		if slices.Contains(p.Impls, "muxlock") {
			p.Reference = "muxlock"
		}
	}
	return nil
}

// numbered tells entries of the same implementation apart: A/A shows what a comparison makes of chance. Numbers of an
// earlier run mean nothing.
func numbered(impls []string) (names []string) {
	times := map[string]int{}
	for _, name := range impls {
		impl, _ := rivals.Find(name)
		name = impl.Name
		if times[name]++; times[name] > 1 {
			name = rivals.Again(name, times[name])
		}
		names = append(names, name)
	}
	return names
}

// refuseRaw returns an error if raw cannot make this load, or lacks a figure of the audit.
func (p *Plan) refuseRaw() error {
	switch {
	case p.Rate > 0:
		return usage.Errorf("--rate cannot be used with --impl raw, which always sends all it can")
	case !(rivals.Impl{}).Can(p.Op):
		return usage.Errorf("--op %s cannot be used with --impl raw, which only acquires and releases", p.Op)
	}
	for _, f := range p.Faults {
		if f.Kind.TakesAway() {
			return usage.Errorf("--fault %s cannot be used with --impl raw, which needs every master", f.Text)
		}
	}
	for _, o := range p.Objectives {
		if o.OfAudit() {
			return usage.Errorf("--slo %s cannot be used with --impl raw, which is not audited", o)
		}
	}
	return nil
}

func (f *Flags) planLoad(p *Plan, set func(string) bool) error {
	f.Seed = cmp.Or(f.Seed, 1+rand.Uint64N(1<<32)) // one for all settings of a sweep
	p.Seed = f.Seed
	own := p.Dist == (bench.Dist{}) && p.Op != bench.Hold // with op hold the workers divide --keys among them
	switch {
	case own && p.Keys != 0 && set("dist"):
		return usage.Errorf("--keys has no meaning with --dist own, where every worker has a name of its own")
	case own && p.Keys != 0:
		p.Dist = bench.Uniform()
	case !own:
		p.Keys = cmp.Or(p.Keys, manyNames)
	}
	switch {
	case set("rate") && p.Rate == 0:
		return usage.Errorf("--rate must be above 0, got 0; leave it out for a closed loop")
	case p.Arrivals != "" && p.Rate == 0:
		return usage.Errorf("--arrivals needs --rate")
	case p.ProbeEvery < 0 || p.ProbeEvery > 0 && p.ProbeEvery < probeLeast:
		return usage.Errorf("--probe-every must be 0 or at least %s, got %s", probeLeast, p.ProbeEvery)
	case p.Procs < 1:
		return usage.Errorf("--procs must be at least 1, got %d", p.Procs)
	case p.Procs > 1 && !bench.SharesMemory:
		return usage.Errorf("--procs above 1 needs memory that processes share, which this system does not offer")
	case p.Seed >= 1<<53:
		return usage.Errorf("--seed must be below 2^53, so that every JSON reader keeps it whole")
	}
	if err := p.Validate(); err != nil {
		return usage.Error{Err: err}
	}
	if p.KeyPrefix = ""; p.Op.Shares() { // two runs at once measure readers apart from writers
		p.KeyPrefix = fmt.Sprintf("lockbench:%d:", p.Seed)
	}
	return nil
}
