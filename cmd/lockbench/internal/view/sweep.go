package view

import (
	"math"
	"slices"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/cmd/lockbench/internal/units"
)

// sweep is a line for each setting and implementation, and how the figures grow; or,
// after a search of the capacity, its steps and its answer.
func (b *Blocks) sweep(doc result.Document, caveats map[string]string) {
	b.header(doc)
	results := doc.Results
	if doc.Kind() == result.Capacity {
		for _, c := range doc.Capacity {
			b.capacity(c)
		}
		results = slices.DeleteFunc(slices.Clone(results), func(r *bench.Result) bool {
			return r.Safety.Overlaps == 0 && len(r.ErrorSamples) == 0 // the steps say the rest
		})
	} else {
		b.Line("rounds: %d of %s each, all settings in turn; the figures are medians\n", doc.Config.Rounds, doc.Config.Duration)
		b.Table(pointsTable(doc))
		if t := growthTable(doc); len(t.Rows) > 0 {
			b.Line("\nhow it grows; a full bar is the highest of its column")
			b.Table(t)
		}
	}
	b.Line("")
	b.warnings(results)
	b.caveats(doc.Config.Impls, caveats)
}

// pointsTable is every setting; a figure that no run has is -.
func pointsTable(doc result.Document) Table {
	has := func(f bench.Figure) bool { _, ok := f.Median(doc.Results); return ok }
	shown := []bench.Figure{bench.MustFigure("throughput"), bench.Headline.P("50"), bench.Headline.P("99")}
	if has(bench.MustFigure("response.p50")) {
		shown = slices.Insert(shown, 0, bench.MustFigure("offered_per_s"))
	}
	if handover := bench.MustFigure("handover.p50"); has(handover) {
		shown = append(shown, handover)
	}
	shown = append(shown, bench.MustFigure("cpu_ns_per_op"))

	var t Table
	for _, p := range doc.Sweep.Params {
		t.Columns = append(t.Columns, Column{Name: p.Name, Left: true})
	}
	t.Columns = append(append(append(t.Columns, Column{Name: "impl", Left: true}), figureColumns(doc, shown)...), Column{Left: true})
	for _, p := range doc.Sweep.Points {
		var row []Cell
		for _, param := range doc.Sweep.Params {
			row = append(row, words(p.Setting[param.Name]))
		}
		row = append(row, words(p.Impl))
		results := make([]*bench.Result, len(p.Results))
		for i, at := range p.Results {
			results[i] = doc.Results[at]
		}
		for _, f := range shown {
			row = append(row, medianCell(f, results))
		}
		t.Rows = append(t.Rows, append(row, words(pointRemark(doc, p, results))))
	}
	return t
}

