package result

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/units"
	"muxlock/internal/stats"
	"muxlock/internal/usage"
)

// A Figure is one number of a Result. Objectives, comparisons, sweeps and tables all take their
// numbers from two lists: figures has single numbers, Timings has histograms with a figure for
// each statistic. A new figure goes into one of them.
type Figure struct {
	Name  string // in --slo: throughput, cycle.p99
	Label string // head of a column: cycles/s
	Unit  string // as in bench.SLO

	read    func(*bench.Result) reading
	needs   []bench.Need // a run must meet all of them to have the figure
	counted bool         // a share of operations: the reading has part and whole
	samples int64        // least whole that shows the figure; 0: no samples needed
}

// reading is the value of a figure in one result.
type reading struct {
	value       float64
	atLeast     bool   // a lower bound, since operations never got their lock
	none        string // why the result has no such figure; else empty
	thin        string // why the samples are too few; else empty
	part, whole int64
}

var (
	cycles = bench.Need{Met: notHold, What: "cycles: --op hold has none"}
	audit  = bench.Need{Met: notHold, What: "an audit: --op hold has none"}
)

func notHold(c bench.Config) bool { return c.Op != bench.Hold }

var figures = []Figure{
	number("throughput", "cycles/s", bench.UnitCount, func(r *bench.Result) float64 { return r.ThroughputPerS }, cycles),
	number("acquired_per_s", "holds/s", bench.UnitCount, func(r *bench.Result) float64 { return r.AcquiredPerS }, cycles),
	// The name is held for that share of the time: what is possible is all of it.
	ratio("held_share", "time held", bench.UnitShare, "no time of holding was measured (--hold)", func(r *bench.Result) (float64, float64) {
		if r.Latency[bench.HoldTime] == nil {
			return 0, 0
		}
		return r.AcquiredPerS * r.Latency[bench.HoldTime].Mean / 1e9, float64(r.Keys)
	}, bench.Waiting, bench.Holds),
	number("jain", "Jain", bench.UnitCount, func(r *bench.Result) float64 { return r.Fairness.Jain }),
	number("max_wait_ns", "longest wait", bench.UnitNs, func(r *bench.Result) float64 { return float64(r.Fairness.MaxWaitNs) }),
	number("errors", "", bench.UnitCount, func(r *bench.Result) float64 { return float64(r.Totals.Errors) }),
	number("outlived", "", bench.UnitCount, func(r *bench.Result) float64 { return float64(r.Totals.Outlived) }),
	number("lost_validity", "", bench.UnitCount, func(r *bench.Result) float64 { return float64(r.Totals.LostValidity) }),
	ratio("overlaps", "", bench.UnitCount, unaudited, func(r *bench.Result) (float64, float64) { return float64(r.Safety.Overlaps), one(Audited(r)) }, audit),
	ratio("fence_violations", "", bench.UnitCount, unaudited, func(r *bench.Result) (float64, float64) { return float64(r.Safety.FenceViolations), one(Audited(r)) }, audit),
	ratio("offered_per_s", "offered/s", bench.UnitCount, "nothing was measured", func(r *bench.Result) (float64, float64) { return float64(r.Totals.Offered), r.DurationS }),
	ratio("cpu_ns_per_op", "cpu/cycle", bench.UnitNs, "no CPU time was measured", func(r *bench.Result) (float64, float64) { return r.Client.CPUNsPerOp, one(r.Client.CPUNsPerOp > 0) }),
	ratio("allocs_per_op", "allocs/cycle", bench.UnitCount, "nothing was finished", func(r *bench.Result) (float64, float64) { return r.Client.AllocsPerOp, one(r.ThroughputPerS > 0) }),
	// Goodput is acquired over offered operations, both per second of the measured time.
	ratio("goodput", "", bench.UnitShare, "nothing was offered", func(r *bench.Result) (float64, float64) {
		return r.AcquiredPerS * r.DurationS, float64(r.Totals.Offered)
	}, bench.OpenLoop),
	ratio("fence_second_trip_rate", "fences that took a second round trip", bench.UnitShare, "no lock had a fencing token (--fencing)", func(r *bench.Result) (float64, float64) {
		return float64(r.Totals.FenceSecondTrips), float64(cmp.Or(r.Totals.Fences, r.Totals.Fenced))
	}),
	share("failure_rate", func(t bench.Totals) (int64, int64) { return t.Failed, t.Offered }),
	share("error_rate", func(t bench.Totals) (int64, int64) { return t.Errors, t.Offered }),
	share("timeout_rate", func(t bench.Totals) (int64, int64) { return t.Timeouts, t.Offered }),
	share("refused_rate", func(t bench.Totals) (int64, int64) { return t.Refused, t.Offered }),
	share("late_rate", func(t bench.Totals) (int64, int64) { return t.Late, t.Started }, bench.OpenLoop),
	share("outlived_rate", func(t bench.Totals) (int64, int64) { return t.Outlived, t.Acquired }),
	share("lost_validity_rate", func(t bench.Totals) (int64, int64) { return t.LostShare() }),
}

