package output

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"

	"muxlock/bench"
)

// column is one of a table with a row per result.
type column struct {
	name string
	of   func(*bench.Result) string
}

// columns never change their place: new ones come at the end. Times are in ns; what
// was not measured is empty.
var columns = slices.Concat(
	[]column{
		{"impl", func(r *bench.Result) string { return r.Impl }},
		integer("round", func(r *bench.Result) int64 { return int64(r.Round) }),
		integer("masters", func(r *bench.Result) int64 { return int64(r.Masters) }),
		integer("workers", func(r *bench.Result) int64 { return int64(r.Workers) }),
		integer("procs", func(r *bench.Result) int64 { return int64(r.Procs) }),
		integer("keys", func(r *bench.Result) int64 { return int64(r.Keys) }),
		{"seed", func(r *bench.Result) string { return strconv.FormatUint(r.Seed, 10) }},
		decimal("duration_s", func(r *bench.Result) float64 { return r.DurationS }),
		decimal("throughput_per_s", func(r *bench.Result) float64 { return r.ThroughputPerS }),
		integer("offered", func(r *bench.Result) int64 { return r.Totals.Offered }),
		integer("started", func(r *bench.Result) int64 { return r.Totals.Started }),
		integer("acquired", func(r *bench.Result) int64 { return r.Totals.Acquired }),
		integer("refused", func(r *bench.Result) int64 { return r.Totals.Refused }),
		integer("timeouts", func(r *bench.Result) int64 { return r.Totals.Timeouts }),
		integer("errors", func(r *bench.Result) int64 { return r.Totals.Errors }),
		integer("late", func(r *bench.Result) int64 { return r.Totals.Late }),
		integer("dropped", func(r *bench.Result) int64 { return r.Totals.Dropped }),
	},
	summaryColumns("response", func(l bench.Latencies) *bench.Summary { return l.Response }),
	summaryColumns("wait", func(l bench.Latencies) *bench.Summary { return l.Wait }),
	summaryColumns("service", func(l bench.Latencies) *bench.Summary { return l.Service }),
	summaryColumns("release", func(l bench.Latencies) *bench.Summary { return l.Release }),
	summaryColumns("cycle", func(l bench.Latencies) *bench.Summary { return l.Cycle }),
	summaryColumns("handover", func(l bench.Latencies) *bench.Summary { return l.Handover }),
	summaryColumns("handover_remote", func(l bench.Latencies) *bench.Summary { return l.HandoverRemote }),
	summaryColumns("extend", func(l bench.Latencies) *bench.Summary { return l.Extend }),
	[]column{
		decimal("jain", func(r *bench.Result) float64 { return r.Fairness.Jain }),
		integer("max_wait_ns", func(r *bench.Result) int64 { return r.Fairness.MaxWaitNs }),
		integer("mean_wait_ns", func(r *bench.Result) int64 { return r.Fairness.MeanWaitNs }),
		integer("overlaps", func(r *bench.Result) int64 { return r.Safety.Overlaps }),
		integer("fence_violations", func(r *bench.Result) int64 { return r.Safety.FenceViolations }),
		decimal("cpu_ns_per_op", func(r *bench.Result) float64 { return r.Client.CPUNsPerOp }),
		decimal("allocs_per_op", func(r *bench.Result) float64 { return r.Client.AllocsPerOp }),
		integer("gc_p99_ns", func(r *bench.Result) int64 { return r.Client.GCP99Ns }),
		integer("sched_p99_ns", func(r *bench.Result) int64 { return r.Client.SchedP99Ns }),
		{"slo_missed", missed},
		{"valid", func(r *bench.Result) string { return strconv.FormatBool(r.Valid.OK) }},
		{"reasons", func(r *bench.Result) string { return strings.Join(r.Valid.Reasons, "; ") }},
		{"setting", func(r *bench.Result) string { return settingText(r.Setting) }},
	},
)

// CSV writes a header and a row per result.
func CSV(w io.Writer, doc Document) error {
	b := &buffer{}
	c := csv.NewWriter(b)
	row := make([]string, len(columns))
	for i, col := range columns {
		row[i] = col.name
	}
	_ = c.Write(row) // to memory
	for _, r := range doc.Results {
		for i, col := range columns {
			row[i] = col.of(r)
		}
		_ = c.Write(row)
	}
	c.Flush()
	return b.flush(w)
}

func integer(name string, of func(*bench.Result) int64) column {
	return column{name, func(r *bench.Result) string { return strconv.FormatInt(of(r), 10) }}
}

func decimal(name string, of func(*bench.Result) float64) column {
	return column{name, func(r *bench.Result) string { return strconv.FormatFloat(of(r), 'f', -1, 64) }}
}

// summaryColumns are empty where there was nothing to measure.
func summaryColumns(name string, of func(bench.Latencies) *bench.Summary) []column {
	one := func(suffix string, value func(*bench.Summary) float64) column {
		return column{name + suffix, func(r *bench.Result) string {
			s := of(r.Latency)
			if s == nil || s.Count == 0 {
				return ""
			}
			return strconv.FormatFloat(value(s), 'f', -1, 64)
		}}
	}
	cols := []column{
		one("_count", func(s *bench.Summary) float64 { return float64(s.Count) }),
		one("_min_ns", func(s *bench.Summary) float64 { return float64(s.Min) }),
		one("_mean_ns", func(s *bench.Summary) float64 { return s.Mean }),
	}
	for _, p := range Percentiles {
		cols = append(cols, one("_p"+p+"_ns", func(s *bench.Summary) float64 { return float64(s.P[p]) }))
	}
	return append(cols, one("_max_ns", func(s *bench.Summary) float64 { return float64(s.Max) }))
}

// missed is the objectives that were not met, or could not be judged.
func missed(r *bench.Result) string {
	var texts []string
	for _, s := range r.SLO {
		if !s.Pass {
			texts = append(texts, s.Text)
		}
	}
	return strings.Join(texts, "; ")
}
