package report

import (
	"math"
	"slices"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/chart"
	"muxlock/cmd/lockbench/internal/output"
	"muxlock/cmd/lockbench/internal/sizing"
)

// growth is how the figures of a sweep change with its first param; each value of the
// second has curves of its own.
func growth(doc output.Document) Section {
	s := Section{ID: "sweep", Title: "How it grows", Note: "Figures are medians over the rounds of a setting."}
	if doc.Sweep == nil || len(doc.Sweep.Params) == 0 {
		return s
	}
	axis := doc.Sweep.Params[0]
	xs, numbers := places(axis, doc.Sweep.Points)
	if len(xs) < 2 {
		return s
	}
	x := chart.Axis{Label: axis.Name, Log: xs[0] > 0 && xs[len(xs)-1] >= 10*xs[0], Text: output.Number}
	if axis.Unit == bench.UnitNs {
		x.Text = output.Duration
	}
	draw := func(title string, y chart.Axis, of func(bench.SweepPoint) float64) chart.Lines {
		l := chart.Lines{Title: title, X: x, Y: y, At: xs}
		for _, p := range doc.Sweep.Points {
			name := curveName(doc, p)
			i := slices.IndexFunc(l.Series, func(s chart.Series) bool { return s.Name == name })
			if i < 0 {
				i = len(l.Series)
				l.Series = append(l.Series, chart.Series{Name: name, Color: i, Dash: i >= chart.Colors, Dots: true, Y: nans(len(xs))})
			}
			if at, ok := numbers[p.Setting[axis.Name]]; ok && of(p) > 0 {
				l.Series[i].Y[slices.Index(xs, at)] = of(p)
			}
		}
		return l
	}
	rate, ns := chart.Axis{Text: output.Number}, chart.Axis{Text: output.Duration, Log: true}
	throughput := draw("cycles a second", rate, func(p bench.SweepPoint) float64 { return p.ThroughputPerS })
	if axis.Name == "rate" {
		throughput.Series = append(throughput.Series, chart.Series{Name: "offered", Color: len(throughput.Series), Dash: true, Y: xs})
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
			handover.Series = append(handover.Series, chart.Series{Name: "computed for Redsync (F10)", Color: len(handover.Series), Dash: true, Y: y})
			s.Note += " The computed hand-over is that of callers who look again after 50 to 250 ms, none of whom has just had the lock."
		}
		charts = append(charts, handover)
	}
	s.Panels = []Panel{{Charts: charts}}
	return s
}

// polled is the median hand-over of Redsync's waiters, who all want one name, by how many
// they are; nil where they are not what the sweep is about.
func polled(doc output.Document, axis string, workers []float64) []float64 {
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
func curveName(doc output.Document, p bench.SweepPoint) string {
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

// capacities is the answers of searches, with their steps.
func capacities(doc output.Document) Section {
	s := Section{ID: "capacity", Title: "Capacity", Note: "The highest rate at which every objective was met, by doubling, closing in and confirming."}
	for _, c := range doc.Capacity {
		t := Table{Caption: output.Answer(c), Columns: []Column{{Name: "rate/s"}, {Name: "cycles/s"}, {Name: "p99"}, {Left: true}}}
		for _, step := range c.Steps {
			t.Rows = append(t.Rows, []Cell{Figure(step.RatePerS), Figure(step.ThroughputPerS), known(float64(step.P99Ns), Ns(float64(step.P99Ns))), Text(output.Outcome(step) + ": " + step.Why)})
		}
		s.Tables = append(s.Tables, t)
	}
	return s
}
