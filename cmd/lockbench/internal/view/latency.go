package view

import (
	"math"
	"slices"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// latencies is a plot and the figures of each latency, of all implementations together.
func (b *Blocks) latencies(doc result.Document) {
	for _, t := range bench.Timings() {
		var curves []curve
		for i, impl := range doc.Config.Impls {
			if c := pooled(t, impl, i, result.Of(doc.Results, impl)...); c != nil {
				curves = append(curves, *c)
			}
		}
		if len(curves) > 0 {
			figures := percentiles(curves)
			b.heading(t.Label)
			b.chart(percentilePlot(t.Label+" by percentile", curves))
			b.browser(Blocks{{Table: &figures}})
		}
	}
}

// twice tells whether a timing is another one of that result under a second name: service
// is the acquire of an open loop, and each of the two is shown where its name says more.
func twice(t bench.Timing, r *bench.Result) bool {
	open := r.Latency.Response != nil
	return t.Name == "service" && !open || t.Name == "acquire" && open
}

// curve is one latency, by its name.
type curve struct {
	name    string
	color   int
	summary *bench.Summary
	all     *bench.Histogram // nil: only the percentiles of summary are known
}

// timingsOf is those of one run.
func timingsOf(r *bench.Result) (curves []curve) {
	for _, t := range bench.Timings() {
		if c := pooled(t, t.Label, len(curves), r); c != nil {
			curves = append(curves, *c)
		}
	}
	return curves
}

// pooled puts rounds together, which only histograms can be; of several rounds without
// them, and when there is nothing, it is nil.
func pooled(t bench.Timing, name string, color int, results ...*bench.Result) *curve {
	c := &curve{name: name, color: color, all: bench.NewHistogram()}
	parts := 0
	for _, r := range results {
		s := t.Of(r)
		if s == nil || s.Count == 0 || twice(t, r) {
			continue
		}
		parts, c.summary = parts+1, s
		if h, err := s.Histogram(); err != nil || h.Count() == 0 {
			c.all = nil
		} else if c.all != nil {
			c.all.Merge(h)
		}
	}
	switch {
	case parts == 0 || parts > 1 && c.all == nil:
		return nil
	case parts > 1:
		c.summary = c.all.Summary()
	}
	return c
}

// percentiles is the figures of latencies.
func percentiles(curves []curve) Table {
	t := Table{Columns: columns("")}
	for _, p := range units.Percentiles {
		t.Columns = append(t.Columns, Column{Name: "p" + p})
	}
	t.Columns = append(t.Columns, Column{Name: "max"}, Column{Name: "n"})
	for _, c := range curves {
		row := []string{c.name}
		for _, p := range units.Percentiles {
			row = append(row, units.Percentile(c.summary, p))
		}
		t.Rows = append(t.Rows, cells(append(row, ns(c.summary.Max), units.Number(c.summary.Count))...))
	}
	return t
}

// quantiles are those of units.Percentiles.
var quantiles = []float64{0.5, 0.9, 0.99, 0.999, 0.9999}

// stepsPerDecade is how many points of a percentile curve lie between 90 % and 99 %.
const stepsPerDecade = 24

// percentilePlot has 1/(1-p) on its axis, as plots of HdrHistogram have.
func percentilePlot(title string, curves []curve) Lines {
	most := int64(0)
	for _, c := range curves {
		most = max(most, c.summary.Count)
	}
	if most == 0 {
		return Lines{Title: title}
	}
	end := max(math.Log10(float64(most)), 1)
	var xs []float64
	for i := 1; float64(i) <= end*stepsPerDecade; i++ {
		xs = append(xs, math.Pow(10, float64(i)/stepsPerDecade))
	}
	for _, q := range quantiles { // those exactly, also for who has no others
		if x := 1 / (1 - q); x <= xs[len(xs)-1] {
			xs = append(xs, x)
		}
	}
	slices.Sort(xs)
	xs = slices.CompactFunc(xs, func(a, b float64) bool { return math.Abs(a-b) < a*1e-4 })
	l := Lines{
		Title: title, At: xs,
		X: Axis{Label: "percentile", Log: true, Ticks: percentileTicks},
		Y: Axis{Log: true, Text: units.Duration},
	}
	for _, c := range curves {
		l.Series = append(l.Series, c.series(xs))
	}
	return l
}

func (c curve) series(xs []float64) Series {
	s := Series{Name: c.name, Color: c.color, Dots: c.all == nil}
	for _, x := range xs {
		y := math.NaN()
		switch p := 1 - 1/x; {
		case x > float64(c.summary.Count)*1.0001: // beyond it there is nobody
		case c.all != nil:
			y = float64(c.all.Quantile(p))
		default:
			for i, q := range quantiles {
				if math.Abs(p-q) < 1e-7 {
					y = float64(c.summary.P[units.Percentiles[i]])
				}
			}
		}
		s.Y = append(s.Y, y)
	}
	return s
}

var percentileTicks = []Tick{
	{At: 2, Label: "50"}, {At: 1e1, Label: "90"}, {At: 1e2, Label: "99"}, {At: 1e3, Label: "99.9"},
	{At: 1e4, Label: "99.99"}, {At: 1e5, Label: "99.999"}, {At: 1e6, Label: "99.9999"},
}
