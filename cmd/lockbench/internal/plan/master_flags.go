package plan

import (
	"cmp"
	"os/exec"
	"slices"
	"strings"
	"time"

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
func (f *Flags) MastersAlone() (*Plan, error) {
	p := &Plan{Settings: f.Settings}
	p.Duration = time.Hour
	return p, cmp.Or(f.planMasters(p), p.planFaults())
}

func (f *Flags) planMasters(p *Plan) (err error) {
	m := &p.Masters
	chosen := slices.DeleteFunc(slices.Clone(targetFlags), func(name string) bool { return !f.set(name) })
	switch {
	case f.set("masters"):
		m.Target, m.New = result.Given, f.newMasters
		m.Given, err = masters.Parse(f.masters)
		m.Count = len(m.Given)
	case f.set("embedded"):
		m.Target, m.Count = result.Embedded, f.embedded
	default:
		m.Target, m.Count = result.Local, f.local
	}
	given, local := m.Target == result.Given, m.Target == result.Local
	if !local {
		p.Programs = nil
	}
	m.Chosen = len(chosen) > 0 || len(p.Programs) > 0
	most := maxMasters / max(m.Count, 1) // groups
	err = cmp.Or(
		usage.Refuse(f.newMasters && !given, "--new-masters is for --masters; others are always new"),
		usage.Refuse(len(chosen) > 1, "--%s exclude each other", strings.Join(chosen, " and --")),
		usage.Refuse(err != nil, "--masters: %w", err),
		usage.Refuse(!local && f.set("server"), "--server is for --local servers"),
		checkPrograms(p.Programs),
		usage.Refuse(given && (p.Groups < 1 || m.Count%max(p.Groups, 1) != 0), "--groups must divide the number of --masters, %d, got %d", m.Count, p.Groups),
		usage.Refuse(!given && (m.Count < 1 || m.Count > maxMasters), "--%s must be 1 to %d, got %d", m.Target, maxMasters, m.Count),
		usage.Refuse(!given && (p.Groups < 1 || p.Groups > most), "--groups must be 1 to %d with --%s %d, got %d", most, m.Target, m.Count, p.Groups),
	)
	if !given {
		m.Count *= p.Groups
	}
	return err
}

func checkPrograms(programs []string) error {
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return usage.Errorf("--server: %w", err)
		}
	}
	return nil
}

func (p *Plan) planFaults() error {
	run := faults.Run{Masters: p.Masters.Count, Duration: p.Duration}
	if p.Procs > 1 {
		run.Clients = p.Procs
	}
	for _, s := range p.Settings.Faults {
		fault, err := faults.Parse(s, run)
		if err := cmp.Or(
			usage.Refuse(p.Masters.Target != result.Local, "--fault works on --local masters only"),
			usage.Refuse(err != nil, "--fault %w", err),
		); err != nil {
			return err
		}
		if fault.Whole {
			p.Warmup = max(p.Warmup, faultWarmup)
		}
		p.Faults = append(p.Faults, fault)
	}
	err := faults.Check(p.Faults)
	return usage.Refuse(err != nil, "--fault %w", err)
}
