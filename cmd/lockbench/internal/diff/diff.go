// Package diff compares results that were measured at different times: what is
// better or worse by more than chance, and what else was different between them.
package diff

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/output"
	"muxlock/internal/stats"
)

// Verdicts of a Row.
const (
	Better  = "better"
	Worse   = "worse"
	Chance  = "~"               // the difference may be none
	TooFew  = "too few rounds"  // no difference could be told from chance
	Missing = "too few samples" // a side did not measure it, or with fewer than 10 samples beyond it
)

// Row is one figure of one implementation in two files: medians over the rounds.
type Row struct {
	Impl       string  `json:"impl"`
	File       string  `json:"file"`   // compared with the first file
	Figure     string  `json:"figure"` // throughput, response_p99, ...
	Unit       string  `json:"unit"`   // ns, or empty: a number
	OldRounds  int     `json:"old_rounds"`
	NewRounds  int     `json:"new_rounds"`
	Old        float64 `json:"old"`
	New        float64 `json:"new"`
	Ratio      float64 `json:"ratio"` // new over old; 0 when there is none
	Verdict    string  `json:"verdict"`
	Regression bool    `json:"regression"` // worse, by more than the limit, where it counts
	// CI is the 95 % interval of Ratio, low and high, and P the p-value of Mann and
	// Whitney's test. Absent: too few rounds.
	CI []float64 `json:"ci,omitempty"`
	P  *float64  `json:"p_value,omitempty"`
}

// figure is what is compared.
type figure struct {
	name   string
	unit   string
	more   bool // more is better
	counts bool // its regression is one of the whole
	of     func(*bench.Result) (v float64, ok bool)
}

// figures, with the latency of an open loop only where both sides have one.
func figures(open bool) []figure {
	latency, of := "cycle", func(r *bench.Result) *bench.Summary { return r.Latency.Cycle }
	if open {
		latency, of = "response", func(r *bench.Result) *bench.Summary { return r.Latency.Response }
	}
	percentile := func(name string, p float64, counts bool) figure {
		return figure{latency + "_" + name, bench.UnitNs, false, counts, func(r *bench.Result) (float64, bool) {
			v, err := of(r).Percentile(p)
			return v, err == nil
		}}
	}
	return []figure{
		{"throughput", bench.UnitCount, true, true, func(r *bench.Result) (float64, bool) { return r.ThroughputPerS, true }},
		percentile("p50", 50, true), percentile("p99", 99, true), percentile("p99.9", 99.9, false),
		{"cpu_per_op", bench.UnitNs, false, false, func(r *bench.Result) (float64, bool) { return r.Client.CPUNsPerOp, r.Client.CPUNsPerOp > 0 }},
		{"allocs_per_op", bench.UnitCount, false, false, func(r *bench.Result) (float64, bool) { return r.Client.AllocsPerOp, r.ThroughputPerS > 0 }},
	}
}

// Rows compares the results of a later file with those of an earlier one, for every
// implementation that is in both. limit is how much worse throughput, p50 or p99 may
// become: 0.05 is 5 %. Runs that were cut short are left out.
func Rows(older, newer []*bench.Result, file string, limit float64) (rows []Row) {
	for _, impl := range Impls(older) {
		was, is := of(older, impl), of(newer, impl)
		if len(was) == 0 || len(is) == 0 {
			continue
		}
		open := !slices.ContainsFunc(slices.Concat(was, is), func(r *bench.Result) bool { return r.Latency.Response == nil })
		for _, f := range figures(open) {
			rows = append(rows, f.row(impl, file, was, is, limit))
		}
	}
	return rows
}

// Impls is the implementations with a whole run, in the order of their appearance.
func Impls(results []*bench.Result) (impls []string) {
	for _, r := range results {
		if !r.Interrupted() && !slices.Contains(impls, r.Impl) {
			impls = append(impls, r.Impl)
		}
	}
	return impls
}

func of(results []*bench.Result, impl string) (own []*bench.Result) {
	for _, r := range results {
		if r.Impl == impl && !r.Interrupted() {
			own = append(own, r)
		}
	}
	return own
}

func (f figure) row(impl, file string, older, newer []*bench.Result, limit float64) Row {
	was, is := f.values(older), f.values(newer)
	row := Row{Impl: impl, File: file, Figure: f.name, Unit: f.unit, OldRounds: len(was), NewRounds: len(is), Verdict: Missing}
	if len(was) == 0 || len(is) == 0 {
		return row
	}
	row.Old, row.New = stats.Median(was), stats.Median(is)
	if slices.Min(was) > 0 {
		row.Ratio = row.New / row.Old
	}
	if stats.LeastP(len(was), len(is)) >= stats.Alpha {
		row.Verdict = TooFew
		return row
	}
	p := stats.MannWhitney(was, is)
	row.P = &p
	if row.Ratio > 0 {
		low, high := stats.RatioInterval(was, is)
		row.CI = []float64{low, high}
	}
	switch {
	case p >= stats.Alpha || row.New == row.Old:
		row.Verdict = Chance
	case (row.New > row.Old) == f.more:
		row.Verdict = Better
	default:
		row.Verdict = Worse
		row.Regression = f.counts && math.Abs(row.New-row.Old) > limit*row.Old
	}
	return row
}

// values leaves out runs that have none; when a third of them has none it is not
// a figure of these runs.
func (f figure) values(results []*bench.Result) (vs []float64) {
	for _, r := range results {
		if v, ok := f.of(r); ok {
			vs = append(vs, v)
		}
	}
	if 3*len(vs) < 2*len(results) {
		return nil
	}
	return vs
}

// Setting is one that was not the same in both files, by its name in the document.
type Setting struct {
	Name string `json:"name"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

// expected is what differs between any two runs, or says nothing about the figures.
var expected = []string{"config.command", "config.key_prefix", "config.masters", "config.seed", "config.rounds", "config.reference",
	"config.impls", "config.slo", "config.profile", "tool.commit", "tool.version"}

// Settings tells what else was different: workload, masters, machine, Go.
func Settings(older, newer *output.Document) (differ []Setting) {
	was, is := flat(older), flat(newer)
	names := maps.Clone(was)
	maps.Copy(names, is)
	for name := range names {
		if !slices.Contains(expected, name) && !reflect.DeepEqual(was[name], is[name]) {
			differ = append(differ, Setting{name, text(was[name]), text(is[name])})
		}
	}
	if n, m := len(older.Config.Masters), len(newer.Config.Masters); n != m {
		differ = append(differ, Setting{"masters", text(n), text(m)})
	}
	slices.SortFunc(differ, func(a, b Setting) int { return cmp.Compare(a.Name, b.Name) })
	return differ
}

// flat is config, env and tool as JSON names them.
func flat(doc *output.Document) map[string]any {
	all := map[string]any{}
	for section, v := range map[string]any{"config": doc.Config, "env": doc.Env, "tool": doc.Tool} {
		b, _ := json.Marshal(v) // it was JSON
		fields := map[string]any{}
		_ = json.Unmarshal(b, &fields)
		for name, v := range fields {
			all[section+"."+name] = v
		}
	}
	return all
}

func text(v any) string {
	if v == nil {
		return "-"
	}
	b, _ := json.Marshal(v)
	return string(b)
}
