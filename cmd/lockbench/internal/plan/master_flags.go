package plan

import (
	"cmp"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/internal/usage"
)

const (
	maxMasters  = 99              // --local and --embedded
	faultWarmup = 2 * time.Second // a fault for the whole run is in force for its last second
)

// Masters describes the masters of a plan.
type Masters struct {
	Kind     masters.Kind
	Chosen   bool     // false: the default, which may fall back to embedded masters
	Given    []string // addresses of the user's masters
	Count    int      // in all groups
	Programs []string // of local servers
}

// MastersAlone returns a plan of masters and their faults, without a load.
func (f *Flags) MastersAlone(fs *pflag.FlagSet) (*Plan, error) {
	p := &Plan{Load: bench.Config{Duration: time.Hour}}
	f.load = p.Load
	return p, cmp.Or(f.planMasters(p, fs.Changed), f.planFaults(p, fs.Changed))
}

func (f *Flags) planMasters(p *Plan, set func(string) bool) (err error) {
	m := &p.Masters
	chosen := slices.DeleteFunc(slices.Clone(targetFlags), func(name string) bool { return !set(name) })
	m.Chosen = len(chosen) > 0
	switch {
	case f.engine.NewMasters && !set("masters"):
		return usage.Errorf("--new-masters is for --masters; others are always new")
	case len(chosen) > 1:
		return usage.Errorf("--%s exclude each other", strings.Join(chosen, " and --"))
	case set("masters"):
		m.Kind = masters.Given
		if m.Given, err = masters.Parse(f.masters); err != nil {
			return usage.Errorf("--masters: %w", err)
		}
		m.Count = len(m.Given)
	case set("embedded"):
		m.Kind, m.Count = masters.Embedded, f.embedded
	default:
		m.Kind, m.Count, m.Programs = masters.Local, f.local, f.servers
	}
	if set("server") && m.Kind != masters.Local {
		return usage.Errorf("--server is for --local servers")
	}
	for _, program := range m.Programs {
		if _, err := exec.LookPath(program); err != nil {
			return usage.Errorf("--server: %w", err)
		}
	}
	m.Chosen = m.Chosen || set("server")
	if m.Kind != masters.Given && (m.Count < 1 || m.Count > maxMasters) {
		return usage.Errorf("--%s must be 1 to %d, got %d", m.Kind, maxMasters, m.Count)
	}
	switch groups := f.engine.Groups; {
	case m.Kind == masters.Given && (groups < 1 || m.Count%groups != 0):
		return usage.Errorf("--groups must divide the number of --masters, %d, got %d", m.Count, groups)
	case m.Kind != masters.Given && (groups < 1 || groups > maxMasters/m.Count):
		return usage.Errorf("--groups must be 1 to %d with --%s %d, got %d", maxMasters/m.Count, m.Kind, m.Count, groups)
	case m.Kind != masters.Given:
		m.Count *= groups
	}
	return nil
}

// runOf returns what faults must know of a run.
func (f *Flags) runOf(masters int) faults.Run {
	r := faults.Run{Masters: masters, Duration: f.load.Duration}
	if f.load.Procs > 1 {
		r.Clients = f.load.Procs
	}
	return r
}

func (f *Flags) planFaults(p *Plan, _ func(string) bool) error {
	for _, s := range f.faults {
		if p.Masters.Kind != masters.Local {
			return usage.Errorf("--fault works on --local masters only")
		}
		fault, err := faults.Parse(s, f.runOf(p.Masters.Count))
		if err != nil {
			return usage.Errorf("--fault %w", err)
		}
		if fault.Whole {
			p.Load.Warmup = max(p.Load.Warmup, faultWarmup)
		}
		p.Faults = append(p.Faults, fault)
	}
	if err := faults.Check(p.Faults); err != nil {
		return usage.Errorf("--fault %w", err)
	}
	return nil
}
