package view

import (
	"math"
	"slices"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// latencies is the percentile plots and the table: of one implementation all its
// latencies together, of several one plot of each latency.
func latencies(doc result.Document) Section {
	s := Section{
		ID: "latency", Title: "Latency",
		Note: "How long all but the slowest took. Each step to the right leaves out nine tenths of what was left: the tail has as much room as the rest.",
	}
	impls := result.Impls(doc.Results)
	if len(impls) == 1 {
		var curves []curve
		for _, t := range bench.Timings() {
			if p := poolOf(result.Of(doc.Results, impls[0]), t); p != nil {
				curves = append(curves, curve{t.Label, len(curves), p})
			}
		}
		logarithmic := Panel{Name: "log", Charts: []Chart{percentilePlot("Latency by percentile", curves, true)}}
		linear := Panel{Name: "linear", Charts: []Chart{percentilePlot("Latency by percentile", curves, false)}}
		s.Panels, s.Tables = []Panel{logarithmic, linear}, []Table{percentiles(curves)}
		return s
	}
	for _, t := range bench.Timings() {
		var curves []curve
		for i, impl := range impls {
			if p := poolOf(result.Of(doc.Results, impl), t); p != nil {
				curves = append(curves, curve{impl, i, p})
			}
		}
		if len(curves) > 0 {
			s.Panels = append(s.Panels, Panel{Name: t.Label, Charts: []Chart{percentilePlot(t.Label+" by percentile", curves, true)}, Tables: []Table{percentiles(curves)}})
		}
	}
	return s
}

// twice tells whether a timing is another one of that result under a second name: service
// is the acquire of an open loop, and each of the two is shown where its name says more.
func twice(t bench.Timing, r *bench.Result) bool {
	open := r.Latency.Response != nil
	return t.Name == "service" && !open || t.Name == "acquire" && open
}

// curve is one latency, by its name.
type curve struct {
	name  string
	color int
	pool  *pool
}

// timingsOf is those of one run.
func timingsOf(r *bench.Result) (curves []curve) {
	for _, t := range bench.Timings() {
		if s := t.Of(r); s != nil && s.Count > 0 && !twice(t, r) {
			curves = append(curves, curve{name: t.Label, pool: &pool{summary: s}})
		}
	}
	return curves
}

// pool is one latency of all rounds of an implementation.
type pool struct {
	summary *bench.Summary
	all     *bench.Histogram // nil: only the percentiles of summary are known
}

// poolOf puts the rounds together, which only histograms can be; of several rounds
// without them, and when there is nothing, it is nil.
func poolOf(results []*bench.Result, t bench.Timing) *pool {
	var parts []*bench.Summary
	for _, r := range results {
		if s := t.Of(r); s != nil && s.Count > 0 && !twice(t, r) {
			parts = append(parts, s)
		}
	}
	all := bench.NewHistogram()
	for _, s := range parts {
		h, err := s.Histogram()
		if err != nil || h.Count() == 0 {
			all = nil
			break
		}
		all.Merge(h)
	}
	switch {
	case len(parts) == 1:
		return &pool{parts[0], all}
	case len(parts) == 0 || all == nil:
		return nil
	}
	return &pool{all.Summary(), all}
}

// percentiles is the figures of latencies.
func percentiles(curves []curve) Table {
	t := Table{Columns: columns("")}
	for _, p := range units.Percentiles {
		t.Columns = append(t.Columns, Column{Name: "p" + p})
	}
	t.Columns = append(t.Columns, Column{Name: "max"}, Column{Name: "mean", In: PageOnly}, Column{Name: "n"})
	for _, c := range curves {
		s := c.pool.summary
		row := []Cell{words(c.name)}
		for _, p := range units.Percentiles {
			row = append(row, percentile(s, p))
		}
		t.Rows = append(t.Rows, append(row, ns(s.Max), ns(s.Mean), count(s.Count)))
	}
	return t
}

// quantiles are those of units.Percentiles.
var quantiles = []float64{0.5, 0.9, 0.99, 0.999, 0.9999}

// stepsPerDecade is how many points of a percentile curve lie between 90 % and 99 %.
const stepsPerDecade = 24

// percentilePlot has 1/(1-p) on its axis, as plots of HdrHistogram have.
func percentilePlot(title string, curves []curve, logarithmic bool) Lines {
	most := int64(0)
	for _, c := range curves {
		most = max(most, c.pool.summary.Count)
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
		X: Axis{Label: "percentile", Log: true, Text: percentileText, Ticks: percentileTicks},
		Y: Axis{Log: logarithmic, Text: units.Duration},
	}
	for _, c := range curves {
		l.Series = append(l.Series, c.series(xs))
	}
	return l
}

func (c curve) series(xs []float64) Series {
	s := Series{Name: c.name, Color: c.color, Dash: c.color >= Colors, Dots: c.pool.all == nil}
	for _, x := range xs {
		y := math.NaN()
		switch p := 1 - 1/x; {
		case x > float64(c.pool.summary.Count)*1.0001: // beyond it there is nobody
		case c.pool.all != nil:
			y = float64(c.pool.all.Quantile(p))
		default:
			for i, q := range quantiles {
				if math.Abs(p-q) < 1e-7 {
					y = float64(c.pool.summary.P[units.Percentiles[i]])
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

// percentileText is the share below 1/(1-p), with as many digits as tell it from 1.
func percentileText(x float64) string {
	return "p" + trimmed(100*(1-1/x), 1+int(max(0, math.Log10(x)-1)))
}
