package result

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"muxlock/bench"
	"muxlock/internal/stats"
)

// A Figure is one number of a Result. Objectives, comparisons, sweeps and tables all take
// theirs from the two lists below: Figures for what is one number, Timings for what is a
// histogram and has a figure for each statistic. Whoever adds one adds it there.
type Figure struct {
	Name  string // as --slo has it: throughput, cycle.p99
	Label string // as the head of a column: cycles/s
	Unit  string // as in SLO
	// Of is the figure of a result. The error is why the result has none, or that it rests
	// on too few samples.
	Of func(*bench.Result) (float64, error)

	known func(*bench.Result) bool  // whether the number means anything; nil: always
	least func(*bench.Result) bool  // whether it is a lower bound; nil: never
	lacks func(bench.Config) string // why no run of a Config can have it, empty: it may; nil: always empty

	// counts is set for a share of operations.
	counts func(bench.Totals) (part, whole int64)

	samples int64                     // it takes at least so many; 0: it is of no samples
	has     func(*bench.Result) int64 // how many there are; nil unless samples is set
}

// A Timing is one latency of a Result.
type Timing struct {
	Name  string // as in JSON
	Label string // for people
	Of    func(*bench.Result) *bench.Summary

	lacks func(bench.Config) string
}

// Timings is all latencies, in the order in which a reader wants them.
func Timings() []Timing { return slices.Clone(timings) }

var figures = []Figure{
	{Name: "throughput", Label: "cycles/s", Of: number(func(r *bench.Result) float64 { return r.ThroughputPerS })},
	{Name: "offered_per_s", Label: "offered/s", Of: offered},
	{Name: "acquired_per_s", Label: "acquired/s", Of: number(func(r *bench.Result) float64 { return r.AcquiredPerS })},
	{Name: "goodput", Label: "goodput", Unit: bench.UnitShare, Of: goodput, lacks: openLoop},
	count("errors", func(r *bench.Result) int64 { return r.Totals.Errors }),
	count("outlived", func(r *bench.Result) int64 { return r.Totals.Outlived }),
	count("lost_validity", func(r *bench.Result) int64 { return r.Totals.LostValidity }),
	rate("failure_rate", func(t bench.Totals) (int64, int64) { return t.Failed, t.Offered }),
	rate("error_rate", func(t bench.Totals) (int64, int64) { return t.Errors, t.Started }),
	rate("timeout_rate", func(t bench.Totals) (int64, int64) { return t.Timeouts, t.Started }),
	rate("refused_rate", func(t bench.Totals) (int64, int64) { return t.Refused, t.Started }),
	rate("late_rate", func(t bench.Totals) (int64, int64) { return t.Late, t.Started }).in(openLoop),
	rate("outlived_rate", func(t bench.Totals) (int64, int64) { return t.Outlived, t.Acquired }),
	rate("lost_validity_rate", func(t bench.Totals) (int64, int64) { return t.LostValidity, t.Quorums() }),
	{Name: "fence_second_trip_rate", Label: "fence second trips", Unit: bench.UnitShare, Of: secondTrips},
	count("overlaps", func(r *bench.Result) int64 { return r.Safety.Overlaps }),
	count("fence_violations", func(r *bench.Result) int64 { return r.Safety.FenceViolations }),
	{Name: "jain", Label: "Jain", Of: number(func(r *bench.Result) float64 { return r.Fairness.Jain })},
	{Name: "max_wait_ns", Label: "longest wait", Unit: bench.UnitNs, Of: number(func(r *bench.Result) float64 { return float64(r.Fairness.MaxWaitNs) })},
	{Name: "cpu_ns_per_op", Label: "cpu/cycle", Unit: bench.UnitNs, Of: number(func(r *bench.Result) float64 { return r.Client.CPUNsPerOp }),
		known: func(r *bench.Result) bool { return r.Client.CPUNsPerOp > 0 }},
	{Name: "allocs_per_op", Label: "allocs/cycle", Of: number(func(r *bench.Result) float64 { return r.Client.AllocsPerOp }),
		known: func(r *bench.Result) bool { return r.ThroughputPerS > 0 }},
}

// Headline is the latency that comparisons look at, see Result.Headline.
var Headline = Timing{"headline", "headline", (*bench.Result).Headline, nil}