// pointRemark is what speaks against the figures of a setting.
func pointRemark(doc result.Document, p bench.SweepPoint, results []*bench.Result) (text string) {
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

// growthTable draws throughput and latency as bars, each against the highest of all.
func growthTable(doc result.Document) (t Table) {
	var throughput, p99 float64
	for _, p := range doc.Sweep.Points {
		throughput, p99 = max(throughput, p.ThroughputPerS), max(p99, p.P99Ns)
	}
	if throughput == 0 {
		return t
	}
	t = Table{Columns: []Column{{Left: true}, {Name: "cycles/s", Left: true}, {Name: "p99", Left: true}}}
	for _, impl := range doc.Config.Impls {
		for _, p := range doc.Sweep.Points {
			if p.Impl == impl {
				t.Rows = append(t.Rows, []Cell{words(result.Name(p.Impl, p.Setting)), {Bar: p.ThroughputPerS / throughput}, {Bar: p.P99Ns / max(p99, 1)}})
			}
		}
	}
	return t
}

// growth is how the figures of a sweep change with its first param; each value of the
// second has curves of its own.
func growth(doc result.Document) Section {
	s := Section{ID: "sweep", Title: "How it grows", Note: "Figures are medians over the rounds of a setting."}
	if doc.Sweep == nil || len(doc.Sweep.Params) == 0 {
		return s
	}
	if doc.Kind() == result.Sweep { // the steps of a search stand with its answer
		s.Tables = []Table{pointsTable(doc)}
	}
	axis := doc.Sweep.Params[0]
	xs, numbers := places(axis, doc.Sweep.Points)
	if len(xs) < 2 {
		return s
	}
	x := Axis{Label: axis.Name, Log: xs[0] > 0 && xs[len(xs)-1] >= 10*xs[0], Text: units.Number[float64]}
	if axis.Unit == bench.UnitNs {
		x.Text = units.Duration
	}
	draw := func(title string, y Axis, of func(bench.SweepPoint) float64) Lines {
		l := Lines{Title: title, X: x, Y: y, At: xs}
		for _, p := range doc.Sweep.Points {
			name := curveName(doc, p)
			i := slices.IndexFunc(l.Series, func(s Series) bool { return s.Name == name })
			if i < 0 {
				i = len(l.Series)
				l.Series = append(l.Series, Series{Name: name, Color: i, Dash: i >= Colors, Dots: true, Y: nans(len(xs))})
			}
			if at, ok := numbers[p.Setting[axis.Name]]; ok && of(p) > 0 {
				l.Series[i].Y[slices.Index(xs, at)] = of(p)
			}
		}
		return l
	}
	rate, ns := Axis{Text: units.Number[float64]}, Axis{Text: units.Duration, Log: true}
	throughput := draw("cycles a second", rate, func(p bench.SweepPoint) float64 { return p.ThroughputPerS })
	if axis.Name == "rate" {
		throughput.Series = append(throughput.Series, Series{Name: "offered", Color: len(throughput.Series), Dash: true, Y: xs})
	}
	charts := []Chart{
		throughput,
		draw(headlineName(doc)+" p99", ns, func(p bench.SweepPoint) float64 { return p.P99Ns }),
		draw(headlineName(doc)+" p50", ns, func(p bench.SweepPoint) float64 { return p.P50Ns }),
		draw("cpu per cycle", ns, func(p bench.SweepPoint) float64 { return p.CPUNsPerOp }),
	}
	if slices.ContainsFunc(doc.Sweep.Points, func(p bench.SweepPoint) bool { return p.HandoverP50Ns > 0 }) {
		handover := draw("hand-over p50", ns, func(p bench.SweepPoint) float64 { return p.HandoverP50Ns })
		if y := polled(doc, axis.Name, xs); y != nil {
			handover.Series = append(handover.Series, Series{Name: "computed for Redsync (F10)", Color: len(handover.Series), Dash: true, Y: y})
			s.Note += " The computed hand-over is that of callers who look again after 50 to 250 ms, none of whom has just had the lock."
		}
		charts = append(charts, handover)
	}
	s.Panels = []Panel{{Charts: charts}}
	return s
}

// polled is the median hand-over of Redsync's waiters, who all want one name, by how many
// they are; nil where they are not what the sweep is about.
func polled(doc result.Document, axis string, workers []float64) []float64 {
	redsync := slices.ContainsFunc(doc.Config.Impls, func(impl string) bool { return strings.HasPrefix(impl, "redsync-") })
	if axis != "workers" || !redsync || doc.Config.Keys != 1 || doc.Config.Dist == (bench.Dist{}) {
		return nil
	}
	y := nans(len(workers))
	for i, n := range workers {
		if waiting := int(n)*max(doc.Config.Procs, 1) - 1; waiting > 0 {
			y[i] = sizing.RedsyncPolling.GapQuantile(waiting, 0.5)
		}
	}
	return y
}

// places is where the settings stand on the axis, ascending, and the number of each
// text. A search names no values beforehand; its rates are numbers.
func places(p bench.SweepParam, points []bench.SweepPoint) (xs []float64, numbers map[string]float64) {
	numbers = map[string]float64{}
	for _, v := range p.Values {
		if v.Number != nil {
			numbers[v.Text] = *v.Number
		}
	}
	for _, point := range points {
		if x, ok := numbers[point.Setting[p.Name]]; ok && !slices.Contains(xs, x) {
			xs = append(xs, x)
		}
	}
	slices.Sort(xs)
	return xs, numbers
}

// curveName is what tells a curve from the others.
func curveName(doc result.Document, p bench.SweepPoint) string {
	var parts []string
	if len(doc.Config.Impls) > 1 {
		parts = append(parts, p.Impl)
	}
	for _, param := range doc.Sweep.Params[1:] {
		parts = append(parts, param.Name+"="+p.Setting[param.Name])
	}
	if parts == nil {
		return p.Impl
	}
	return strings.Join(parts, " ")
}

func nans(n int) []float64 {
	ys := make([]float64, n)
	for i := range ys {
		ys[i] = math.NaN()
	}
	return ys
}
