package plan

import (
	"cmp"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/internal/usage"
)

const (
	maxMasters  = 99              // --local and --embedded
	faultWarmup = 2 * time.Second // a fault for the whole run is in force for its last second
)

// Masters describes the masters of a plan.
type Masters struct {
	Target result.Target
	Chosen bool     // false: the default, which may fall back to embedded masters
	Given  []string // addresses of the user's masters
	New    bool     // these have never granted a lock
	Count  int      // in all groups
}

// MastersAlone returns a plan of masters and their faults, without a load.
func (f *Flags) MastersAlone(fs *pflag.FlagSet) (*Plan, error) {
	p := &Plan{Settings: f.Settings}
	p.Duration = time.Hour
	return p, cmp.Or(f.planMasters(p, fs.Changed), f.planFaults(p, fs.Changed))
}

func (f *Flags) planMasters(p *Plan, set func(string) bool) (err error) {
	m := &p.Masters
	chosen := slices.DeleteFunc(slices.Clone(targetFlags), func(name string) bool { return !set(name) })
	switch {
	case f.newMasters && !set("masters"):
		return usage.Errorf("--new-masters is for --masters; others are always new")
	case len(chosen) > 1:
		return usage.Errorf("--%s exclude each other", strings.Join(chosen, " and --"))
	case set("masters"):
		m.Target, m.New = result.Given, f.newMasters
		if m.Given, err = masters.Parse(f.masters); err != nil {
			return usage.Errorf("--masters: %w", err)
		}
		m.Count = len(m.Given)
	case set("embedded"):
		m.Target, m.Count = result.Embedded, f.embedded
	default:
		m.Target, m.Count = result.Local, f.local
	}
	if m.Target != result.Local {
		if p.Programs = nil; set("server") {
			return usage.Errorf("--server is for --local servers")
		}
	}
	for _, program := range p.Programs {
		if _, err := exec.LookPath(program); err != nil {
			return usage.Errorf("--server: %w", err)
		}
	}
	m.Chosen = len(chosen) > 0 || len(p.Programs) > 0
	switch {
	case m.Target == result.Given && (p.Groups < 1 || m.Count%p.Groups != 0):
		return usage.Errorf("--groups must divide the number of --masters, %d, got %d", m.Count, p.Groups)
	case m.Target == result.Given:
		return nil
	case m.Count < 1 || m.Count > maxMasters:
		return usage.Errorf("--%s must be 1 to %d, got %d", m.Target, maxMasters, m.Count)
	case p.Groups < 1 || p.Groups > maxMasters/m.Count:
		return usage.Errorf("--groups must be 1 to %d with --%s %d, got %d", maxMasters/m.Count, m.Target, m.Count, p.Groups)
	}
	m.Count *= p.Groups
	return nil
}

func (f *Flags) planFaults(p *Plan, _ func(string) bool) error {
	run := faults.Run{Masters: p.Masters.Count, Duration: p.Duration}
	if p.Procs > 1 {
		run.Clients = p.Procs
	}
	for _, s := range p.Settings.Faults {
		if p.Masters.Target != result.Local {
			return usage.Errorf("--fault works on --local masters only")
		}
		fault, err := faults.Parse(s, run)
		if err != nil {
			return usage.Errorf("--fault %w", err)
		}
		if fault.Whole {
			p.Warmup = max(p.Warmup, faultWarmup)
		}
		p.Faults = append(p.Faults, fault)
	}
	if err := faults.Check(p.Faults); err != nil {
		return usage.Errorf("--fault %w", err)
	}
	return nil
}