var timings = []Timing{
	{"response", "response", func(r *bench.Result) *bench.Summary { return r.Latency.Response }, openLoop},
	{"wait", "wait", func(r *bench.Result) *bench.Summary { return r.Latency.Wait }, openLoop},
	{"lag", "lag", func(r *bench.Result) *bench.Summary { return r.Latency.Lag }, openLoop},
	{"service", "service", func(r *bench.Result) *bench.Summary { return r.Latency.Service }, nil},
	{"acquire", "acquire", func(r *bench.Result) *bench.Summary { return r.Latency.Acquire }, nil},
	{"release", "release", func(r *bench.Result) *bench.Summary { return r.Latency.Release }, nil},
	{"cycle", "cycle", func(r *bench.Result) *bench.Summary { return r.Latency.Cycle }, nil},
	{"extend", "extend", func(r *bench.Result) *bench.Summary { return r.Latency.Extend }, extendsOnly},
	{"hold", "hold", func(r *bench.Result) *bench.Summary { return r.Latency.Hold }, nil},
	{"handover", "hand-over", func(r *bench.Result) *bench.Summary { return r.Latency.Handover }, waiting},
	{"handover_remote", "from other process", func(r *bench.Result) *bench.Summary { return r.Latency.HandoverRemote }, waitingProcs},
	{"uncontended", "uncontended", func(r *bench.Result) *bench.Summary { return r.Latency.Uncontended }, waiting},
}

func number(of func(*bench.Result) float64) func(*bench.Result) (float64, error) {
	return func(r *bench.Result) (float64, error) { return of(r), nil }
}

func count(name string, of func(*bench.Result) int64) Figure {
	return Figure{Name: name, Label: label(name), Of: number(func(r *bench.Result) float64 { return float64(of(r)) })}
}

func label(name string) string { return strings.ReplaceAll(name, "_", " ") }

func offered(r *bench.Result) (float64, error) {
	if r.DurationS <= 0 {
		return 0, errors.New("nothing was measured")
	}
	return float64(r.Totals.Offered) / r.DurationS, nil
}

func rate(name string, of func(bench.Totals) (part, whole int64)) Figure {
	return Figure{Name: name, Label: label(name), Unit: bench.UnitShare, counts: of, Of: func(r *bench.Result) (float64, error) {
		part, whole := of(r.Totals)
		if whole == 0 {
			return 0, errors.New("nothing was begun")
		}
		return float64(part) / float64(whole), nil
	}}
}

// goodput is what was acquired of what was asked for, both per second of the measured time.
func goodput(r *bench.Result) (float64, error) {
	if r.Totals.Offered == 0 {
		return 0, errors.New("nothing was offered")
	}
	if r.Holding != nil {
		return 0, errors.New("op hold acquires in the warm-up as well")
	}
	return r.AcquiredPerS * r.DurationS / float64(r.Totals.Offered), nil
}

// secondTrips is the attempts that needed one for their fencing token, for each lock that has one.
func secondTrips(r *bench.Result) (float64, error) {
	if r.Totals.Fenced == 0 {
		return 0, errors.New("no lock had a fencing token (--fencing)")
	}
	return float64(r.Totals.FenceSecondTrips) / float64(r.Totals.Fenced), nil
}

func (f Figure) in(lacks func(bench.Config) string) Figure {
	f.lacks = lacks
	return f
}

// The runs that some figures need.
func openLoop(c bench.Config) string {
	if c.Rate == 0 {
		return "needs an open loop (--rate)"
	}
	return ""
}

func waiting(c bench.Config) string {
	if !c.Waits() {
		return "needs workers that wait for shared names (--keys)"
	}
	return ""
}

func waitingProcs(c bench.Config) string {
	if why := waiting(c); why != "" || c.Procs > 1 {
		return why
	}
	return "needs several processes (--procs)"
}

func extendsOnly(c bench.Config) string {
	if c.Op != bench.Extend {
		return "needs --op extend"
	}
	return ""
}

// AtLeast reports whether the figure is a lower bound: it is of operations that never got
// their lock.
func (f Figure) AtLeast(r *bench.Result) bool { return f.least != nil && f.least(r) }

