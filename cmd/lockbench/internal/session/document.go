package session

import (
	"cmp"
	"math"
	"slices"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/rivals"
)

// document makes a document of the results of a plan.
func (s *Session) document(p *plan.Plan) *result.Document {
	results := s.Results
	cfg := result.Config{Settings: p.Settings, Reference: p.Reference, Command: p.Command, Target: s.Set.Kind, Server: s.Set.Version, Clients: s.clients}
	cfg.Faults = nil
	for _, addr := range s.Set.Addrs {
		bare := masters.Redact(addr)
		cfg.MastersRedacted = cfg.MastersRedacted || bare != addr
		cfg.Masters = append(cfg.Masters, bare)
	}
	for _, r := range results {
		for i := range r.PerMaster { // by the master's own address, not the proxy's
			r.PerMaster[i].Addr = cfg.Masters[i]
		}
	}
	for _, one := range p.Each {
		if name := result.LoadName(one.Setting[result.LoadSetting]); name != "" {
			cfg.Loads = append(cfg.Loads, result.Load{Name: name, Config: one.Config, Impls: ranked(one.Impls, one.Reference, result.OfLoad(results, name))})
		}
	}
	switch {
	case len(cfg.Loads) > 0:
		cfg.Impls = cfg.Loads[0].Impls
	case p.Command == "compare":
		cfg.Impls = ranked(p.Impls, p.Reference, results)
	}
	for _, f := range p.Faults {
		cfg.Faults = append(cfg.Faults, f.Text)
	}
	return new(result.NewDocument(cfg, results))
}

// ranked orders implementations for a comparison: the reference, then locks on all masters, locks
// on one master, and yardsticks; the best first in each group.
func ranked(impls []string, reference string, results []*bench.Result) []string {
	better := func(name string) float64 {
		whole := result.Finished(results, name)
		if p50, open := result.MustFigure("response.p50").Median(whole); open { // in an open loop all have the same throughput
			return -p50
		}
		if rate, ran := result.MustFigure("throughput").Median(whole); ran {
			return rate
		}
		return math.Inf(-1)
	}
	kind := func(name string) int {
		impl, _ := rivals.Find(name)
		switch {
		case name == reference:
			return 0
		case impl.Yardstick:
			return 3
		case impl.Single:
			return 2
		}
		return 1
	}
	sorted := slices.Clone(impls)
	slices.SortStableFunc(sorted, func(a, b string) int {
		return cmp.Or(cmp.Compare(kind(a), kind(b)), cmp.Compare(better(b), better(a)))
	})
	return sorted
}
