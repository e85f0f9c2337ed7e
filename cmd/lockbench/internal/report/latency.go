package report

import (
	"math"
	"slices"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/chart"
	"muxlock/cmd/lockbench/internal/output"
)

// latencies is the percentile plots and the table: of one implementation all its
// latencies together, of several one plot of each latency.
func latencies(doc output.Document) Section {
	s := Section{
		ID: "latency", Title: "Latency",
		Note: "How long all but the slowest took. Each step to the right leaves out nine tenths of what was left: the tail has as much room as the rest.",
	}
	names := impls(doc.Results)
	if len(names) == 1 {
		rs := of(doc.Results, names[0])
		curves := curvesOf(names[0], rs)
		logarithmic := Panel{Name: "log", Charts: []Chart{percentilePlot("Latency by percentile", curves, true)}}
		linear := Panel{Name: "linear", Charts: []Chart{percentilePlot("Latency by percentile", curves, false)}}
		s.Panels = []Panel{logarithmic, linear}
		s.Tables = []Table{percentileTable(curves)}
		return s
	}
	for _, m := range metrics {
		var curves []curve
		for i, impl := range names {
			if p := poolOf(of(doc.Results, impl), m.of); p != nil {
				curves = append(curves, curve{impl, i, p})
			}
		}
		if len(curves) > 0 {
			s.Panels = append(s.Panels, Panel{
				Name:   m.name,
				Charts: []Chart{percentilePlot(m.name+" by percentile", curves, true)},
				Tables: []Table{percentileTable(curves)},
			})
		}
	}
	return s
}

// curve is one latency, by its name in the plot.
type curve struct {
	name  string
	color int
	pool  *pool
}

func curvesOf(impl string, rs []*bench.Result) (cs []curve) {
	for _, m := range metrics {
		if p := poolOf(rs, m.of); p != nil {
			cs = append(cs, curve{m.name, len(cs), p})
		}
	}
	return cs
}

// stepsPerDecade is how many points of a percentile curve lie between 90 % and 99 %.
const stepsPerDecade = 24

// percentilePlot has 1/(1-p) on its axis, as plots of HdrHistogram have.
func percentilePlot(title string, curves []curve, logarithmic bool) chart.Lines {
	most := int64(0)
	for _, c := range curves {
		most = max(most, c.pool.summary.Count)
	}
	if most == 0 {
		return chart.Lines{Title: title}
	}
	end := max(math.Log10(float64(most)), 1)
	var xs []float64
	for i := 1; float64(i) <= end*stepsPerDecade; i++ {
		xs = append(xs, math.Pow(10, float64(i)/stepsPerDecade))
	}
	for _, q := range quantiles { // those exactly, also for who has no others
		if x := 1 / (1 - q.at); x <= xs[len(xs)-1] {
			xs = append(xs, x)
		}
	}
	slices.Sort(xs)
	xs = slices.CompactFunc(xs, func(a, b float64) bool { return math.Abs(a-b) < a*1e-4 })
	l := chart.Lines{
		Title: title, At: xs,
		X: chart.Axis{Label: "percentile", Log: true, Text: percentileText, Ticks: percentileTicks},
		Y: chart.Axis{Log: logarithmic, Text: output.Duration},
	}
	for _, c := range curves {
		l.Series = append(l.Series, c.series(xs))
	}
	return l
}

func (c curve) series(xs []float64) chart.Series {
	s := chart.Series{Name: c.name, Color: c.color, Dash: c.color >= chart.Colors, Dots: c.pool.all == nil}
	for _, x := range xs {
		y := math.NaN()
		switch p := 1 - 1/x; {
		case x > float64(c.pool.summary.Count)*1.0001: // beyond it there is nobody
		case c.pool.all != nil:
			y = float64(c.pool.all.Quantile(p))
		default:
			for _, q := range quantiles {
				if math.Abs(p-q.at) < 1e-7 {
					y = float64(c.pool.summary.P[q.name])
				}
			}
		}
		s.Y = append(s.Y, y)
	}
	return s
}

var percentileTicks = []chart.Tick{
	{At: 2, Label: "50"}, {At: 1e1, Label: "90"}, {At: 1e2, Label: "99"}, {At: 1e3, Label: "99.9"},
	{At: 1e4, Label: "99.99"}, {At: 1e5, Label: "99.999"}, {At: 1e6, Label: "99.9999"},
}

// percentileText is the share below 1/(1-p), with as many digits as tell it from 1.
func percentileText(x float64) string {
	decimals := 1 + int(max(0, math.Log10(x)-1))
	return "p" + trimmed(100*(1-1/x), decimals)
}

func percentileTable(curves []curve) Table {
	t := Table{Columns: columns("", "p50", "p90", "p99", "p99.9", "p99.99", "max", "mean", "operations")}
	for _, c := range curves {
		s := c.pool.summary
		row := []Cell{Text(c.name)}
		for _, q := range quantiles {
			row = append(row, at(s, q.name))
		}
		t.Rows = append(t.Rows, append(row, Ns(float64(s.Max)), Ns(s.Mean), Count(s.Count)))
	}
	return t
}