// Measured is the same, also where it rests on few samples; false where r lacks it.
func (f Figure) Measured(r *bench.Result) (v float64, ok bool) {
	if f.known != nil && !f.known(r) {
		return 0, false
	}
	v, err := f.Of(r)
	return v, err == nil || errors.As(err, new(thinError))
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

// clocks are the three latencies of an acquire, which are also known as acquire.response and so on.
var clocks = []string{"response", "wait", "service"}

// FindFigure returns the figure of a name such as throughput, cycle.p99 or
// acquire.response.max. The error lists what there is.
func FindFigure(name string) (Figure, error) {
	if i := slices.IndexFunc(figures, func(f Figure) bool { return f.Name == name }); i >= 0 {
		return figures[i], nil
	}
	which, statistic, _ := strings.Cut(name, ".")
	if which == "acquire" {
		if clock, rest, ok := strings.Cut(statistic, "."); ok && slices.Contains(clocks, clock) {
			which, statistic = clock, rest
		}
	}
	i := slices.IndexFunc(timings, func(t Timing) bool { return t.Name == which })
	if i < 0 {
		return Figure{}, fmt.Errorf("there is no figure %q%s; there are %s", name, didYouMean(name), figuresHelp())
	}
	f, err := timings[i].Figure(statistic)
	if err != nil {
		return Figure{}, fmt.Errorf("%q: %w", name, err)
	}
	return f, nil
}

// MustFigure is FindFigure of a name that stands in the code.
func MustFigure(name string) Figure {
	f, err := FindFigure(name)
	if err != nil {
		panic(err)
	}
	return f
}

// P is percentile p, such as "99.9".
func (t Timing) P(p string) Figure {
	f, err := t.Figure("p" + p)
	if err != nil {
		panic(err) // p stands in the code
	}
	return f
}

// Figure is what pNN, mean, min or max reads from the latency.
func (t Timing) Figure(statistic string) (Figure, error) {
	samples := int64(1)
	var of func(*bench.Summary) (float64, error)                   // of one that is not empty
	least := func(s *bench.Summary) bool { return s.Censored > 0 } // whether that is a lower bound
	switch statistic {
	case "mean":
		of = func(s *bench.Summary) (float64, error) { return s.Mean, nil }
	case "min":
		of = func(s *bench.Summary) (float64, error) { return float64(s.Min), nil }
		least = func(*bench.Summary) bool { return false }
	case "max":
		of = func(s *bench.Summary) (float64, error) { return float64(s.Max), nil }
	default:
		text, ok := strings.CutPrefix(statistic, "p")
		p, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil || !(p > 0 && p < 100) {
			return Figure{}, fmt.Errorf("%q is no statistic of a latency; there are mean, min, max and percentiles such as p50 or p99.9", statistic)
		}
		of = func(s *bench.Summary) (float64, error) { return percentile(s, p) }
		least = func(s *bench.Summary) bool { return s.CensoredAt(p) }
		samples = bench.TailNeeds(p)
	}
	return Figure{
		Name: t.Name + "." + statistic, Label: t.Label + " " + statistic, Unit: bench.UnitNs, lacks: t.lacks,
		Of: func(r *bench.Result) (float64, error) {
			s := t.Of(r)
			if s == nil || s.Count == 0 {
				return 0, fmt.Errorf("no %s was measured", t.Name)
			}
			return of(s)
		},
		least: func(r *bench.Result) bool {
			s := t.Of(r)
			return s != nil && least(s)
		},
		samples: samples,
		has: func(r *bench.Result) int64 {
			if s := t.Of(r); s != nil {
				return s.Count
			}
			return 0
		},
	}, nil
}

// figuresHelp lists what there is.
func figuresHelp() string {
	names, latencies := figureNames()
	for _, c := range clocks {
		latencies = append(latencies, "acquire."+c)
	}
	return fmt.Sprintf("%s; and .p50, .p99.9 (any percentile), .mean, .min, .max of %s", strings.Join(names, ", "), strings.Join(latencies, ", "))
}

// figureNames is sorted.
func figureNames() (plain, latencies []string) {
	for _, f := range figures {
		plain = append(plain, f.Name)
	}
	for _, t := range timings {
		latencies = append(latencies, t.Name)
	}
	slices.Sort(plain)
	slices.Sort(latencies)
	return plain, latencies
}

// didYouMean names what is closest to a name that does not exist, if anything is close.
func didYouMean(name string) string {
	which, statistic, dotted := strings.Cut(name, ".")
	names, latencies := figureNames()
	if dotted {
		names, statistic = latencies, "."+statistic
	}
	for edits := range 3 {
		if i := slices.IndexFunc(names, func(n string) bool { return near(which, n, edits) }); i >= 0 {
			return fmt.Sprintf(" (did you mean %s%s?)", names[i], statistic)
		}
	}
	return ""
}

// near reports whether a becomes b when at most so many letters are added, dropped or changed.
func near(a, b string, edits int) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	if a == "" || b == "" {
		return len(a)+len(b) <= edits
	}
	return edits > 0 && (near(a[1:], b[1:], edits-1) || near(a[1:], b, edits-1) || near(a, b[1:], edits-1))
}