const unaudited = "the run was not audited"

// number makes a figure that every result has.
func number(name, label, unit string, of func(*bench.Result) float64, needs ...bench.Need) Figure {
	return ratio(name, label, unit, "", func(r *bench.Result) (part, whole float64) { return of(r), 1 }, needs...)
}

// ratio makes a figure that a result lacks if whole is 0; none says why.
func ratio(name, label, unit, none string, of func(*bench.Result) (part, whole float64), needs ...bench.Need) Figure {
	return Figure{Name: name, Label: label, Unit: unit, needs: needs, read: func(r *bench.Result) reading {
		part, whole := of(r)
		if whole <= 0 {
			return reading{none: none}
		}
		return reading{value: part / whole, part: int64(part), whole: int64(whole)}
	}}
}

// share makes a figure of the share of operations with some outcome.
func share(name string, of func(bench.Totals) (part, whole int64), needs ...bench.Need) Figure {
	f := ratio(name, strings.ReplaceAll(name, "_", " "), bench.UnitShare, "nothing was begun", func(r *bench.Result) (float64, float64) {
		part, whole := of(r.Totals)
		return float64(part), float64(whole)
	}, needs...)
	f.counted = true
	return f
}

// Audited reports whether two holders of one lock would have been seen.
func Audited(r *bench.Result) bool { return !r.Safety.Unaudited }

// one is the whole of a ratio that is divided already.
func one(known bool) float64 {
	if known {
		return 1
	}
	return 0
}

// values returns the figure of those results that have it, even of few samples.
func (f Figure) values(results []*bench.Result) (values []units.Value) {
	for _, r := range results {
		if now := f.read(r); now.none == "" {
			values = append(values, units.Value{V: now.value, AtLeast: now.atLeast})
		}
	}
	return values
}

// Median returns the median over the results with the figure. It returns false if none has it.
func (f Figure) Median(results []*bench.Result) (median float64, ok bool) {
	var values []float64
	for _, v := range f.values(results) {
		values = append(values, v.V)
	}
	if values == nil {
		return 0, false
	}
	return stats.Median(values), true
}

// Text writes the median over the results with the figure.
func (f Figure) Text(results ...*bench.Result) string { return units.Median(f.Unit, f.values(results)) }

// FindFigure returns the figure of a name such as throughput, cycle.p99 or acquire.response.max.
// The error lists all figures.
func FindFigure(name string) (Figure, error) {
	if i := slices.IndexFunc(figures, func(f Figure) bool { return f.Name == name }); i >= 0 {
		return figures[i], nil
	}
	which, statistic, _ := strings.Cut(otherNames.Replace(name), ".")
	if i := slices.IndexFunc(Timings, func(t Timing) bool { return t.name == which }); i >= 0 {
		f, err := Timings[i].Figure(statistic)
		if err != nil {
			return Figure{}, fmt.Errorf("%q: %w", name, err)
		}
		return f, nil
	}
	var plain, latencies, known []string
	for _, f := range figures {
		plain = append(plain, f.Name)
	}
	for _, t := range Timings {
		latencies, known = append(latencies, t.name), append(known, t.name+"."+cmp.Or(statistic, "p99"))
	}
	slices.Sort(plain)
	slices.Sort(latencies)
	return Figure{}, fmt.Errorf("there is no figure %q%s; there are %s; and .p50, .p99.9 (any percentile), .mean, .min, .max of %s",
		name, usage.Near(name, "", append(known, plain...)), strings.Join(plain, ", "), strings.Join(latencies, ", "))
}

// otherNames are those of three latencies of an acquire.
var otherNames = strings.NewReplacer("acquire.response.", "response.", "acquire.wait.", "wait.", "acquire.service.", "acquire.", "service.", "acquire.")

// Headline is a latency only for MustFigure: response in an open loop, else cycle.
const Headline = "headline"

// MustFigure is FindFigure for a name in the code.
func MustFigure(name string) Figure {
	if statistic, ok := strings.CutPrefix(name, Headline+"."); ok {
		return must(headline.Figure(statistic))
	}
	return must(FindFigure(name))
}

// must is for parsing texts in the code.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
