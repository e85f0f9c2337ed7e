package view

import (
	"fmt"

	"muxlock/cmd/lockbench/internal/advice"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// advice is an advice for a terminal.
func (b *Blocks) advice(a *advice.Advice) {
	b.Line("%s on %d masters: at most %s of the acquisitions may lose validity, a crashed holder may block for %s",
		a.Impl, a.Masters, units.Probability(a.Ask.Eps), units.Duration(float64(a.Ask.RTO)))
	if words := a.InWords(); words != "" {
		b.Line("%s", words)
	}
	b.Line("")
	b.Table(inputsTable(a))
	for _, text := range a.TTL.Extrapolated {
		b.Line("  extrapolated  %s", text)
	}
	between := fmt.Sprintf("%s to %s", units.Duration(float64(a.TTL.Min)), units.Duration(float64(a.TTL.Max)))
	if a.TTL.Empty {
		b.Line("\nadvised: no TTL from %s; renew", between)
	} else {
		b.Line("\nadvised: TTL from %s, chosen %s", between, units.Duration(float64(a.Config.TTL)))
	}
	b.Table(settingsTable(a))
	b.Line("")
	b.Table(expectedTable(a))
	if a.Check != nil {
		b.Line("  checked: %s", checked(a.Check))
	}
	b.Line("")
	b.Table(sensitivityTable(a))
	if len(a.Warnings) > 0 {
		b.Line("")
	}
	for _, text := range a.Warnings {
		b.Line("WARNING %s", text)
	}
	*b = append(*b, Block{Line: "\n" + a.Snippet + "\n", Code: true})
	b.hint("try it: %s\njudge it: keep the advice with -o json --out advice.json, then lockbench run --check advice.json\n", a.Try)
	b.Line("%s", a.Caveat)
}

// advised is what the measurement says about how to set the engine.
func advised(doc result.Document) Section {
	s := Section{ID: "advice", Title: "Advice"}
	a := doc.Advice
	if doc.Kind() != result.Advise {
		return s
	}
	s.Note = fmt.Sprintf("For %s on %d masters, so that at most %s of the acquisitions lose validity and a crashed holder blocks for %s at most. %s",
		a.Impl, a.Masters, units.Digits(a.Ask.Eps), a.Ask.RTO, a.Caveat)
	s.Tables = []Table{settingsTable(a), expectedTable(a), inputsTable(a), sensitivityTable(a), remarksTable(a)}
	s.Code = a.Snippet
	return s
}

func settingsTable(a *advice.Advice) Table {
	t := Table{Columns: []Column{{Name: "setting", Left: true}, {Name: "value"}, {Name: "formula", Left: true}, {Name: "why", Left: true}}}
	for _, s := range a.Settings {
		t.Rows = append(t.Rows, []Cell{words(s.Name), words(s.Value), words(s.Formula), words(s.Why)})
	}
	return t
}

func expectedTable(a *advice.Advice) Table {
	t := Table{
		Caption: "To be expected; ~ is extrapolated, the interval is 95 % by the samples alone",
		Columns: append(columns("", "probability", "from", "to", "samples"), Column{Name: "formula", Left: true}),
	}
	for _, c := range a.Expected {
		row := []Cell{words(c.Name), chance(c.P), none, none, none, words(c.Formula)}
		if c.Extrapolated {
			row[1].Text, row[1].Class = "~"+row[1].Text, Faint
			row[1].Title += ", extrapolated: less than the samples can show"
		}
		if c.N > 0 {
			row[2], row[3], row[4] = chance(c.Lo), chance(c.Hi), count(c.N)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// chance is a cell of a probability, which may be very small.
func chance(p float64) Cell { return Cell{Text: units.Probability(p), Title: plain(p)} }

func inputsTable(a *advice.Advice) Table {
	t := Table{Caption: "Measured", Columns: append(columns("", "p50", "p99", "max", "n"), Column{Name: "from", Left: true})}
	for _, in := range a.Inputs {
		n := none
		if in.Count > 0 {
			n = count(in.Count)
		}
		t.Rows = append(t.Rows, []Cell{words(in.Name), ns(in.P50), ns(in.P99), ns(in.Max), n, words(in.From)})
	}
	return t
}

func sensitivityTable(a *advice.Advice) Table {
	t := Table{Caption: "The shortest TTL, if", Columns: append(columns("", "shortest TTL", "changes by"), Column{Name: "remark", Left: true})}
	for _, c := range a.Sensitivity {
		t.Rows = append(t.Rows, []Cell{words(c.What), ns(c.MinNs), signed(c.ByNs), words(c.Remark)})
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
		pairs = append(pairs, "checked", checked(a.Check))
	}
	for _, w := range a.Warnings {
		pairs = append(pairs, "warning", w)
	}
	return facts(append(pairs, "to try it", a.Try)...)
}

// askedFor is what the advice is to serve, in a few words each.
func askedFor(doc result.Document) []string {
	a := doc.Advice
	hold := "hold as measured"
	if a.Ask.HoldText != "" {
		hold = "hold " + a.Ask.HoldText
	}
	parts := []string{workload(doc)[0], hold, "a crashed holder blocks for " + a.Ask.RTO.String() + " at most", "validity lost in at most " + units.Digits(a.Ask.Eps)}
	if a.Ask.Rate > 0 {
		parts = append(parts, units.Digits(a.Ask.Rate)+"/s of the busiest name")
	}
	return append(parts, "measured for "+doc.Config.Duration.String())
}

// advisedTiles is the answer in figures, before those of the measurement.
func advisedTiles(a *advice.Advice) []Tile {
	if a == nil {
		return nil
	}
	interval := units.Duration(float64(a.TTL.Min)) + " to " + units.Duration(float64(a.TTL.Max))
	note, between := "chosen", "safe for the holder, and for who waits for a crashed one"
	if a.TTL.Empty {
		note, between = "renewed: KeepAlive or Do", "none: the least is above the most"
	}
	ts := []Tile{
		{"TTL", words(a.Config.TTL.String()), note},
		{"TTL may be", words(interval), between},
		{"MasterTimeout", words(a.Config.MasterTimeout.String()), ""},
	}
	for _, s := range a.Settings {
		if s.Name == "longest hold" {
			ts = append(ts, Tile{s.Name, words(s.Value), "without renewal"})
		}
	}
	return ts
}

// checked is how the measured run itself stood to what was predicted for it.
func checked(c *advice.Check) string {
	return fmt.Sprintf("this run, with TTL %s, lost validity %s times in %s (%s to %s); predicted %s", units.Duration(float64(c.TTL)),
		units.Number(c.Lost), units.Number(c.Acquired), units.Probability(c.Lo), units.Probability(c.Hi), units.Probability(c.Predicted))
}
