package result

import (
	"fmt"
	"slices"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/suggest"
	"muxlock/internal/stats"
)

// A Figure is one number of a Result. Objectives, comparisons, sweeps and tables all take
// theirs from figures, for what is one number, and from Timings, for what is a histogram and
// has a figure for each statistic. Whoever adds one adds it there.
type Figure struct {
	Name  string // as --slo has it: throughput, cycle.p99
	Label string // as the head of a column: cycles/s
	Unit  string // as in bench.SLO

	read    func(*bench.Result) reading
	lacks   func(bench.Config) string // why no run of a Config can have it, empty: it may; nil: always empty
	counted bool                      // it is a share of operations: the reading has part and whole
	samples int64                     // it takes at least so many of whole; 0: it is of no samples
}

// reading is a figure of one result.
type reading struct {
	value       float64
	atLeast     bool   // it is a lower bound: of operations that never got their lock
	none        string // why the result has no such figure; empty: it has
	thin        string // why it rests on too few samples; empty: it does not
	part, whole int64  // of a latency, whole is its samples
}

var figures = []Figure{
	number("throughput", "cycles/s", bench.UnitCount, func(r *bench.Result) float64 { return r.ThroughputPerS }),
	number("acquired_per_s", "acquired/s", bench.UnitCount, func(r *bench.Result) float64 { return r.AcquiredPerS }),
	number("jain", "Jain", bench.UnitCount, func(r *bench.Result) float64 { return r.Fairness.Jain }),
	number("max_wait_ns", "longest wait", bench.UnitNs, func(r *bench.Result) float64 { return float64(r.Fairness.MaxWaitNs) }),
	ratio("offered_per_s", "offered/s", bench.UnitCount, "nothing was measured", func(r *bench.Result) (float64, float64) { return float64(r.Totals.Offered), r.DurationS }),
	ratio("cpu_ns_per_op", "cpu/cycle", bench.UnitNs, "no CPU time was measured", func(r *bench.Result) (float64, float64) { return r.Client.CPUNsPerOp, one(r.Client.CPUNsPerOp > 0) }),
	ratio("allocs_per_op", "allocs/cycle", bench.UnitCount, "nothing was finished", func(r *bench.Result) (float64, float64) { return r.Client.AllocsPerOp, one(r.ThroughputPerS > 0) }),
	// Goodput is what was acquired of what was asked for, both per second of the measured time.
	ratio("goodput", "goodput", bench.UnitShare, "nothing was offered", func(r *bench.Result) (float64, float64) {
		return r.AcquiredPerS * r.DurationS, float64(r.Totals.Offered)
	}).in(openLoop),
	ratio("fence_second_trip_rate", "fence second trips", bench.UnitShare, "no lock had a fencing token (--fencing)", func(r *bench.Result) (float64, float64) {
		return float64(r.Totals.FenceSecondTrips), float64(r.Totals.Fenced)
	}),
	count("errors", func(r *bench.Result) int64 { return r.Totals.Errors }),
	count("outlived", func(r *bench.Result) int64 { return r.Totals.Outlived }),
	count("lost_validity", func(r *bench.Result) int64 { return r.Totals.LostValidity }),
	count("overlaps", func(r *bench.Result) int64 { return r.Safety.Overlaps }),
	count("fence_violations", func(r *bench.Result) int64 { return r.Safety.FenceViolations }),
	share("failure_rate", func(t bench.Totals) (int64, int64) { return t.Failed, t.Offered }),
	share("error_rate", func(t bench.Totals) (int64, int64) { return t.Errors, t.Started }),
	share("timeout_rate", func(t bench.Totals) (int64, int64) { return t.Timeouts, t.Started }),
	share("refused_rate", func(t bench.Totals) (int64, int64) { return t.Refused, t.Started }),
	share("late_rate", func(t bench.Totals) (int64, int64) { return t.Late, t.Started }).in(openLoop),
	share("outlived_rate", func(t bench.Totals) (int64, int64) { return t.Outlived, t.Acquired }),
	share("lost_validity_rate", func(t bench.Totals) (int64, int64) { return t.LostValidity, t.Quorums() }),
}

