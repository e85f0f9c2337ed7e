package view

import (
	"math"
	"slices"
	"strconv"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
	"muxlock/internal/stats"
)

// latencies returns a plot of each latency, with all implementations. Its percentiles are of all rounds together; those of
// tables are medians over the rounds.
func latencies(doc result.Document) (plots []Chart) {
	title := " by percentile" + either(doc.Config.Rounds > 1, ", all rounds together", "")
	for _, t := range result.Timings {
		plot := percentilePlot(t.Label + title)
		for i, impl := range doc.Config.Impls {
			plot.curve(impl, i, timing(t, result.Of(doc.Results, impl)...))
		}
		plots = append(plots, plot)
	}
	return plots
}

// timing returns one latency of runs, as far as they have it.
func timing(t result.Timing, results ...*bench.Result) (all []*bench.Summary) {
	for _, r := range results {
		if s := t.Of(r); s != nil && s.Count > 0 {
			all = append(all, s)
		}
	}
	return all
}

// percentiles returns the table of a run's latencies, and a plot of them.
func percentiles(r *bench.Result) (t Table, plot Chart) {
	t, plot = Table{Texts: 1, Heads: []string{""}}, percentilePlot("latency by percentile")
	for _, p := range stats.Percentiles {
		t.Heads = append(t.Heads, "p"+p.Name)
	}
	t.Heads = append(t.Heads, "max", "n")
	for _, latency := range result.Timings {
		for _, s := range timing(latency, r) {
			row := []string{latency.Label}
			for _, p := range stats.Percentiles {
				row = append(row, units.Percentile(s, p.Name))
			}
			plot.curve(latency.Label, len(t.Rows), []*bench.Summary{s})
			t.Rows = append(t.Rows, cells(append(row, units.AtLeast(ns(s.Max), s.Censored > 0), units.Number(s.Count))...))
		}
	}
	return t, plot
}

// percentilePlot has 1/(1-p) on its axis, like plots of HdrHistogram.
func percentilePlot(title string) Chart {
	return Chart{Title: title, Y: durations, X: Axis{Label: "percentile", Log: true, Text: func(x float64) string {
		return strconv.FormatFloat(100-100/x, 'g', 7, 64) // 99 at 100
	}}}
}

// stepsPerDecade is the number of points of a percentile curve between 90 % and 99 %.
const stepsPerDecade = 24

// curve adds summaries together. Lower bounds have a curve of their own. Without histograms there is no curve.
func (c *Chart) curve(name string, color int, summaries []*bench.Summary) {
	all := bench.NewHistogram()
	for _, s := range summaries {
		h, err := s.Histogram()
		if err != nil || h.Count() == 0 {
			return
		}
		all.Merge(h)
	}
	s, bound := Series{Name: name, Color: color}, Series{Name: name + ", at least", Color: color, Dash: true}
	for i := 0; ; i++ {
		x := math.Pow(10, float64(i)/stepsPerDecade)
		if x > float64(all.Count()) { // no latency lies beyond
			break
		}
		y, atLeast := all.Percentile(100-100/x), all.AtLeast(100-100/x)
		s.X, s.Y, bound.Y = append(s.X, x), append(s.Y, where(!atLeast, y)), append(bound.Y, where(atLeast, y))
	}
	bound.X = slices.Clone(s.X)
	c.Series = append(c.Series, s, bound)
}
