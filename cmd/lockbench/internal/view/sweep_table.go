package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// sweep shows how the figures grow, on a page, and a line for each setting and implementation. A sweep of rates with objectives
// shows which of them each rate met, and the highest rate in a row.
func (b *Blocks) sweep(doc result.Document, traits map[string]Trait) {
	b.growth(doc)
	if doc.Sweep.Highest != nil {
		b.Line("up from the lowest rate: %d runs each, of at least %s, and most decide; --workers are the most operations in flight", result.RateRuns, doc.Config.Duration)
		for _, h := range doc.Sweep.Highest {
			b.Line("")
			b.Table(ratesTable(doc, h))
			b.Line("%s", Highest(h))
		}
		return
	}
	b.Line("rounds: %d of %s each, all settings in turn; the figures are medians\n", doc.Config.Rounds, doc.Config.Duration)
	b.Table(pointsTable(doc))
	b.failuresMean(doc)
	b.handovers(traits, doc.Results...)
}

// swept returns the figures of a sweep. What is offered is said of an open loop only.
func swept(doc result.Document) []string {
	if slices.ContainsFunc(doc.Results, func(r *bench.Result) bool { return r.Latency[bench.ResponseTime] != nil }) {
		return result.Swept
	}
	return result.Swept[1:]
}

// pointsTable returns the table of all settings. A figure that no run has is -.
func pointsTable(doc result.Document) Table {
	points := doc.Sweep.Points
	t := Table{Texts: len(doc.Sweep.Params) + 1, Remarks: 1, Rows: make([][]Cell, len(points))}
	for _, param := range doc.Sweep.Params {
		t.column(param.Name, func(i int) string { return points[i].Setting[param.Name] })
	}
	t.column("impl", func(i int) string { return points[i].Impl })
	t.figures(doc, "", func(i int) []*bench.Result { return points[i].Results.Of(doc.Results) }, swept(doc)...)
	t.column("", func(i int) string { return pointRemark(doc, points[i]) })
	return t
}

// pointRemark writes the doubts about the figures of a setting.
func pointRemark(doc result.Document, p result.SweepPoint) string {
	if !p.Valid && doc.Config.Target != result.Embedded { // runs on embedded masters are never valid
		return "not valid"
	}
	var missed []string
	for _, j := range judged(p.Results.Of(doc.Results)) {
		if j.passed < j.rounds {
			missed = append(missed, j.Text)
		}
	}
	return either(missed != nil, "missed ", "") + strings.Join(missed, "; ")
}

// growth charts the figures of a sweep over its param.
func (b *Blocks) growth(doc result.Document) {
	if len(doc.Sweep.Params) != 1 {
		return
	}
	axis := doc.Sweep.Params[0]
	at := func(p result.SweepPoint) float64 { return place(axis, p.Setting[axis.Name]) }
	points := result.Where(doc.Sweep.Points, func(p result.SweepPoint) bool { return !math.IsNaN(at(p)) })
	slices.SortStableFunc(points, func(a, b result.SweepPoint) int { return cmp.Compare(at(a), at(b)) })
	if len(points) == 0 || at(points[0]) == at(points[len(points)-1]) {
		return
	}
	first, last := at(points[0]), at(points[len(points)-1])
	x := Axis{Label: axis.Name, Log: first > 0 && last >= 10*first, Text: units.Number[float64]}
	if axis.Unit == bench.UnitNs {
		x.Text = units.Duration
	}
	var all []Chart
	for _, f := range shown(doc, swept(doc)) {
		c := Chart{Title: label(doc, f), X: x, Y: map[string]Axis{bench.UnitNs: durations, bench.UnitShare: shares, bench.UnitCount: counts}[f.Unit]}
		for i, impl := range doc.Config.Impls {
			line := Series{Name: impl, Color: i, Dots: true}
			for _, p := range points {
				if v, has := f.Median(p.Results.Of(doc.Results)); p.Impl == impl && has {
					line.X, line.Y = append(line.X, at(p)), append(line.Y, v)
				}
			}
			c.Series = append(c.Series, line)
		}
		all = append(all, c)
	}
	b.charts(all...)
}

