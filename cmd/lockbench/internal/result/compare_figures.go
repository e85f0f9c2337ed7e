package result

import (
	"math"
	"slices"

	"muxlock/bench"
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

// Row is one figure of one implementation at one setting in two files: medians over the rounds.
type Row struct {
	Impl       string            `json:"impl"`
	Setting    map[string]string `json:"setting,omitempty"` // of a sweep
	File       string            `json:"file"`              // compared with the first file
	Figure     string            `json:"figure"`            // throughput, response_p99, ...
	Unit       string            `json:"unit"`              // ns, or empty: a number
	OldRounds  int               `json:"old_rounds"`
	NewRounds  int               `json:"new_rounds"`
	Old        float64           `json:"old"`
	New        float64           `json:"new"`
	Ratio      float64           `json:"ratio"` // new over old; 0 when there is none
	Verdict    string            `json:"verdict"`
	Regression bool              `json:"regression"` // worse, by more than the limit, where it counts
	// CI is the 95 % interval of Ratio, low and high, and P the p-value of Mann and
	// Whitney's test. Absent: too few rounds.
	CI []float64 `json:"ci,omitempty"`
	P  *float64  `json:"p_value,omitempty"`
}

// compared is a figure of bench under the name that it has in a Row.
type compared struct {
	name   string
	counts bool // its regression is one of the whole
	Figure
}

// comparedFigures has the latency of an open loop only where both sides have one.
func comparedFigures(open bool) []compared {
	latency := "cycle"
	if open {
		latency = "response"
	}
	return []compared{
		{"throughput", true, MustFigure("throughput")},
		{latency + "_p50", true, MustFigure(latency + ".p50")},
		{latency + "_p99", true, MustFigure(latency + ".p99")},
		{latency + "_p99.9", false, MustFigure(latency + ".p99.9")},
		{"failure_rate", true, MustFigure("failure_rate")},
		{"cpu_per_op", false, MustFigure("cpu_ns_per_op")},
		{"allocs_per_op", false, MustFigure("allocs_per_op")},
	}
}

// Rows compares the results of a later file with those of an earlier one, for every
// implementation and setting that is in both. limit is how much worse throughput, p50 or
// p99 may become: 0.05 is 5 %. Runs that were cut short are left out.
func Rows(older, newer []*bench.Result, file string, limit float64) (rows []Row) {
	names, before := finished(older)
	_, after := finished(newer)
	for _, name := range names {
		was, is := before[name], after[name]
		if len(is) == 0 {
			continue
		}
		open := !slices.ContainsFunc(slices.Concat(was, is), func(r *bench.Result) bool { return r.Latency.Response == nil })
		for _, f := range comparedFigures(open) {
			rows = append(rows, f.row(file, was, is, limit))
		}
	}
	return rows
}

// finished is the whole runs of each implementation at each setting by its Name, in the
// order of their appearance.
func finished(results []*bench.Result) (names []string, runs map[string][]*bench.Result) {
	runs = map[string][]*bench.Result{}
	for _, r := range results {
		if r.Interrupted() {
			continue
		}
		name := Name(r.Impl, r.Setting)
		if runs[name] == nil {
			names = append(names, name)
		}
		runs[name] = append(runs[name], r)
	}
	return names, runs
}

func (f compared) row(file string, older, newer []*bench.Result, limit float64) Row {
	was, is := f.values(older), f.values(newer)
	row := Row{Impl: newer[0].Impl, Setting: newer[0].Setting, File: file, Figure: f.name, Unit: f.Unit, OldRounds: len(was), NewRounds: len(is), Verdict: Missing}
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
	case (row.New > row.Old) == f.More:
		row.Verdict = Better
	default:
		row.Verdict = Worse
		row.Regression = f.counts && math.Abs(row.New-row.Old) > limit*row.Old
	}
	return row
}

// values leaves out runs that have none, or rest on too few samples; when a third of them has none it is not
// a figure of these runs.
func (f compared) values(results []*bench.Result) (vs []float64) {
	for _, r := range results {
		_, known := f.Measured(r)
		if v, err := f.Of(r); known && err == nil {
			vs = append(vs, v)
		}
	}
	if 3*len(vs) < 2*len(results) {
		return nil
	}
	return vs
}
