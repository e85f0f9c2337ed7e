package bench

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A figure is a number of a Result that an Objective can name.
type figure struct {
	unit string // as in SLO
	// of looks the figure up; the error says why this result has none.
	of func(*Result) (float64, error)
	// lacks says why no run of a Config can have it; empty: it may.
	lacks func(Config) string
}

// Units of figures, in SLO.Unit.
const (
	UnitNs    = "ns"
	UnitShare = "share" // 0 to 1
	UnitCount = ""
)

// plainFigures are those that are one number; latencies are found by the names of
// their fields.
var plainFigures = map[string]figure{
	"throughput":         plain(UnitCount, func(r *Result) float64 { return r.ThroughputPerS }),
	"error_rate":         rate(func(t Totals) (int64, int64) { return t.Errors, t.Started }),
	"timeout_rate":       rate(func(t Totals) (int64, int64) { return t.Timeouts, t.Started }),
	"refused_rate":       rate(func(t Totals) (int64, int64) { return t.Refused, t.Started }),
	"late_rate":          rate(func(t Totals) (int64, int64) { return t.Late, t.Started }).in(openLoop),
	"dropped_rate":       rate(func(t Totals) (int64, int64) { return t.Dropped, t.Offered }).in(openLoop),
	"lost_validity_rate": rate(func(t Totals) (int64, int64) { return t.LostValidity, t.Quorums() }),
	"late_quorum_rate":   rate(func(t Totals) (int64, int64) { return t.LateQuorum, t.Quorums() }),
	"overlaps":           plain(UnitCount, func(r *Result) float64 { return float64(r.Safety.Overlaps) }),
	"fence_violations":   plain(UnitCount, func(r *Result) float64 { return float64(r.Safety.FenceViolations) }),
	"jain":               plain(UnitCount, func(r *Result) float64 { return r.Fairness.Jain }),
	"max_wait_ns":        plain(UnitNs, func(r *Result) float64 { return float64(r.Fairness.MaxWaitNs) }),
	"cpu_ns_per_op":      plain(UnitNs, func(r *Result) float64 { return r.Client.CPUNsPerOp }),
	"allocs_per_op":      plain(UnitCount, func(r *Result) float64 { return r.Client.AllocsPerOp }),
	"gc_p99_ns":          plain(UnitNs, func(r *Result) float64 { return float64(r.Client.GCP99Ns) }),
	"sched_p99_ns":       plain(UnitNs, func(r *Result) float64 { return float64(r.Client.SchedP99Ns) }),
	"cpu_share":          plain(UnitShare, func(r *Result) float64 { return r.Client.CPUShare }),
}

func plain(unit string, of func(*Result) float64) figure {
	return figure{unit: unit, of: func(r *Result) (float64, error) { return of(r), nil }}
}

func rate(of func(Totals) (part, whole int64)) figure {
	return figure{unit: UnitShare, of: func(r *Result) (float64, error) {
		part, whole := of(r.Totals)
		if whole == 0 {
			return 0, fmt.Errorf("nothing was begun")
		}
		return float64(part) / float64(whole), nil
	}}
}

func (f figure) in(lacks func(Config) string) figure {
	f.lacks = lacks
	return f
}

// The runs that some figures need.
func openLoop(c Config) string {
	if c.Rate == 0 {
		return "needs an open loop (--rate)"
	}
	return ""
}

func waiting(c Config) string {
	if !c.waits() {
		return "needs workers that wait for shared names (--keys)"
	}
	return ""
}

func waitingProcs(c Config) string {
	if why := waiting(c); why != "" || c.procs() > 1 {
		return why
	}
	return "needs several processes (--procs)"
}

func extendsOnly(c Config) string {
	if c.Op != Extend {
		return "needs --op extend"
	}
	return ""
}

// latencyLacks is by the JSON names in Latencies; the others are in every run.
var latencyLacks = map[string]func(Config) string{
	"response": openLoop, "wait": openLoop, "lag": openLoop,
	"handover": waiting, "uncontended": waiting, "handover_remote": waitingProcs,
	"extend": extendsOnly,
}

