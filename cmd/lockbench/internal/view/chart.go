package view

import (
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

// counts is the axis of counts and rates.
var counts = Axis{Text: func(v float64) string { return units.In(bench.UnitCount, v) }}

// Lines is curves over one axis.
type Lines struct {
	Title  string
	X, Y   Axis
	Series []Series
	Bands  []bench.Band // faults, in seconds on X
}

// Series is one curve: its places, ascending, and a value for each. NaN interrupts the curve. A
// series without values is left out.
type Series struct {
	Name  string
	Color int // from 0
	X, Y  []float64
	Dash  bool
	Dots  bool // a mark at each value
}

// Bars has a horizontal bar from 0 for each row. The first row is the subject.
type Bars struct {
	Title string
	Rows  []Bar
}

// Bar is one row.
type Bar struct {
	Label string
	Value float64
	Text  string // the figure in words
}

// Picture shows a document in one drawing: cycles a second of each implementation where nothing contends, and the p99 of an
// acquire where processes do.
func Picture(doc result.Document) (all []Bars) {
	for _, part := range doc.Parts() {
		switch c := part.Config; {
		case len(doc.Config.Loads) > 0 && c.Procs > 1:
			all = append(all, bars(part, "acquire p99, shorter is better: ", result.MustFigure("acquire.p99")))
		case len(doc.Config.Loads) == 0 || c.Workers > 1:
			all = append(all, bars(part, "cycles a second: ", result.MustFigure("throughput")))
		}
	}
	return all
}

func bars(doc result.Document, title string, f result.Figure) Bars {
	b := Bars{Title: title + contention(doc.Config.Config)}
	for _, impl := range doc.Config.Impls {
		if rs := result.Of(doc.Results, impl); len(rs) > 0 {
			v, _ := f.Median(rs)
			b.Rows = append(b.Rows, Bar{Label: impl, Value: v, Text: medianText(f, rs)})
		}
	}
	return b
}

// shortest is the least part of a second that shows a rate. The end of a run may have a shorter
// rest.
const shortest = 0.2

// overTime charts runs of the same time, second by second, with their faults.
func (b *Blocks) overTime(results ...*bench.Result) {
	x := Axis{Label: "seconds since the measured time began"}
	rate := Lines{Title: "cycles a second", X: x, Y: counts}
	latency := Lines{Title: "p50 and p99", X: x, Y: Axis{Log: true, Text: units.Duration}}
	trouble := Lines{Title: "not acquired, a second", X: x, Y: counts}
	for i, r := range results {
		all := secondsOf([]*bench.Result{r})
		if r.Drain != nil {
			all = append(all, second{Point: *r.Drain, from: r.DurationS})
		}
		if len(all) > 1 {
			all = slices.DeleteFunc(all, func(s second) bool { return s.length() < shortest })
		}
		of := func(value func(second) float64) (values []float64) {
			for _, s := range all {
				values = append(values, value(s))
			}
			return values
		}
		add := func(l *Lines, s Series, value func(second) float64) {
			s.Name, s.Color, s.X, s.Y = r.Impl+s.Name, i, of(func(s second) float64 { return s.TS }), of(value)
			l.Series = append(l.Series, s)
			if l.Bands == nil {
				l.Bands = bands(r)
			}
		}
		add(&rate, Series{}, func(s second) float64 { return float64(s.Cycles) / s.length() })
		add(&latency, Series{Name: " p99"}, func(s second) float64 { return where(!s.P99AtLeast, s.P99Ns) })
		add(&latency, Series{Name: " p99, at least", Dots: true}, func(s second) float64 { return where(s.P99AtLeast, s.P99Ns) })
		add(&latency, Series{Name: " p50", Dash: true}, func(s second) float64 { return where(!s.P50AtLeast, s.P50Ns) })
		add(&trouble, Series{}, func(s second) float64 { return float64(s.Refused+s.Timeouts+s.Errors+s.Unfinished) / s.length() })
	}
	b.chart(rate)
	b.chart(latency)
	b.chart(trouble)
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
		all = append(all, bench.Band{FromS: r.DurationS, ToS: d.TS, Spec: "drain: what was due before, after the end"})
	}
	return all
}