// place returns the place of a value on the axis; NaN if it is no number. A sweep that finds the highest
// rate has numbers that are no values of the param.
func place(p result.SweepParam, text string) float64 {
	for _, v := range p.Values {
		if v.Text == text && v.Number != nil {
			return *v.Number
		}
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return v
	}
	return math.NaN()
}

// ratesTable shows which objectives each rate of a sweep met.
func ratesTable(doc result.Document, h result.HighestRate) Table {
	t := Table{Heads: append(append([]string{"rate/s"}, doc.Config.SLO...), h.Impl), Remarks: 1}
	for _, tried := range h.Rates {
		row := cells(units.In(bench.UnitCount, tried.RatePerS))
		for _, j := range judged(tried.Results.Of(doc.Results)) {
			verdict, class := "not judged", Bad
			switch {
			case 2*j.passed > j.rounds:
				verdict, class = "met", Good
			case 2*j.missed > j.rounds:
				verdict = "missed"
			}
			row = append(row, Cell{Text: units.Median(j.Unit, j.values) + " " + verdict, Class: class})
		}
		for len(row) <= len(doc.Config.SLO) {
			row = append(row, Cell{Text: units.None})
		}
		t.Rows = append(t.Rows, append(row, rateCell(tried, tried.Results.Of(doc.Results))))
	}
	return t
}

// rateCell writes the outcome of a rate, and what besides the objectives speaks against its runs.
func rateCell(t result.RateTried, results []*bench.Result) Cell {
	text := fmt.Sprintf("%s in %d of %d runs", t.Outcome, t.Votes(t.Outcome), len(t.Runs))
	switch t.Outcome {
	case "":
		return Cell{Text: "interrupted"}
	case result.RateMet:
		return Cell{Text: text, Class: Good}
	case result.RateTooFew:
		return Cell{Text: string(t.Outcome) + "; a longer --duration allows more", Class: Bad}
	}
	var against []string
	for _, r := range results {
		for _, reason := range r.Valid.But(result.ReasonEmbedded, bench.ReasonFew).Reasons {
			against = append(against, string(reason.Kind))
		}
		if t.Outcome == result.RateSpoiled && result.Stalled(r) {
			against = append(against, "the machine stalled")
		}
	}
	if slices.Sort(against); len(against) > 0 {
		text += ": " + strings.Join(slices.Compact(against), "; ")
	}
	return Cell{Text: text, Class: Bad}
}

// Highest writes what a sweep of rates found in a sentence.
func Highest(h result.HighestRate) string {
	_, next := h.Edge()
	does := map[result.Outcome]string{
		"": "was not decided on", result.RateMissed: "missed", result.RateSpoiled: "was spoiled by the machine", result.RateTooFew: "had too few operations",
	}
	if h.RatePerS == 0 {
		return fmt.Sprintf("%s: no rate in a row met all objectives: the lowest, %s, %s", h.Impl, units.Rate(next.RatePerS), does[next.Outcome])
	}
	row, open := " in a row", func(t result.RateTried) bool { return t.RatePerS < h.RatePerS && t.Outcome != result.RateMet }
	if i := slices.IndexFunc(h.Rates, open); i >= 0 {
		row = fmt.Sprintf(", although %s %s,", units.Rate(h.Rates[i].RatePerS), does[h.Rates[i].Outcome])
	}
	above := either(next.RatePerS == 0, "no higher one was tried", units.Rate(next.RatePerS)+" "+does[next.Outcome])
	return fmt.Sprintf("%s: %s is the highest rate%s that met all objectives; %s", h.Impl, units.Rate(h.RatePerS), row, above)
}
