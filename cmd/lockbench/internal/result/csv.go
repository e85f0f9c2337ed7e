package result

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/units"
)

// column is one of a table with a row per result.
type column struct {
	name string
	of   func(*bench.Result) string
}

// order is the columns, and the figures and timings of package bench by their names, which
// have columns of their own. One that is not in it has its columns at the end, so that
// columns never change their place.
var order = strings.Fields(`
	impl round masters workers procs keys seed duration_s throughput_per_s
	offered started acquired refused timeouts errors late dropped
	response wait service release cycle handover handover_remote extend
	jain max_wait_ns mean_wait_ns overlaps fence_violations cpu_ns_per_op allocs_per_op gc_p99_ns sched_p99_ns
	slo_missed valid reasons setting
	offered_per_s acquired_per_s lost_validity late_quorum
	error_rate timeout_rate refused_rate late_rate dropped_rate lost_validity_rate late_quorum_rate
	tool_cpu_ns_per_op tool_cpu_share stall_p99_ns cpu_share lag hold uncontended
	fenced fence_second_trips fence_second_trip_rate`)

// columns: times are in ns; what was not measured is empty.
var columns = func() (all []column) {
	named, names := map[string][]column{}, slices.Clone(order)
	for _, c := range own {
		named[c.name] = []column{c}
	}
	add := func(name string, cols []column) {
		named[name] = cols
		if name != "throughput" && name != "acquire" && !slices.Contains(names, name) { // as throughput_per_s and service
			names = append(names, name)
		}
	}
	for _, f := range bench.Figures() {
		add(f.Name, []column{figureColumn(f)})
	}
	for _, t := range bench.Timings() {
		add(t.Name, timingColumns(t))
	}
	for _, name := range names {
		all = append(all, named[name]...)
	}
	return all
}()

// own is the columns that are no figures.
var own = []column{
	{"impl", func(r *bench.Result) string { return r.Impl }},
	{"round", func(r *bench.Result) string { return strconv.Itoa(r.Round) }},
	{"masters", func(r *bench.Result) string { return strconv.Itoa(r.Masters) }},
	{"workers", func(r *bench.Result) string { return strconv.Itoa(r.Workers) }},
	{"procs", func(r *bench.Result) string { return strconv.Itoa(r.Procs) }},
	{"keys", func(r *bench.Result) string { return strconv.Itoa(r.Keys) }},
	{"seed", func(r *bench.Result) string { return strconv.FormatUint(r.Seed, 10) }},
	{"duration_s", func(r *bench.Result) string { return decimal(r.DurationS) }},
	{"throughput_per_s", func(r *bench.Result) string { return decimal(r.ThroughputPerS) }},
	{"slo_missed", Missed},
	{"valid", func(r *bench.Result) string { return strconv.FormatBool(r.Valid.OK) }},
	{"reasons", func(r *bench.Result) string { return strings.Join(r.Valid.Reasons, "; ") }},
	{"setting", func(r *bench.Result) string { return bench.SettingText(r.Setting) }},
}

// CSV writes a header and a row per result.
func CSV(w io.Writer, doc Document) error {
	rows := make([][]string, 1+len(doc.Results))
	for _, col := range columns {
		rows[0] = append(rows[0], col.name)
		for i, r := range doc.Results {
			rows[1+i] = append(rows[1+i], col.of(r))
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func figureColumn(f bench.Figure) column {
	return column{f.Name, func(r *bench.Result) string {
		v, err := f.Of(r)
		if err != nil {
			return ""
		}
		return decimal(v)
	}}
}

// timingColumns are empty where there was nothing to measure.
func timingColumns(t bench.Timing) []column {
	one := func(suffix string, value func(*bench.Summary) float64) column {
		return column{t.Name + suffix, func(r *bench.Result) string {
			s := t.Of(r)
			if s == nil || s.Count == 0 {
				return ""
			}
			return decimal(value(s))
		}}
	}
	cols := []column{
		one("_count", func(s *bench.Summary) float64 { return float64(s.Count) }),
		one("_min_ns", func(s *bench.Summary) float64 { return float64(s.Min) }),
		one("_mean_ns", func(s *bench.Summary) float64 { return s.Mean }),
	}
	for _, p := range units.Percentiles {
		cols = append(cols, one("_p"+p+"_ns", func(s *bench.Summary) float64 { return float64(s.P[p]) }))
	}
	return append(cols, one("_max_ns", func(s *bench.Summary) float64 { return float64(s.Max) }))
}

// Missed is the objectives that a run did not meet, or that could not be judged.
func Missed(r *bench.Result) string {
	var texts []string
	for _, s := range r.SLO {
		if !s.Pass {
			texts = append(texts, s.Text)
		}
	}
	return strings.Join(texts, "; ")
}

// Name is an implementation at a setting.
func Name(impl string, setting map[string]string) string {
	return strings.TrimRight(impl+"  "+bench.SettingText(setting), " ")
}