func number(name, label, unit string, of func(*bench.Result) float64) Figure {
	return Figure{Name: name, Label: label, Unit: unit, read: func(r *bench.Result) reading { return reading{value: of(r)} }}
}

func count(name string, of func(*bench.Result) int64) Figure {
	return number(name, label(name), bench.UnitCount, func(r *bench.Result) float64 { return float64(of(r)) })
}

// ratio is of figures that a result lacks where the second number is 0, none says why.
func ratio(name, label, unit, none string, of func(*bench.Result) (part, whole float64)) Figure {
	return Figure{Name: name, Label: label, Unit: unit, read: func(r *bench.Result) reading {
		part, whole := of(r)
		if whole <= 0 {
			return reading{none: none}
		}
		return reading{value: part / whole}
	}}
}

// share is the operations to which something happened.
func share(name string, of func(bench.Totals) (part, whole int64)) Figure {
	return Figure{Name: name, Label: label(name), Unit: bench.UnitShare, counted: true, read: func(r *bench.Result) reading {
		part, whole := of(r.Totals)
		if whole == 0 {
			return reading{none: "nothing was begun"}
		}
		return reading{value: float64(part) / float64(whole), part: part, whole: whole}
	}}
}

func label(name string) string { return strings.ReplaceAll(name, "_", " ") }

// one is the whole of what was divided already.
func one(known bool) float64 {
	if known {
		return 1
	}
	return 0
}

func (f Figure) in(lacks func(bench.Config) string) Figure {
	f.lacks = lacks
	return f
}

// AtLeast reports whether the figure is a lower bound: it is of operations that never got
// their lock.
func (f Figure) AtLeast(r *bench.Result) bool { return f.read(r).atLeast }

// Measured is the figure, also where it rests on few samples; false where r lacks it.
func (f Figure) Measured(r *bench.Result) (v float64, ok bool) {
	now := f.read(r)
	return now.value, now.none == ""
}

// Median is that of the results that have the figure; false when none has.
func (f Figure) Median(results []*bench.Result) (float64, bool) {
	var values []float64
	for _, r := range results {
		if v, ok := f.Measured(r); ok {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return 0, false
	}
	return stats.Median(values), true
}

// FindFigure returns the figure of a name such as throughput, cycle.p99 or
// acquire.response.max. The error lists what there is.
func FindFigure(name string) (Figure, error) {
	if i := slices.IndexFunc(figures, func(f Figure) bool { return f.Name == name }); i >= 0 {
		return figures[i], nil
	}
	which, statistic, _ := strings.Cut(name, ".")
	// The three latencies of an acquire are also known as acquire.response and so on.
	if clock, rest, ok := strings.Cut(statistic, "."); ok && which == "acquire" && slices.Contains([]string{"response", "wait", "service"}, clock) {
		which, statistic = clock, rest
	}
	if i := slices.IndexFunc(Timings, func(t Timing) bool { return t.Name == which }); i >= 0 {
		f, err := Timings[i].Figure(statistic)
		if err != nil {
			return Figure{}, fmt.Errorf("%q: %w", name, err)
		}
		return f, nil
	}
	plain, latencies := names(figures, func(f Figure) string { return f.Name }), names(Timings, func(t Timing) string { return t.Name })
	known := slices.Clone(plain)
	for _, latency := range latencies {
		known = append(known, latency+"."+statistic)
	}
	return Figure{}, fmt.Errorf("there is no figure %q%s; there are %s; and .p50, .p99.9 (any percentile), .mean, .min, .max of %s",
		name, suggest.Near(name, "", known), strings.Join(plain, ", "), strings.Join(latencies, ", "))
}

// names is sorted.
func names[T any](all []T, name func(T) string) (texts []string) {
	for _, one := range all {
		texts = append(texts, name(one))
	}
	slices.Sort(texts)
	return texts
}

// MustFigure is FindFigure of a name that stands in the code.
func MustFigure(name string) Figure {
	f, err := FindFigure(name)
	if err != nil {
		panic(err)
	}
	return f
}
