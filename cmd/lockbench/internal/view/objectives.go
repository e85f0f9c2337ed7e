package view

import (
	"fmt"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
	"muxlock/internal/stats"
)

// objectives is how each implementation stood to what was asked of it: over several
// rounds the median, and in how many it was met.
func (b *Blocks) objectives(doc result.Document) {
	t := Table{Texts: 2, Heads: make([]string, 4), Remarks: 1}
	for _, impl := range doc.Config.Impls {
		name := "SLO"
		if len(doc.Config.Impls) > 1 {
			name += "  " + impl
		}
		for _, rounds := range judged(doc.Results, impl) {
			value, verdict := stood(rounds)
			t.Rows = append(t.Rows, append(cells(name, rounds[0].Text, value), verdict))
		}
	}
	b.Table(t)
}

// judged is the objectives of an implementation in their order, each in all rounds.
func judged(results []*bench.Result, impl string) (all [][]bench.SLO) {
	for _, r := range results {
		for i, s := range r.SLO {
			switch {
			case r.Impl != impl:
			case i == len(all):
				all = append(all, []bench.SLO{s})
			default:
				all[i] = append(all[i], s)
			}
		}
	}
	return all
}

// stood is the measured value and the verdict; a round that missed says more than
// one that could not be judged.
func stood(rounds []bench.SLO) (value string, verdict Cell) {
	var values []float64
	passed, reason, bound := 0, "", false
	for _, s := range rounds {
		if s.Reason != "" {
			reason = s.Reason
			continue
		}
		values, bound = append(values, s.Value), bound || s.AtLeast
		if s.Pass {
			passed++
		}
	}
	value = none
	if len(values) > 0 {
		value = units.AtLeast(units.In(rounds[0].Unit, stats.Median(values)), bound)
	}
	count := ""
	if len(rounds) > 1 {
		count = fmt.Sprintf(" (met in %d of %d rounds)", passed, len(rounds))
	}
	switch {
	case passed == len(rounds):
		return value, Cell{Text: "PASS" + count, Class: Good}
	case passed < len(values):
		return value, Cell{Text: "MISSED" + count, Class: Bad}
	}
	return value, Cell{Text: "NOT JUDGED" + count + ": " + reason, Class: Bad}
}

// Judged is an objective and what was measured.
func Judged(s bench.SLO) string {
	if s.Reason != "" {
		return s.Text + ": " + s.Reason
	}
	return s.Text + ": " + units.AtLeast(units.In(s.Unit, s.Value), s.AtLeast)
}
