package view

import (
	"math"
	"slices"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// Axis describes one direction of a chart.
type Axis struct {
	Label string
	Log   bool                 // values of 0 and below have no place
	Text  func(float64) string // of a tick; nil: plain digits
}

// The axes of units.
var (
	counts    = Axis{Text: func(v float64) string { return units.In(bench.UnitCount, v) }}
	shares    = Axis{Text: units.Share}
	durations = Axis{Text: units.Duration, Log: true}
)

// Chart is curves over one axis.
type Chart struct {
	Title  string
	X, Y   Axis
	Series []Series
	Bands  []bench.Band // faults, in seconds on X
}

// Series is one curve: its places, ascending, and a value for each. NaN interrupts the curve. A
// series without values is left out.
type Series struct {
	Name  string // empty: none in the legend
	Color int    // from 0
	X, Y  []float64
	Dash  bool
	Dots  bool // a mark at each value
}

// empty reports whether a chart has nothing but zeros, or only values without a line between them.
func (c Chart) empty() bool {
	return !slices.ContainsFunc(c.Series, func(s Series) bool {
		zeros := slices.DeleteFunc(slices.Clone(s.Y), func(v float64) bool { return v != 0 && !math.IsNaN(v) })
		shown := len(s.Y) - len(zeros)
		return shown > 1 || shown == 1 && (s.Dots || len(zeros) > 0 && !c.Y.Log)
	})
}

// Bars has a horizontal bar from 0 for each row. The first row is the subject.
type Bars struct {
	Title string
	Rows  []Bar
}

// Bar is one row.
type Bar struct {
	Label string
	Part  float64 // of the longest bar
	Text  string  // the figure in words
}

// Picture shows a document in one drawing: cycles a second of each implementation where nothing contends, and the p99 of an
// acquire where processes do.
func Picture(doc result.Document) (all []Bars) {
	for _, part := range doc.Parts() {
		switch c := part.Config; {
		case len(doc.Config.Loads) > 0 && c.Procs > 1:
			all = append(all, bars(part, "acquire p99, shorter is better: ", result.MustFigure("acquire.p99")))
		case len(doc.Config.Loads) == 0 || c.Workers > 1:
			all = append(all, bars(part, "cycles/s: ", result.MustFigure("throughput")))
		}
	}
	return slices.DeleteFunc(all, func(b Bars) bool { return len(b.Rows) == 0 })
}

// bars has no rows if all of them are 0.
func bars(doc result.Document, title string, f result.Figure) Bars {
	b, longest := Bars{Title: title + contention(doc.Config.Config)}, 0.0
	for _, impl := range doc.Config.Impls {
		v, _ := f.Median(result.Of(doc.Results, impl))
		longest = max(longest, v)
	}
	for _, impl := range doc.Config.Impls {
		if own := result.Of(doc.Results, impl); len(own) > 0 && longest > 0 {
			v, _ := f.Median(own)
			b.Rows = append(b.Rows, Bar{impl, v / longest, f.Text(own...)})
		}
	}
	return b
}

// shortest is the least part of a second that shows a rate. The end of a run may have a shorter
// rest.
const shortest = 0.2

// overTime charts runs of the same time, second by second, with their faults. impls gives each its colour.
func overTime(of string, impls []string, results ...*bench.Result) []Chart {
	x := Axis{Label: "seconds"}
	rate, trouble := Chart{Title: "cycles/s" + of, X: x, Y: counts}, Chart{Title: "not acquired/s" + of, X: x, Y: counts}
	latency := Chart{Title: "p99 (dashed: p50; dots: at least)" + of, X: x, Y: durations}
	for _, r := range results {
		all := secondsOf(r)
		if r.Drain != nil {
			all = append(all, second{Point: *r.Drain, from: r.DurationS})
		}
		if len(all) > 1 {
			all = slices.DeleteFunc(all, func(s second) bool { return s.length() < shortest })
		}
		for _, c := range []*Chart{&rate, &latency, &trouble} {
			if c.Bands == nil {
				c.Bands = bands(r)
			}
		}
		add := func(c *Chart, s Series, value func(second) float64) {
			s.Color = max(slices.Index(impls, r.Impl), 0)
			for _, at := range all {
				s.X, s.Y = append(s.X, at.TS), append(s.Y, value(at))
			}
			c.Series = append(c.Series, s)
		}
		add(&rate, Series{Name: r.Impl}, func(s second) float64 { return float64(s.Cycles) / s.length() })
		add(&latency, Series{Name: r.Impl}, func(s second) float64 { return where(!s.P99AtLeast, s.P99Ns) })
		add(&latency, Series{Dots: true}, func(s second) float64 { return where(s.P99AtLeast, s.P99Ns) })
		add(&latency, Series{Dash: true}, func(s second) float64 { return where(!s.P50AtLeast, s.P50Ns) })
		add(&trouble, Series{Name: r.Impl}, func(s second) float64 { return float64(s.Refused+s.Timeouts+s.Errors+s.Unfinished) / s.length() })
	}
	return []Chart{rate, latency, trouble}
}

// where returns a time that belongs to a curve; else 0, which has no place on its axis.
func where(belongs bool, ns int64) float64 {
	if belongs {
		return float64(ns)
	}
	return 0
}

// bands returns the faults of a run, and its drain.
func bands(r *bench.Result) []bench.Band {
	all := slices.Clone(r.Faults)
	if d := r.Drain; d != nil && d.TS-r.DurationS >= shortest {
		all = append(all, bench.Band{FromS: r.DurationS, ToS: d.TS, Spec: "drain"})
	}
	return all
}
