package report

import (
	"fmt"

	"muxlock/cmd/lockbench/internal/advice"
	"muxlock/cmd/lockbench/internal/output"
)

// advised is what the measurement says about how to set the engine.
func advised(doc output.Document) Section {
	s := Section{ID: "advice", Title: "Advice"}
	a := doc.Advice
	if a == nil {
		return s
	}
	s.Note = fmt.Sprintf("For %s on %d masters, so that at most %s of the acquisitions lose validity and a crashed holder blocks for %s at most. %s",
		a.Impl, a.Masters, output.Digits(a.Ask.Eps), a.Ask.RTO, a.Caveat)
	s.Tables = []Table{settingsTable(a), expectedTable(a), inputsTable(a), sensitivityTable(a), remarksTable(a)}
	s.Code = a.Snippet
	return s
}

func settingsTable(a *advice.Advice) Table {
	t := Table{Columns: []Column{{"setting", true}, {"value", false}, {"formula", true}, {"why", true}}}
	for _, s := range a.Settings {
		t.Rows = append(t.Rows, []Cell{Text(s.Name), Text(s.Value), Text(s.Formula), Text(s.Why)})
	}
	return t
}

func expectedTable(a *advice.Advice) Table {
	t := Table{
		Caption: "To be expected; the interval is 95 % by the samples alone",
		Columns: []Column{{"", true}, {"probability", false}, {"from", false}, {"to", false}, {"samples", false}, {"formula", true}},
	}
	for _, c := range a.Expected {
		row := []Cell{Text(c.Name), chance(c.P), None(), None(), None(), Text(c.Formula)}
		if c.Extrapolated {
			row[1].Text, row[1].Class = "~"+row[1].Text, "faint"
			row[1].Title += ", extrapolated: less than the samples can show"
		}
		if c.N > 0 {
			row[2], row[3], row[4] = chance(c.Lo), chance(c.Hi), Count(c.N)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// chance is a cell of a probability, which may be very small.
func chance(p float64) Cell {
	c := Cell{Text: fmt.Sprintf("%.2g", p), Title: plain(p)}
	if p > 0 && p <= 1e-12 {
		c.Text = "<1e-12"
	}
	return c
}

func inputsTable(a *advice.Advice) Table {
	t := Table{Caption: "Measured", Columns: []Column{{"", true}, {"p50", false}, {"p99", false}, {"max", false}, {"n", false}, {"from", true}}}
	for _, in := range a.Inputs {
		n := None()
		if in.Count > 0 {
			n = Count(in.Count)
		}
		t.Rows = append(t.Rows, []Cell{Text(in.Name), Ns(float64(in.P50)), Ns(float64(in.P99)), Ns(float64(in.Max)), n, Text(in.From)})
	}
	return t
}

func sensitivityTable(a *advice.Advice) Table {
	t := Table{Caption: "The shortest TTL, if", Columns: []Column{{"", true}, {"shortest TTL", false}, {"changes by", false}, {"remark", true}}}
	for _, c := range a.Sensitivity {
		t.Rows = append(t.Rows, []Cell{Text(c.What), Ns(float64(c.MinNs)), signed(c.ByNs), Text(c.Remark)})
	}
	return t
}

// remarksTable is what stands beside the figures: how far they reach beyond what was
// seen, how the run itself stood to them, what speaks against them, and how to try them.
func remarksTable(a *advice.Advice) Table {
	var pairs []string
	for _, text := range a.TTL.Extrapolated {
		pairs = append(pairs, "extrapolated", text)
	}
	if a.Check != nil {
		pairs = append(pairs, "checked", output.Checked(a.Check))
	}
	for _, w := range a.Warnings {
		pairs = append(pairs, "warning", w)
	}
	return facts(append(pairs, "to try it", a.Try)...)
}

// askedFor is what the advice is to serve, in a few words each.
func askedFor(doc output.Document) []string {
	a := doc.Advice
	hold := "hold as measured"
	if a.Ask.HoldText != "" {
		hold = "hold " + a.Ask.HoldText
	}
	parts := []string{output.Workload(doc)[0], hold, "a crashed holder blocks for " + a.Ask.RTO.String() + " at most", "validity lost in at most " + output.Digits(a.Ask.Eps)}
	if a.Ask.Rate > 0 {
		parts = append(parts, output.Digits(a.Ask.Rate)+"/s of the busiest name")
	}
	return append(parts, "measured for "+doc.Config.Duration.String())
}

// advisedTiles is the answer in figures, before those of the measurement.
func advisedTiles(a *advice.Advice) []Tile {
	if a == nil {
		return nil
	}
	interval := output.Duration(float64(a.TTL.Min)) + " to " + output.Duration(float64(a.TTL.Max))
	note, between := "chosen", "safe for the holder, and for who waits for a crashed one"
	if a.TTL.Empty {
		note, between = "renewed: KeepAlive or Do", "none: the least is above the most"
	}
	ts := []Tile{
		{"TTL", Text(a.Config.TTL.String()), note},
		{"TTL may be", Text(interval), between},
		{"MasterTimeout", Text(a.Config.MasterTimeout.String()), ""},
	}
	for _, s := range a.Settings {
		if s.Name == "longest hold" {
			ts = append(ts, Tile{s.Name, Text(s.Value), "without renewal"})
		}
	}
	return ts
}
