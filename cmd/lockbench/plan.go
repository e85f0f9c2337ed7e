package main

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/raw"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/rivals"
)

const (
	maxMasters  = 99               // --local and --embedded
	faultWarmup = 2 * time.Second  // a fault for the whole run is in force for the last second of it
	distant     = time.Millisecond // from there on connection pools grow with the workers
	probeLeast  = time.Millisecond // more often, and probing is a load of its own
)

// plan is a checked command line.
type plan struct {
	command    string            // run, compare or sweep
	setting    map[string]string // what a sweep gave it, by param
	cfg        bench.Config
	impls      []string
	rounds     int
	reference  string // empty: nothing to compare with
	kind       masters.Kind
	kindGiven  bool // false: the default, which may fall back to embedded
	given      []string
	count      int      // of local or embedded masters
	servers    []string // programs of local ones
	faults     []faults.Fault
	progress   bool          // the faults always leave a majority: a time without locks is a finding
	kinds      []string      // of faults that chaos drew from
	probeEvery time.Duration // 0: no prober
	objectives []result.Objective
	engine     rivals.Options // but for what options adds
	history    string         // file for the events around an overlap; chaos only
	outputs
	runs schedule
	args []string // see arguments
}

// plan checks everything that can be checked without starting anything. Each
// error names its flag.
func (f *flags) plan(cmd *cobra.Command) (*plan, error) {
	for _, take := range []func(*cobra.Command) error{f.takeConfig} {
		if err := take(cmd); err != nil {
			return nil, err
		}
	}
	p := &plan{
		command: cmd.Name(), impls: f.impl, rounds: f.rounds,
		engine: f.engine, probeEvery: f.probeEvery,
		outputs: f.outputs,
	}
	p.runs = rounds{p}
	for _, check := range []func(*plan, func(string) bool) error{f.planMasters, f.planImpls, f.planLoad, f.planFaults, f.planObjectives} {
		if err := check(p, cmd.Flags().Changed); err != nil {
			return nil, err
		}
	}
	if err := p.checkEngine(); err != nil {
		return nil, err
	}
	if p.ownNames() {
		p.args = arguments(cmd, "keys")
	} else {
		p.args = arguments(cmd)
	}
	return p, f.outputs.check(formats)
}

// checkEngine finds what the engine would refuse.
func (p *plan) checkEngine() error {
	addrs := slices.Clone(p.given)
	for i := len(addrs); i < p.count; i++ { // until there are any
		addrs = append(addrs, fmt.Sprintf("127.0.0.1:%d", i+1))
	}
	for _, name := range p.impls {
		impl, _ := rivals.Find(name)
		if !strings.HasPrefix(name, "muxlock") {
			continue
		}
		own := addrs
		if impl.Single {
			own = addrs[:1]
		}
		if err := p.options(own, p.kind).Validate(); err != nil {
			return p.refused(err)
		}
	}
	return nil
}

// ownNames reports whether every worker has a name of its own, so that --keys has no
// meaning.
func (p *plan) ownNames() bool { return p.cfg.Dist == (bench.Dist{}) && p.cfg.Op != bench.Hold }

func (f *flags) planObjectives(p *plan, _ func(string) bool) error {
	for _, text := range f.slos {
		o, err := result.ParseObjective(text)
		if err == nil {
			err = o.Possible(p.cfg)
		}
		if err != nil {
			return usageError{err}
		}
		p.objectives = append(p.objectives, o)
	}
	if len(p.objectives) > 0 {
		p.objectives = append(p.objectives, result.Implied(p.objectives, p.cfg)...)
	}
	return nil
}

func (f *flags) planMasters(p *plan, set func(string) bool) (err error) {
	chosen := slices.DeleteFunc(slices.Clone(targetFlags), func(name string) bool { return !set(name) })
	p.kindGiven = len(chosen) > 0
	switch {
	case f.engine.NewMasters && !set("masters"):
		return usagef("--new-masters is for --masters; others are always new")
	case len(chosen) > 1:
		return usagef("--%s exclude each other", strings.Join(chosen, " and --"))
	case set("masters"):
		p.kind = masters.Given
		if p.given, err = masters.Parse(f.masters); err != nil {
			return usagef("--masters: %w", err)
		}
		p.count = len(p.given)
	case set("embedded"):
		p.kind, p.count = masters.Embedded, f.embedded
	default:
		p.kind, p.count, p.servers = masters.Local, f.local, f.servers
	}
	if set("server") && p.kind != masters.Local {
		return usagef("--server is for --local servers")
	}
	for _, program := range p.servers {
		if _, err := exec.LookPath(program); err != nil {
			return usagef("--server: %w", err)
		}
	}
	p.kindGiven = p.kindGiven || set("server")
	if p.kind != masters.Given && (p.count < 1 || p.count > maxMasters) {
		return usagef("--%s must be 1 to %d, got %d", p.kind, maxMasters, p.count)
	}
	return nil
}

