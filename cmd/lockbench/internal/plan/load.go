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

func (f *Flags) planImpls(p *Plan) error {
	if err := p.refuseRaw(); err != nil && slices.Contains(p.Impls, raw.Name) {
		if f.set("impl") {
			return err
		}
		p.Impls = slices.DeleteFunc(slices.Clone(p.Impls), func(name string) bool { return name == raw.Name }) // the default has it
	}
	for _, name := range p.Impls {
		impl, known := rivals.Find(name)
		if err := cmp.Or(
			usage.Refuse(!known, "--impl %q is unknown; there are %s", name, strings.Join(rivals.Names(), ", ")),
			usage.Refuse(p.Groups > 1 && (!impl.Ours || impl.Single), "--groups cannot be used with --impl %s: only muxlock has groups", name),
			usage.Refuse(!impl.Can(p.Op), "--op %s cannot be used with --impl %s, whose locks offer no such thing", p.Op, name),
		); err != nil {
			return err
		}
	}
	fences := p.Fencing && rivals.CanFence(p.Impls)
	if err := cmp.Or(
		usage.Refuse(len(p.Impls) == 0, "--impl names no implementation"),
		usage.Refuse(p.Fencing && !fences && f.set("fencing"), "--fencing cannot be used with --impl %s, whose locks have no fencing tokens", strings.Join(p.Impls, ",")),
		usage.Refuse(p.Rounds < 1, "--rounds must be at least 1, got %d", p.Rounds),
	); err != nil {
		return err
	}
	p.Fencing, p.Impls = fences, numbered(p.Impls) // fencing may be the default
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
	err := cmp.Or(
		usage.Refuse(p.Rate > 0, "--rate cannot be used with --impl raw, which always sends all it can"),
		usage.Refuse(!(rivals.Impl{}).Can(p.Op), "--op %s cannot be used with --impl raw, which only acquires and releases", p.Op),
	)
	for _, f := range p.Faults {
		err = cmp.Or(err, usage.Refuse(f.Kind.TakesAway(), "--fault %s cannot be used with --impl raw, which needs every master", f.Text))
	}
	for _, o := range p.Objectives {
		err = cmp.Or(err, usage.Refuse(o.OfAudit(), "--slo %s cannot be used with --impl raw, which is not audited", o))
	}
	return err
}

func (f *Flags) planLoad(p *Plan) error {
	f.Seed = cmp.Or(f.Seed, 1+rand.Uint64N(1<<32)) // one for all settings of a sweep
	p.Seed = f.Seed
	own := p.Dist == (bench.Dist{}) && p.Op != bench.Hold // with op hold the workers divide --keys among them
	unused := own && p.Keys != 0 && f.set("dist")
	switch {
	case own && p.Keys != 0:
		p.Dist = bench.Uniform()
	case !own:
		p.Keys = cmp.Or(p.Keys, manyNames)
	}
	if p.Op.Shares() { // two runs at once measure readers apart from writers
		p.KeyPrefix = fmt.Sprintf("lockbench:%d:", p.Seed)
	}
	return cmp.Or(
		usage.Refuse(unused, "--keys has no meaning with --dist own, where every worker has a name of its own"),
		usage.Refuse(f.set("rate") && p.Rate == 0, "--rate must be above 0, got 0; leave it out for a closed loop"),
		usage.Refuse(p.Arrivals != "" && p.Rate == 0, "--arrivals needs --rate"),
		usage.Refuse(p.ProbeEvery < 0 || p.ProbeEvery > 0 && p.ProbeEvery < probeLeast, "--probe-every must be 0 or at least %s, got %s", probeLeast, p.ProbeEvery),
		usage.Refuse(p.Procs < 1, "--procs must be at least 1, got %d", p.Procs),
		usage.Refuse(p.Procs > 1 && !bench.SharesMemory, "--procs above 1 needs memory that processes share, which this system does not offer"),
		usage.Refuse(p.Seed >= 1<<53, "--seed must be below 2^53, so that every JSON reader keeps it whole"),
		p.Validate(),
	)
}
