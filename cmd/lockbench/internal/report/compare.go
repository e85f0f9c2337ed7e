package report

import (
	"fmt"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/chart"
	"muxlock/cmd/lockbench/internal/output"
)

// comparison sets the implementations beside each other: the figures, and how each
// stands to the reference.
func comparison(doc output.Document) Section {
	names := impls(doc.Results)
	s := Section{ID: "compare", Title: "Side by side"}
	if len(names) < 2 {
		return s
	}
	s.Note = fmt.Sprintf("Figures are medians over the rounds. Ratios are made within a round; shown are their median and, in brackets and as a line across the bar, %s.", spreadName(doc.Relative))
	throughput := chart.Bars{Title: "throughput, times the reference", X: chart.Axis{Text: ratio}, Mark: 1}
	p99 := chart.Bars{Title: headlineName(doc) + " p99, times the reference (less is better)", X: chart.Axis{Text: ratio}, Mark: 1}
	relative := map[string]bench.Relative{}
	for _, r := range doc.Relative {
		relative[r.Impl] = r
	}
	t := Table{Columns: columns("", "cycles/s", headlineName(doc)+" p50", headlineName(doc)+" p99", "cpu/cycle", "allocs/cycle", "throughput", "p99")}
	for i, impl := range names {
		rs := of(doc.Results, impl)
		rel := relative[impl]
		if rel.Throughput != nil {
			throughput.Rows = append(throughput.Rows, ratioBar(impl, i, rel.Throughput))
		}
		if rel.P99 != nil {
			p99.Rows = append(p99.Rows, ratioBar(impl, i, rel.P99))
		}
		t.Rows = append(t.Rows, []Cell{
			Text(impl),
			count(median(rs, func(r *bench.Result) float64 { return r.ThroughputPerS })),
			medianNs(rs, (*bench.Result).Headline, "50"),
			medianNs(rs, (*bench.Result).Headline, "99"),
			Ns(median(rs, func(r *bench.Result) float64 { return r.Client.CPUNsPerOp })),
			Figure(median(rs, func(r *bench.Result) float64 { return r.Client.AllocsPerOp })),
			ratioCell(rel, rel.Throughput), ratioCell(rel, rel.P99),
		})
	}
	s.Panels = []Panel{{Charts: []Chart{throughput, p99}}}
	s.Tables = []Table{t}
	return s
}

// spreadName says what interval gives.
func spreadName(rows []bench.Relative) string {
	for _, row := range rows {
		if row.Throughput != nil && row.Throughput.P != nil {
			return "its 95 % interval; what begins with ~ may be chance (Mann and Whitney's test, p at least 0.05)"
		}
	}
	return "the least and the greatest of the rounds; it takes 4 rounds to tell a difference from chance"
}

// interval of a ratio: what the rounds make certain, else what they showed.
func interval(r *bench.Ratio) (low, high float64) {
	if len(r.CI) == 2 {
		return r.CI[0], r.CI[1]
	}
	return r.Min, r.Max
}

func ratioBar(impl string, color int, r *bench.Ratio) chart.Bar {
	low, high := interval(r)
	return chart.Bar{Label: impl, Color: color, Value: r.Median, Low: low, High: high, Text: ratioText(r)}
}

func ratioCell(rel bench.Relative, r *bench.Ratio) Cell {
	switch {
	case r == nil:
		return None()
	case rel.Impl == rel.Reference:
		return Cell{Text: "reference", Class: "faint"}
	}
	return Cell{Text: ratioText(r), Title: plain(r.Median)}
}

func ratioText(r *bench.Ratio) string {
	low, high := interval(r)
	if low == high || high < leastRatio {
		return ratio(r.Median)
	}
	chance := ""
	if r.P != nil && !r.Significant {
		chance = "~ "
	}
	return fmt.Sprintf("%s%s [%s..%s]", chance, ratio(r.Median), output.Digits(low), output.Digits(high))
}

// leastRatio is the least that is written out.
const leastRatio = 0.01

func ratio(v float64) string {
	if v > 0 && v < leastRatio {
		return "<0.01x"
	}
	return output.Digits(v) + "x"
}

func count(v float64) Cell { return Cell{Text: output.Number(v), Title: plain(v)} }

// medianNs is the median of a percentile over the rounds that measured it.
func medianNs(results []*bench.Result, which func(*bench.Result) *bench.Summary, p string) Cell {
	var measured []*bench.Result
	for _, r := range results {
		if s := which(r); s != nil && s.Count > 0 {
			measured = append(measured, r)
		}
	}
	if len(measured) == 0 {
		return None()
	}
	return Ns(median(measured, func(r *bench.Result) float64 { return float64(which(r).P[p]) }))
}