func (f *flags) planImpls(p *plan, set func(string) bool) error {
	if len(f.impl) == 0 {
		return usagef("--impl names no implementation")
	}
	if err := f.refuseRaw(p.count, set); err != nil && slices.Contains(f.impl, raw.Name) {
		if set("impl") {
			return err
		}
		f.impl = slices.DeleteFunc(slices.Clone(f.impl), func(name string) bool { return name == raw.Name }) // of the default
		p.impls = f.impl
	}
	for i, name := range f.impl {
		if gone := formerly("--impl " + name); gone != nil {
			return gone
		}
		if !slices.Contains(implNames(), name) {
			return usagef("--impl %q is unknown; there are %s", name, strings.Join(implNames(), ", "))
		}
		if slices.Contains(f.impl[:i], name) {
			return usagef("--impl names %s twice", name)
		}
	}
	if p.engine.Fencing && !rivals.CanFence(f.impl) {
		if set("fencing") {
			return usagef("--fencing cannot be used with --impl %s, whose locks have no fencing tokens", strings.Join(f.impl, ","))
		}
		p.engine.Fencing = false // where it is the default
	}
	if f.rounds < 1 {
		return usagef("--rounds must be at least 1, got %d", f.rounds)
	}
	if len(f.impl) > 1 {
		p.reference = f.impl[0]
		if slices.Contains(f.impl, "muxlock") {
			p.reference = "muxlock"
		}
	}
	return nil
}

// refuseRaw is why raw cannot take the load on that many masters, if so.
func (f *flags) refuseRaw(masters int, set func(string) bool) error {
	switch {
	case set("rate"):
		return usagef("--rate cannot be used with --impl raw, which always sends all it can")
	case !(rivals.Impl{}).Can(f.cfg.Op):
		return usagef("--op %s cannot be used with --impl raw, which only acquires and releases", f.cfg.Op)
	}
	for _, s := range f.faults {
		if fault, err := faults.Parse(s, masters, f.cfg.Duration); err == nil && fault.Kind.TakesAway() {
			return usagef("--fault %s cannot be used with --impl raw, which needs every master", s)
		}
	}
	return nil
}

func (f *flags) planFaults(p *plan, _ func(string) bool) error {
	for _, s := range f.faults {
		if p.kind != masters.Local {
			return usagef("--fault works on --local masters only")
		}
		fault, err := faults.Parse(s, p.count, p.cfg.Duration)
		if err != nil {
			return usagef("--fault %w", err)
		}
		if fault.Whole {
			p.cfg.Warmup = max(p.cfg.Warmup, faultWarmup)
		}
		p.faults = append(p.faults, fault)
	}
	if err := faults.Check(p.faults); err != nil {
		return usagef("--fault %w", err)
	}
	return nil
}

func (f *flags) planLoad(p *plan, set func(string) bool) error {
	switch {
	case f.cfg.Op == bench.Hold: // the workers share --keys out among them
	case set("keys") && !set("dist"):
		f.cfg.Dist = bench.Uniform()
	case set("keys") && f.cfg.Dist == (bench.Dist{}):
		return usagef("--keys has no meaning with --dist own, where every worker has a name of its own")
	}
	if f.engine.MasterTimeout < 0 {
		return usagef("--master-timeout must not be negative, got %s", f.engine.MasterTimeout)
	}
	if f.probeEvery < 0 || f.probeEvery > 0 && f.probeEvery < probeLeast {
		return usagef("--probe-every must be 0 or at least %s, got %s", probeLeast, f.probeEvery)
	}
	if f.cfg.Procs < 1 {
		return usagef("--procs must be at least 1, got %d", f.cfg.Procs)
	}
	if f.cfg.Procs > 1 && !bench.SharesMemory {
		return usagef("--procs above 1 needs memory that processes share, which this system does not offer")
	}
	if set("arrivals") && !set("rate") {
		return usagef("--arrivals needs --rate")
	}
	if err := f.cfg.Validate(); err != nil {
		return usageError{err}
	}
	for _, name := range f.impl {
		if impl, ok := rivals.Find(name); ok && !impl.Can(f.cfg.Op) {
			return usagef("--op %s cannot be used with --impl %s, whose locks offer no such thing", f.cfg.Op, name)
		}
	}
	if f.cfg.Hold.Mean() >= f.cfg.TTL {
		return usagef("--hold must be shorter than --ttl %s, got %s, on average %s", f.cfg.TTL, f.cfg.Hold, f.cfg.Hold.Mean().Round(time.Microsecond))
	}
	if f.engine.MasterTimeout >= f.cfg.TTL {
		return usagef("--master-timeout %s must be shorter than --ttl %s", f.engine.MasterTimeout, f.cfg.TTL)
	}
	if f.engine.RetryHeld < 0 || f.engine.RetrySplit < 0 {
		return usagef("--%s must not be negative", map[bool]string{true: "retry-held", false: "retry-split"}[f.engine.RetryHeld < 0])
	}
	if f.engine.MaxTTL != 0 && f.engine.MaxTTL < f.cfg.TTL {
		return usagef("--max-ttl %s must be at least --ttl %s", f.engine.MaxTTL, f.cfg.TTL)
	}
	if f.cfg.Seed >= 1<<53 {
		return usagef("--seed must be below 2^53, so that every JSON reader keeps it whole")
	}
	if f.cfg.Seed == 0 {
		f.cfg.Seed = 1 + rand.Uint64N(1<<32)
	}
	p.cfg = f.cfg
	return nil
}
