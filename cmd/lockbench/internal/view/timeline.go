package view

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// mostPoints is how many points of a long run are drawn; beyond it neighbours are
// put together.
const mostPoints = 600

// timeline is how each round went on, second by second, with its faults.
func timeline(doc result.Document) Section {
	s := Section{ID: "time", Title: "Over time"}
	names := result.Impls(doc.Results)
	for _, round := range rounds(doc.Results) {
		p := Panel{Name: fmt.Sprintf("round %d", round)}
		rate := perSecondChart("cycles a second")
		latency := Lines{Title: headlineName(doc) + " p50 and p99", X: seconds, Y: Axis{Log: true, Text: units.Duration}}
		trouble := perSecondChart("not acquired, a second")
		for i, impl := range names {
			for _, r := range doc.Results {
				if r.Impl != impl || r.Round != round || len(r.Series) == 0 {
					continue
				}
				name, prefix := "cycles", ""
				if len(names) > 1 {
					name, prefix = impl, impl+" "
				}
				t := timesOf(r.Series)
				if r.Holding == nil { // which has no cycles
					add(&rate, r, t, Series{Name: name, Color: i, Y: t.rates(func(p bench.Point) int64 { return p.Cycles })})
				}
				add(&latency, r, t, Series{Name: prefix + "p99", Color: i, Y: t.latency(func(p bench.Point) int64 { return p.P99Ns })})
				add(&latency, r, t, Series{Name: prefix + "p50", Color: i, Y: t.latency(func(p bench.Point) int64 { return p.P50Ns }), Dash: true})
				for _, kind := range troublesOf(names, impl) {
					if ys := t.rates(kind.of); !allZero(ys) {
						add(&trouble, r, t, Series{Name: kind.name, Color: i + kind.color, Y: ys})
					}
				}
			}
		}
		p.Charts = []Chart{rate, latency, trouble}
		s.Panels = append(s.Panels, p)
	}
	s.Tables = []Table{underFaults(doc)}
	return s
}

var seconds = Axis{Label: "since the measured time began", Seconds: true}

// trouble is operations that did not get their lock.
type trouble struct {
	name  string
	color int // beyond that of the implementation
	of    func(bench.Point) int64
}

// troublesOf is one line for each kind, or one for each implementation when there
// are several.
func troublesOf(names []string, impl string) []trouble {
	if len(names) > 1 {
		return []trouble{{impl, 0, func(p bench.Point) int64 { return p.Refused + p.Timeouts + p.Errors + p.Dropped }}}
	}
	return []trouble{
		{"refused", 1, func(p bench.Point) int64 { return p.Refused }},
		{"timeouts", 2, func(p bench.Point) int64 { return p.Timeouts }},
		{"errors", 3, func(p bench.Point) int64 { return p.Errors }},
		{"dropped", 4, func(p bench.Point) int64 { return p.Dropped }},
	}
}

func perSecondChart(title string) Lines {
	return Lines{Title: title, X: seconds, Y: Axis{Text: compact}}
}

// add puts a series into a chart whose places may be those of another run: their
// seconds end some milliseconds apart, so that they can be told by their number.
func add(l *Lines, r *bench.Result, t times, s Series) {
	if len(t.ends) > len(l.At) {
		l.At = t.ends
	}
	if l.Bands == nil {
		l.Bands = bands(r)
	}
	s.Steps = true
	l.Series = append(l.Series, s)
}

func bands(r *bench.Result) (bs []Band) {
	for _, f := range r.Faults {
		bs = append(bs, Band{From: f.FromS, To: f.ToS, Label: f.Spec})
	}
	return bs
}

// times is the points of a run, thinned, with their lengths.
type times struct {
	points []bench.Point
	ends   []float64
	length []float64
}

// timesOf leaves out a remainder at the end that is too short to make a rate of.
func timesOf(series []bench.Point) (t times) {
	group := (len(series) + mostPoints - 1) / mostPoints
	begin := 0.0
	for i := 0; i < len(series); i += group {
		p := joined(series[i:min(i+group, len(series))])
		if length := p.TS - begin; length >= 0.2 || i == 0 && length > 0 {
			t.points, t.ends, t.length = append(t.points, p), append(t.ends, p.TS), append(t.length, length)
		}
		begin = p.TS
	}
	return t
}

// joined is several points as one: their counts together, and the worst of their
// percentiles and round trips, so that no trouble is smoothed away.
func joined(points []bench.Point) bench.Point {
	p := points[0]
	p.MasterNs = append([]int64(nil), p.MasterNs...)
	for _, q := range points[1:] {
		p.Add(q)
		p.P50Ns, p.P99Ns = max(p.P50Ns, q.P50Ns), max(p.P99Ns, q.P99Ns)
		for i := range min(len(p.MasterNs), len(q.MasterNs)) {
			if q.MasterNs[i] < 0 || p.MasterNs[i] >= 0 && q.MasterNs[i] > p.MasterNs[i] {
				p.MasterNs[i] = q.MasterNs[i]
			}
		}
	}
	return p
}

func (t times) rates(count func(bench.Point) int64) (ys []float64) {
	for i, p := range t.points {
		ys = append(ys, float64(count(p))/t.length[i])
	}
	return ys
}

// latency has no value where nothing was acquired.
func (t times) latency(of func(bench.Point) int64) (ys []float64) {
	for _, p := range t.points {
		y := float64(of(p))
		if y <= 0 {
			y = math.NaN()
		}
		ys = append(ys, y)
	}
	return ys
}

func allZero(ys []float64) bool {
	for _, y := range ys {
		if y != 0 {
			return false
		}
	}
	return true
}

// rounds that the results have, in order.
func rounds(results []*bench.Result) (ns []int) {
	seen := map[int]bool{}
	for _, r := range results {
		if !seen[r.Round] {
			seen[r.Round] = true
			ns = append(ns, r.Round)
		}
	}
	return ns
}

// compact is a count that fits beside an axis: 12k, 3.5M.
func compact(v float64) string {
	switch {
	case v >= 1e6:
		return trimmed(v/1e6, 2) + "M"
	case v >= 1e4:
		return trimmed(v/1e3, 1) + "k"
	}
	return units.Digits(v)
}

// trimmed is v with up to so many decimals.
func trimmed(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
