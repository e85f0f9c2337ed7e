package result

import (
	"maps"
	"math"
	"slices"

	"muxlock/bench"
	"muxlock/internal/stats"
)

// Relative is one implementation against the reference: for each figure the
// ratio within a round, then the median of the rounds and their spread. Above 1
// means more than the reference, which is good for throughput alone. A figure
// that no round had on both sides is absent.
type Relative struct {
	Impl        string `json:"impl"`
	Reference   string `json:"reference"`
	Rounds      int    `json:"rounds"`  // rounds that both finished
	Latency     string `json:"latency"` // what p50 and p99 are of: response or cycle
	Throughput  *Ratio `json:"throughput,omitempty"`
	P50         *Ratio `json:"p50,omitempty"`
	P99         *Ratio `json:"p99,omitempty"`
	CPUPerOp    *Ratio `json:"cpu_per_op,omitempty"`
	AllocsPerOp *Ratio `json:"allocs_per_op,omitempty"`
}

// Ratio over rounds. The rounds are pairs: both sides ran in the same minute.
type Ratio struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	// CI is the 95 % interval that the test inverts, low and high, and P the two-sided p-value of the
	// permutation test of the logarithms. Absent: too few rounds to tell a difference from chance.
	CI          []float64 `json:"ci,omitempty"`
	P           *float64  `json:"p_value,omitempty"`
	Significant bool      `json:"significant"` // P below 0.05; else nothing is decided
}

// RelativeTo compares every implementation in results with the one named
// reference, in order of first appearance, the reference itself included (its
// ratios are 1). Interrupted runs are left out. No result of the reference: no
// rows.
func RelativeTo(reference string, results []*bench.Result) []Relative {
	names, runs := finished(results)
	rows := []Relative{}
	if runs[reference] == nil {
		return rows
	}
	for _, name := range names {
		rows = append(rows, relative(name, reference, runs[name], runs[reference]))
	}
	return rows
}

// finished is the whole runs of each implementation at each setting, by its Name and
// round, and the names in the order of their appearance.
func finished(results []*bench.Result) (names []string, runs map[string]map[int]*bench.Result) {
	runs = map[string]map[int]*bench.Result{}
	for _, r := range results {
		if r.Interrupted() {
			continue
		}
		name := Name(r.Impl, r.Setting)
		if runs[name] == nil {
			runs[name] = map[int]*bench.Result{}
			names = append(names, name)
		}
		runs[name][r.Round] = r
	}
	return names, runs
}

func relative(impl, reference string, own, ref map[int]*bench.Result) Relative {
	row := Relative{Impl: impl, Reference: reference, Latency: "cycle"}
	shown := []struct {
		Figure
		to     **Ratio
		ratios []float64
	}{
		{Figure: MustFigure("throughput"), to: &row.Throughput},
		{Figure: Headline.P("50"), to: &row.P50},
		{Figure: Headline.P("99"), to: &row.P99},
		{Figure: MustFigure("cpu_ns_per_op"), to: &row.CPUPerOp},
		{Figure: MustFigure("allocs_per_op"), to: &row.AllocsPerOp},
	}
	for _, round := range slices.Sorted(maps.Keys(own)) {
		a, b := own[round], ref[round]
		if b == nil {
			continue
		}
		row.Rounds++
		if a.Latency.Response != nil {
			row.Latency = "response"
		}
		for i := range shown {
			v, measured := shown[i].Measured(a)
			base, known := shown[i].Measured(b)
			if measured && known && base != 0 {
				shown[i].ratios = append(shown[i].ratios, v/base)
			}
		}
	}
	for i := range shown {
		*shown[i].to = over(shown[i].ratios)
	}
	return row
}

// over is nil where there are none.
func over(ratios []float64) *Ratio {
	if len(ratios) == 0 {
		return nil
	}
	r := &Ratio{Median: stats.Median(ratios), Min: slices.Min(ratios), Max: slices.Max(ratios)}
	if len(ratios) >= stats.PairsNeeded && r.Min > 0 {
		var logs []float64
		for _, ratio := range ratios {
			logs = append(logs, math.Log(ratio))
		}
		p, low, high := stats.Paired(logs)
		r.CI, r.P, r.Significant = []float64{math.Exp(low), math.Exp(high)}, &p, p < stats.Alpha
	}
	return r
}
