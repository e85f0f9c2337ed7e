package view

import (
	"math"
	"strconv"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
	"muxlock/internal/stats"
)

// latencies shows a plot and the figures of each latency, with all implementations.
func (b *Blocks) latencies(doc result.Document) {
	for _, t := range result.Timings {
		var curves []curve
		for i, impl := range doc.Config.Impls {
			if c := pooled(t, impl, i, result.Of(doc.Results, impl)...); c != nil {
				curves = append(curves, *c)
			}
		}
		if len(curves) > 0 {
			b.heading(t.Label)
			b.chart(percentilePlot(t.Label+" by percentile", curves))
			b.browser(Blocks{{Table: new(percentiles(curves))}})
		}
	}
}

// curve is one latency of one or several rounds.
type curve struct {
	name    string
	color   int
	summary *bench.Summary
	all     *bench.Histogram // nil: only the percentiles of summary are known
}

// timingsOf returns the latencies of one run.
func timingsOf(r *bench.Result) (curves []curve) {
	for _, t := range result.Timings {
		if c := pooled(t, t.Label, len(curves), r); c != nil {
			curves = append(curves, *c)
		}
	}
	return curves
}

// pooled merges the histograms of rounds. It returns nil if there is no data, or if several rounds
// lack histograms.
func pooled(t result.Timing, name string, color int, results ...*bench.Result) *curve {
	c := &curve{name: name, color: color, all: bench.NewHistogram()}
	parts := 0
	for _, r := range results {
		s := t.Of(r)
		if s == nil || s.Count == 0 {
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

// percentiles returns the table of latencies.
func percentiles(curves []curve) Table {
	t := Table{Texts: 1, Heads: []string{""}}
	for _, p := range stats.Percentiles {
		t.Heads = append(t.Heads, "p"+p.Name)
	}
	t.Heads = append(t.Heads, "max", "n")
	for _, c := range curves {
		row := []string{c.name}
		for _, p := range stats.Percentiles {
			row = append(row, units.Percentile(c.summary, p.Name))
		}
		t.Rows = append(t.Rows, cells(append(row, units.AtLeast(ns(c.summary.Max), c.summary.Censored > 0), units.Number(c.summary.Count))...))
	}
	return t
}

// stepsPerDecade is the number of points of a percentile curve between 90 % and 99 %.
const stepsPerDecade = 24

// percentilePlot has 1/(1-p) on its axis, like plots of HdrHistogram. Lower bounds have a curve of
// their own. A latency without a histogram has no curve.
func percentilePlot(title string, curves []curve) Lines {
	l := Lines{Title: title, X: Axis{Label: "percentile", Log: true, Text: percentileText}, Y: Axis{Log: true, Text: units.Duration}}
	for _, c := range curves {
		if c.all == nil {
			continue
		}
		s := Series{Name: c.name, Color: c.color}
		bound := Series{Name: c.name + ", at least", Color: c.color, Dash: true}
		for i := 0; ; i++ {
			x := math.Pow(10, float64(i)/stepsPerDecade)
			if x > float64(c.summary.Count) { // no latency lies beyond
				break
			}
			y, atLeast := c.all.Percentile(100-100/x), c.all.AtLeast(100-100/x)
			s.X, s.Y, bound.Y = append(s.X, x), append(s.Y, where(!atLeast, y)), append(bound.Y, where(atLeast, y))
		}
		bound.X = s.X
		l.Series = append(l.Series, s, bound)
	}
	return l
}

// percentileText writes the percentile at a place of the axis: 99 at 100.
func percentileText(x float64) string { return strconv.FormatFloat(100-100/x, 'g', 7, 64) }
