package view

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// sweep shows a line for each setting and implementation, and on a page how the figures grow.
func (b *Blocks) sweep(doc result.Document) {
	if doc.Sweep.Highest != nil {
		b.highestRates(doc)
		return
	}
	b.Line("rounds: %d of %s each, all settings in turn; the figures are medians\n", doc.Config.Rounds, doc.Config.Duration)
	b.Table(pointsTable(doc))
	b.failuresMean(doc)
	b.handovers(doc.Results...)
	b.growth(doc)
}

// swept returns the figures of a sweep. The first one is for an open loop only.
func swept(doc result.Document) []result.Figure {
	names := []string{"offered_per_s", "throughput", "headline.p50", "headline.p99", failures, "handover.p50", "cpu_ns_per_op"}
	if !slices.ContainsFunc(doc.Results, func(r *bench.Result) bool { return r.Latency[bench.ResponseTime] != nil }) {
		names = names[1:]
	}
	return shown(doc, names)
}

// pointsTable returns the table of all settings. A figure that no run has is -.
func pointsTable(doc result.Document) Table {
	t := Table{Texts: len(doc.Sweep.Params) + 1, Remarks: 1}
	for _, p := range doc.Sweep.Params {
		t.Heads = append(t.Heads, p.Name)
	}
	t.Heads = append(append(append(t.Heads, "impl"), labels(doc, swept(doc))...), "")
	for _, p := range doc.Sweep.Points {
		var row []string
		for _, param := range doc.Sweep.Params {
			row = append(row, p.Setting[param.Name])
		}
		results := p.Of(doc.Results)
		row = append(append(row, p.Impl), medianTexts(swept(doc), results)...)
		t.Rows = append(t.Rows, cells(append(row, pointRemark(doc, p, results))...))
	}
	return t
}

// pointRemark writes the doubts about the figures of a setting.
func pointRemark(doc result.Document, p result.SweepPoint, results []*bench.Result) string {
	if !p.Valid && doc.Config.Target != masters.Embedded { // runs on embedded masters are never valid
		return "not valid"
	}
	var missed []string
	for _, r := range results {
		for _, s := range r.SLO {
			if !s.Pass && !slices.Contains(missed, s.Text) {
				missed = append(missed, s.Text)
			}
		}
	}
	if len(missed) == 0 {
		return ""
	}
	return "missed " + strings.Join(missed, "; ")
}

// growth charts the figures of a sweep over its param.
func (b *Blocks) growth(doc result.Document) {
	if doc.Sweep == nil || len(doc.Sweep.Params) != 1 {
		return
	}
	axis := doc.Sweep.Params[0]
	at := func(p result.SweepPoint) float64 { return place(axis, p.Setting[axis.Name]) }
	points := slices.DeleteFunc(slices.Clone(doc.Sweep.Points), func(p result.SweepPoint) bool { return math.IsNaN(at(p)) })
	if len(points) == 0 {
		return
	}
	slices.SortStableFunc(points, func(a, b result.SweepPoint) int { return cmp.Compare(at(a), at(b)) })
	first, last := at(points[0]), at(points[len(points)-1])
	if first == last {
		return
	}
	x := Axis{Label: axis.Name, Log: first > 0 && last >= 10*first, Text: units.Number[float64]}
	if axis.Unit == bench.UnitNs {
		x.Text = units.Duration
	}
	titles := labels(doc, swept(doc))
	for n, f := range swept(doc) {
		l := Lines{Title: titles[n], X: x, Y: counts}
		switch f.Unit {
		case bench.UnitNs:
			l.Y = Axis{Text: units.Duration, Log: true}
		case bench.UnitShare:
			l.Y = Axis{Text: units.Share}
		}
		for i, impl := range doc.Config.Impls {
			line := Series{Name: impl, Color: i, Dots: true}
			for _, p := range points {
				if v, has := f.Median(p.Of(doc.Results)); p.Impl == impl && has {
					line.X, line.Y = append(line.X, at(p)), append(line.Y, v)
				}
			}
			l.Series = append(l.Series, line)
		}
		b.chart(l)
	}
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
