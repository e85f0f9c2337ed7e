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
	t := Table{Words: true, Columns: make([]Column, 4)}
	if len(doc.Config.Impls) > 1 {
		t.Columns = make([]Column, 5)
	}
	for _, impl := range doc.Config.Impls {
		for _, text := range doc.Config.SLO {
			rounds := judged(doc.Results, impl, text)
			if len(rounds) == 0 {
				continue
			}
			row := []Cell{words("SLO")}
			if len(doc.Config.Impls) > 1 {
				row = append(row, words(impl))
			}
			value, verdict := stood(rounds)
			t.Rows = append(t.Rows, append(row, words(text), words(value), words(verdict)))
		}
	}
	b.table(t)
}

// judged is one objective in all rounds of an implementation.
func judged(results []*bench.Result, impl, text string) (rounds []bench.SLO) {
	for _, r := range results {
		for _, s := range r.SLO {
			if r.Impl == impl && s.Text == text {
				rounds = append(rounds, s)
			}
		}
	}
	return rounds
}

// stood is the measured value and the verdict; a round that missed says more than
// one that could not be judged.
func stood(rounds []bench.SLO) (value, verdict string) {
	var values []float64
	passed, reason := 0, ""
	for _, s := range rounds {
		if s.Reason != "" {
			reason = s.Reason
			continue
		}
		values = append(values, s.Value)
		if s.Pass {
			passed++
		}
	}
	value = "-"
	if len(values) > 0 {
		value = units.In(rounds[0].Unit, stats.Median(values))
	}
	count := ""
	if len(rounds) > 1 {
		count = fmt.Sprintf(" (met in %d of %d rounds)", passed, len(rounds))
	}
	switch {
	case passed == len(rounds):
		return value, "PASS" + count
	case passed < len(values):
		return value, "MISSED" + count
	}
	return value, "NOT JUDGED" + count + ": " + reason
}

// Judged is an objective and what was measured.
func Judged(s bench.SLO) string {
	if s.Reason != "" {
		return s.Text + ": " + s.Reason
	}
	return s.Text + ": " + units.In(s.Unit, s.Value)
}

// objectivesByRun is each SLO and how the runs stood to it.
func objectivesByRun(doc result.Document) Section {
	t := Table{Columns: []Column{{Name: "objective", Left: true}, {Name: "run", Left: true}, {Name: "measured"}, {Name: "limit"}, {Name: "verdict", Left: true}}}
	for _, r := range doc.Results {
		for _, o := range r.SLO {
			value, verdict := inUnit(o.Unit, o.Value), Cell{Text: "pass", Class: Good}
			if !o.Pass {
				verdict = Cell{Text: "MISSED", Class: Bad}
			}
			if o.Reason != "" {
				value, verdict.Text = none, "not judged: "+o.Reason
			}
			t.Rows = append(t.Rows, []Cell{words(o.Text), words(runName(doc, r)), value, inUnit(o.Unit, o.Limit), verdict})
		}
	}
	return Section{ID: "slo", Title: "Objectives", Tables: []Table{t}}
}
