package view

import (
	"fmt"
	"math"

	"muxlock/cmd/lockbench/internal/advice"
	"muxlock/cmd/lockbench/internal/units"
)

// advice is how to set the engine, and what that rests on.
func (b *Blocks) advice(a *advice.Advice) {
	if a.Missed != "" {
		b.bad("BEYOND --rto: %s", a.Missed)
	}
	b.Line("%s on %d masters: at most %s of the acquisitions may lose validity, a crashed holder may block for %s",
		a.Impl, a.Masters, units.Probability(a.Ask.Eps), ns(a.Ask.RTO))
	if words := a.InWords(); words != "" {
		b.Line("%s", words)
	}
	b.Line("")
	b.Table(inputsTable(a))
	for _, text := range a.TTL.Extrapolated {
		b.Line("  extrapolated  %s", text)
	}
	b.Line("  pause budgets %s (--pause-...)", a.Ask.Budgets)
	between := fmt.Sprintf("at least %s (%s), at most %s", ns(a.TTL.Min), apart(a.Spread.TTLMin), ns(a.TTL.Max))
	if a.TTL.Empty {
		b.Line("\nadvised: no TTL without renewal, %s; renewed %s (%s)", between, ns(a.Config.TTL), apart(a.Spread.TTL))
	} else {
		b.Line("\nadvised: TTL %s, chosen %s (%s)", between, ns(a.Config.TTL), apart(a.Spread.TTL))
	}
	if w := a.Spread.Width(); w >= advice.Narrow {
		b.Line("  the ends of an interval are %.1f times apart: a longer or quieter measurement narrows it", w)
	}
	b.Table(settingsTable(a))
	b.Line("")
	b.Table(expectedTable(a))
	b.Line("")
	b.Table(lossesTable(a))
	b.chart(lossesCurve(a))
	b.Line("")
	b.Table(outagesTable(a))
	if a.Check != nil {
		b.Line("  checked: %s", checked(a.Check))
	}
	b.Line("")
	b.Table(sensitivityTable(a))
	if a.Plan != nil {
		b.plan(a.Plan, a.Ask)
	}
	if len(a.Warnings) > 0 {
		b.Line("")
	}
	for _, text := range a.Warnings {
		b.bad("WARNING %s", text)
	}
	*b = append(*b, Block{Line: "\n" + a.Snippet + "\n", Code: true})
	b.browser(Blocks{{Line: "try it: " + a.Try}})
	b.hint("try it:\n  %s\njudge it: keep the advice with -o json --out advice.json, then lockbench run --check advice.json\n", a.Try)
	b.Line("%s", a.Caveat)
}

func settingsTable(a *advice.Advice) Table {
	t := Table{Columns: []Column{{Name: "setting", Left: true}, {Name: "value"}, {Name: "90 %", Left: true}, {Name: "formula", Left: true}, {Name: "why", Left: true}}}
	for _, s := range a.Settings {
		t.Rows = append(t.Rows, cells(s.Name, s.Value, s.Spread, s.Formula, s.Why))
	}
	return t
}

// apart is an interval.
func apart(of [2]int64) string { return fmt.Sprintf("%s to %s, 90 %%", ns(of[0]), ns(of[1])) }

// lossesTable is the trade between how long a crashed holder blocks others and how often
// validity is lost.
func lossesTable(a *advice.Advice) Table {
	t := Table{
		Caption: "Without renewal, by TTL; ~ is beyond what was measured, where the pause budgets count",
		Columns: columns(1, "TTL", "blocks others for", "lost while held", "from, 90 %", "to"),
	}
	for _, l := range a.Losses {
		p := units.Probability(l.P)
		if l.Beyond {
			p = "~" + p
		}
		t.Rows = append(t.Rows, cells(ns(l.TTL), ns(l.RTO), p, units.Probability(l.Lo), units.Probability(l.Hi)))
	}
	return t
}

// lossesCurve is lossesTable for a browser, with the lease that is advised.
func lossesCurve(a *advice.Advice) Lines {
	l := Lines{
		Title:  "validity lost while held, without renewal",
		X:      Axis{Label: "how long a crashed holder blocks others", Log: true, Text: units.Duration},
		Y:      Axis{Log: true, Text: units.Probability},
		Series: []Series{{Name: "computed", Dots: true}, {Name: "90 %, from", Dash: true}, {Name: "to", Dash: true}},
	}
	for _, loss := range a.Losses {
		l.At = append(l.At, float64(loss.RTO))
		for i, p := range []float64{loss.P, loss.Lo, loss.Hi} {
			if p < leastProbability {
				p = math.NaN()
			}
			l.Series[i].Y = append(l.Series[i].Y, p)
		}
		if loss.TTL == int64(a.Config.TTL) {
			l.Bands = []Band{{From: float64(loss.RTO), To: float64(loss.RTO), Label: "advised"}}
		}
	}
	return l
}

// leastProbability is drawn; less is said to be less.
const leastProbability = 1e-12

// outagesTable is what a renewed lease bears.
func outagesTable(a *advice.Advice) Table {
	t := Table{Caption: "With KeepAlive, by TTL", Columns: columns(1, "TTL", "blocks others for", "survives an outage of", "lost to the longest seen")}
	for _, o := range a.Outages {
		t.Rows = append(t.Rows, cells(ns(o.TTL), ns(o.RTO), ns(o.Outage), units.Probability(o.Lost)))
	}
	return t
}

func expectedTable(a *advice.Advice) Table {
	t := Table{
		Caption: "To be expected; ~ is extrapolated, the interval is 95 % by the samples alone",
		Columns: append(columns(1, "", "probability", "from", "to", "samples"), Column{Name: "formula", Left: true}),
	}
	for _, c := range a.Expected {
		p, from, to := units.Probability(c.P), none, none
		if c.Extrapolated {
			p = "~" + p
		}
		if c.N > 0 {
			from, to = units.Probability(c.Lo), units.Probability(c.Hi)
		}
		t.Rows = append(t.Rows, cells(c.Name, p, from, to, known(c.N, units.Number(c.N)), c.Formula))
	}
	return t
}

func inputsTable(a *advice.Advice) Table {
	t := Table{Caption: "Measured", Columns: append(columns(1, "", "p50", "p99", "max", "n"), Column{Name: "from", Left: true})}
	for _, in := range a.Inputs {
		t.Rows = append(t.Rows, cells(in.Name, ns(in.P50), ns(in.P99), ns(in.Max), known(in.Count, units.Number(in.Count)), in.From))
	}
	return t
}

func sensitivityTable(a *advice.Advice) Table {
	t := Table{Caption: "The shortest TTL, if", Columns: append(columns(1, "", "shortest TTL", "changes by"), Column{Name: "remark", Left: true})}
	for _, c := range a.Sensitivity {
		sign := ""
		if c.ByNs < 0 {
			sign = "-"
		}
		t.Rows = append(t.Rows, cells(c.What, ns(c.MinNs), sign+ns(max(c.ByNs, -c.ByNs)), c.Remark))
	}
	return t
}

// checked is how the measured run itself stood to what was predicted for it.
func checked(c *advice.Check) string {
	return fmt.Sprintf("this run, with TTL %s, lost validity %s times in %s (%s to %s); predicted %s", ns(c.TTL),
		units.Number(c.Lost), units.Number(c.Acquired), units.Probability(c.Lo), units.Probability(c.Hi), units.Probability(c.Predicted))
}
