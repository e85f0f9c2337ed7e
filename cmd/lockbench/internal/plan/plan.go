// Package plan turns a command line into a checked plan: masters, implementations, load,
// faults and objectives. Back again, it turns a document into the command line that makes it. It
// starts nothing, and does not know the use of a plan.
package plan

import (
	"slices"

	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/internal/quorum"
)

// Plan is a checked command line: its settings, with all that was chosen for the user, and what follows from them.
type Plan struct {
	result.Settings
	Command        string            // run, compare, sweep, advise or chaos
	Setting        map[string]string // the sweep's values, by param; the name of a comparison's load
	Each           []*Plan           // of a sweep's values or a comparison's loads, this one among them
	Masters        Masters
	Together       bool           // the processes of one run take Impls in turn
	Reference      string         // empty: no comparison
	Faults         []faults.Fault // chaos draws them
	MajorityServes bool           // the faults always leave a majority, so a time without locks is a finding
	Objectives     []result.Objective
	Output         Output
}

// Plan checks all that can be checked before anything is started. Each error names its flag.
func (f *Flags) Plan(command string) (*Plan, error) {
	if err := f.takeConfig(); err != nil {
		return nil, err
	}
	p := &Plan{Command: command, Settings: f.Settings, Output: f.Output}
	for _, step := range []func(*Plan) error{
		f.planMasters, (*Plan).planFaults, f.planLoad, (*Plan).planObjectives, f.planImpls, (*Plan).checkImpls, (*Plan).checkCrashes,
	} {
		if err := step(p); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *Plan) planObjectives() error {
	for _, text := range p.SLO {
		o, err := result.ParseObjective(text)
		if err == nil {
			err = o.Possible(p.Config)
		}
		if err != nil {
			return err
		}
		p.Objectives = append(p.Objectives, o)
	}
	if len(p.Objectives) > 0 {
		p.Objectives = append(p.Objectives, result.Implied(p.Objectives, p.Config)...)
	}
	p.SLO = nil
	for _, o := range p.Objectives {
		p.SLO = append(p.SLO, o.String())
	}
	return nil
}

// All returns Each; without it p alone.
func (p *Plan) All() []*Plan {
	if len(p.Each) > 0 {
		return p.Each
	}
	return []*Plan{p}
}

// MajorityStays reports whether the faults leave a majority of each group of masters at all times. A
// master that has forgotten its locks does not vote again before the run is over.
func (p *Plan) MajorityStays() bool {
	size := p.Masters.Count / max(p.Groups, 1)
	for _, begin := range p.Faults {
		away := map[int]bool{} // when begin begins
		for _, f := range p.Faults {
			ends := f.To > begin.From || f.From == begin.From || f.Kind.Forgets()
			if f.Kind.TakesAway() && f.Master >= 0 && f.Master/size == begin.Master/size && f.From <= begin.From && ends {
				away[f.Master] = true
			}
		}
		if size-len(away) < quorum.Size(size) {
			return false
		}
	}
	return true
}

// Outages reports whether faults may leave no majority for a time.
func (p *Plan) Outages() bool {
	return !p.MajorityServes && slices.ContainsFunc(p.Faults, func(f faults.Fault) bool { return f.Kind.TakesAway() })
}