// clocks are the three latencies of an acquire, which are also known as acquire.response and so on.
var clocks = []string{"response", "wait", "service"}

// latencyFields maps the JSON names of Latencies to the fields.
var latencyFields = func() map[string]int {
	fields := map[string]int{}
	for i, t := 0, reflect.TypeFor[Latencies](); i < t.NumField(); i++ {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[name] = i
	}
	return fields
}()

// findFigure returns the figure of a name such as throughput, cycle.p99 or
// acquire.response.max.
func findFigure(name string) (figure, error) {
	if f, ok := plainFigures[name]; ok {
		return f, nil
	}
	which, statistic, _ := strings.Cut(name, ".")
	if which == "acquire" {
		if clock, rest, ok := strings.Cut(statistic, "."); ok && slices.Contains(clocks, clock) {
			which, statistic = clock, rest
		}
	}
	field, ok := latencyFields[which]
	if !ok {
		return figure{}, fmt.Errorf("there is no figure %q%s; there are %s", name, didYouMean(name), figuresHelp())
	}
	of, err := findStatistic(statistic)
	if err != nil {
		return figure{}, fmt.Errorf("%q: %w", name, err)
	}
	return figure{UnitNs, func(r *Result) (float64, error) {
		s := reflect.ValueOf(r.Latency).Field(field).Interface().(*Summary)
		if s == nil || s.Count == 0 {
			return 0, fmt.Errorf("no %s was measured", which)
		}
		return of(s)
	}, latencyLacks[which]}, nil
}

// findStatistic returns what pNN, mean, min or max reads from a Summary that is not empty.
func findStatistic(name string) (func(*Summary) (float64, error), error) {
	switch name {
	case "mean":
		return func(s *Summary) (float64, error) { return s.Mean, nil }, nil
	case "min":
		return func(s *Summary) (float64, error) { return float64(s.Min), nil }, nil
	case "max":
		return func(s *Summary) (float64, error) { return float64(s.Max), nil }, nil
	}
	number, ok := strings.CutPrefix(name, "p")
	p, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(p > 0 && p < 100) {
		return nil, fmt.Errorf("%q is no statistic of a latency; there are mean, min, max and percentiles such as p50 or p99.9", name)
	}
	return func(s *Summary) (float64, error) { return s.Percentile(p) }, nil
}

// Percentile reads one of the usual percentiles, or any from the histogram, and
// refuses one that rests on too few samples.
func (s *Summary) Percentile(p float64) (float64, error) {
	if s.Thin(p) {
		beyond := float64(s.Count) * min(p, 100-p) / 100
		return 0, fmt.Errorf("%.3g of %d samples lie beyond it, %d are needed", beyond, s.Count, tailLeast)
	}
	if v, ok := s.P[strconv.FormatFloat(p, 'f', -1, 64)]; ok {
		return float64(v), nil
	}
	h, err := s.Histogram()
	if err != nil || s.HDR == "" {
		return 0, fmt.Errorf("the result keeps no such percentile")
	}
	return float64(h.hdr.ValueAtPercentile(p)), nil
}

// figuresHelp lists what there is.
func figuresHelp() string {
	latencies := slices.Sorted(maps.Keys(latencyFields))
	for _, c := range clocks {
		latencies = append(latencies, "acquire."+c)
	}
	return fmt.Sprintf("%s; and .p50, .p99.9 (any percentile), .mean, .min, .max of %s",
		strings.Join(slices.Sorted(maps.Keys(plainFigures)), ", "), strings.Join(latencies, ", "))
}

// didYouMean names what is closest to a name that does not exist, if anything is close.
func didYouMean(name string) string {
	which, statistic, dotted := strings.Cut(name, ".")
	best, closest := "", 3
	try := func(given, real, rest string) {
		if d := distance(given, real); d < closest {
			best, closest = real+rest, d
		}
	}
	for _, real := range slices.Sorted(maps.Keys(plainFigures)) {
		try(name, real, "")
	}
	if dotted {
		for _, real := range slices.Sorted(maps.Keys(latencyFields)) {
			try(which, real, "."+statistic)
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// distance is Levenshtein's: how many letters to add, drop or change.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
