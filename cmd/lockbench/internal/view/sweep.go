package view

import (
	"math"
	"slices"
	"strconv"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// sweep is a line for each setting and implementation, and on a page how the figures grow.
func (b *Blocks) sweep(doc result.Document) {
	b.Line("rounds: %d of %s each, all settings in turn; the figures are medians\n", doc.Config.Rounds, doc.Config.Duration)
	b.Table(pointsTable(doc))
	b.growth(doc)
}

// swept is the figures of a sweep, the first one in an open loop.
func swept(doc result.Document) []result.Figure {
	names := []string{"offered_per_s", "throughput", "headline.p50", "headline.p99", "handover.p50", "cpu_ns_per_op"}
	if !slices.ContainsFunc(doc.Results, func(r *bench.Result) bool { return r.Latency.Response != nil }) {
		names = names[1:]
	}
	return shown(doc, names)
}

// pointsTable is every setting; a figure that no run has is -.
func pointsTable(doc result.Document) Table {
	var t Table
	for _, p := range doc.Sweep.Params {
		t.Columns = append(t.Columns, Column{Name: p.Name, Left: true})
	}
	t.Columns = append(append(append(t.Columns, Column{Name: "impl", Left: true}), figureColumns(doc, swept(doc))...), Column{Left: true})
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

// pointRemark is what speaks against the figures of a setting.
func pointRemark(doc result.Document, p result.SweepPoint, results []*bench.Result) (text string) {
	if !p.Valid && doc.Config.Target != "embedded" { // of which none is
		return "not valid"
	}
	for _, r := range results {
		if missed := result.Missed(r); missed != "" {
			text = "missed " + missed
		}
	}
	return text
}

// growth is how the figures of a sweep change with its param.
func (b *Blocks) growth(doc result.Document) {
	if doc.Sweep == nil || len(doc.Sweep.Params) != 1 {
		return
	}
	axis := doc.Sweep.Params[0]
	var xs []float64
	for _, p := range doc.Sweep.Points {
		if at, ok := place(axis, p.Setting[axis.Name]); ok {
			xs = append(xs, at)
		}
	}
	slices.Sort(xs)
	if xs = slices.Compact(xs); len(xs) < 2 {
		return
	}
	x := Axis{Label: axis.Name, Log: xs[0] > 0 && xs[len(xs)-1] >= 10*xs[0], Text: units.Number[float64]}
	if axis.Unit == bench.UnitNs {
		x.Text = units.Duration
	}
	titles := figureColumns(doc, swept(doc))
	for n, f := range swept(doc) {
		l := Lines{Title: titles[n].Name, X: x, Y: counts, At: xs}
		if f.Unit == bench.UnitNs {
			l.Y = Axis{Text: units.Duration, Log: true}
		}
		for i, impl := range doc.Config.Impls {
			line := Series{Name: impl, Color: i, Dots: true, Y: slices.Repeat([]float64{math.NaN()}, len(xs))}
			for _, p := range doc.Sweep.Points {
				at, ok := place(axis, p.Setting[axis.Name])
				if v, has := f.Median(p.Of(doc.Results)); p.Impl == impl && ok && has {
					line.Y[slices.Index(xs, at)] = v
				}
			}
			l.Series = append(l.Series, line)
		}
		b.chart(l)
	}
}

// place is where a value stands on the axis, if it is a number. A search names no values
// beforehand; its rates are numbers.
func place(p result.SweepParam, text string) (float64, bool) {
	for _, v := range p.Values {
		if v.Text == text && v.Number != nil {
			return *v.Number, true
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && len(p.Values) == 0
}
