package result

import (
	"maps"
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

// Ratio over rounds.
type Ratio struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	// CI is the 95 % interval of the median, low and high, by bootstrap. Absent, as is
	// P, when so few rounds cannot distinguish a difference from chance.
	CI []float64 `json:"ci,omitempty"`
	// P is the two-sided p-value of Mann and Whitney's test over the figures themselves.
	P           *float64 `json:"p_value,omitempty"`
	Significant bool     `json:"significant"` // P below 0.05
}

// RelativeTo compares every implementation in results with the one named
// reference, in order of first appearance, the reference itself included (its
// ratios are 1). Interrupted runs are left out. No result of the reference: no
// rows.
func RelativeTo(reference string, results []*bench.Result) []Relative {
	byImpl := map[string]map[int]*bench.Result{}
	var impls []string
	for _, r := range results {
		if r.Interrupted() {
			continue
		}
		if byImpl[r.Impl] == nil {
			byImpl[r.Impl] = map[int]*bench.Result{}
			impls = append(impls, r.Impl)
		}
		byImpl[r.Impl][r.Round] = r
	}
	ref := byImpl[reference]
	rows := []Relative{}
	if ref == nil {
		return rows
	}
	for _, impl := range impls {
		rows = append(rows, relative(impl, reference, byImpl[impl], ref))
	}
	return rows
}

func relative(impl, reference string, own, ref map[int]*bench.Result) Relative {
	row := Relative{Impl: impl, Reference: reference, Latency: "cycle"}
	shown := []struct {
		Figure
		to **Ratio
		pairs
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
			if measured && known {
				shown[i].add(v, base)
			}
		}
	}
	for i := range shown {
		*shown[i].to = shown[i].ratio()
	}
	return row
}

// pairs is a figure of two implementations in the rounds that have it of both.
type pairs struct{ own, ref, ratios []float64 }

// add leaves out what cannot be divided.
func (p *pairs) add(own, ref float64) {
	if ref != 0 {
		p.own, p.ref, p.ratios = append(p.own, own), append(p.ref, ref), append(p.ratios, own/ref)
	}
}

func (p *pairs) ratio() *Ratio {
	n := len(p.ratios)
	if n == 0 {
		return nil
	}
	r := &Ratio{Median: stats.Median(p.ratios), Min: slices.Min(p.ratios), Max: slices.Max(p.ratios)}
	if stats.LeastP(n, n) < stats.Alpha {
		low, high := stats.MedianInterval(p.ratios)
		test := stats.MannWhitney(p.own, p.ref)
		r.CI, r.P, r.Significant = []float64{low, high}, &test, test < stats.Alpha
	}
	return r
}
