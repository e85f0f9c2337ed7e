package view

import (
	"fmt"
	"slices"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
	"muxlock/internal/stats"
)

// sideBySide is the figures that implementations are compared by.
var sideBySide = []result.Figure{
	result.MustFigure("throughput"), result.Headline.P("50"), result.Headline.P("99"), result.MustFigure("acquire.p50"),
	result.MustFigure("cpu_ns_per_op"), result.MustFigure("allocs_per_op"),
}

// compare is one line per implementation: medians over the rounds, and how the reference
// stands to it.
func (b *Blocks) compare(doc result.Document) {
	b.Line("rounds: %d of %s each, in turn; the figures are medians\n", doc.Config.Rounds, doc.Config.Duration)
	picture := Picture(doc)
	b.browser(Blocks{{Bars: &picture}})
	b.Table(compareTable(doc))
	b.Line("%s", legend(doc.Relative))
	b.waiting(doc)
	if len(doc.Config.Faults) > 0 {
		b.Line("")
	}
	for _, impl := range doc.Config.Impls {
		b.impacts(impl+"  ", result.Finished(doc.Results, impl))
	}
	b.latencies(doc)
	for _, round := range rounds(doc.Results) {
		b.heading(fmt.Sprintf("Round %d over time", round))
		b.overTime(slices.DeleteFunc(slices.Clone(doc.Results), func(r *bench.Result) bool { return r.Round != round })...)
	}
	b.browser(runs(doc))
}

// rounds that the results have, in order.
func rounds(results []*bench.Result) (ns []int) {
	for _, r := range results {
		if !slices.Contains(ns, r.Round) {
			ns = append(ns, r.Round)
		}
	}
	return ns
}

func compareTable(doc result.Document) Table {
	t := Table{Columns: append(columns(1, ""), figureColumns(doc, sideBySide)...)}
	t.Columns = slices.Insert(t.Columns, 2, Column{Name: "throughput"})
	t.Columns = append(t.Columns, Column{Name: "p99, times the reference"})
	for _, impl := range doc.Config.Impls {
		row := []string{impl}
		results := result.Of(doc.Results, impl)
		for _, f := range sideBySide {
			row = append(row, medianText(f, results))
		}
		rel := relativeOf(doc, impl)
		stands := standing(rel)
		if len(result.Finished(doc.Results, impl)) == 0 {
			stands = "no finished round"
		}
		p99 := none
		if rel.P99 != nil && rel.Impl != rel.Reference {
			p99 = ratioText(rel.P99)
		}
		t.Rows = append(t.Rows, cells(append(slices.Insert(row, 2, stands), p99)...))
	}
	return t
}

// figureColumns are headed by the figures' labels.
func figureColumns(doc result.Document, figures []result.Figure) (cs []Column) {
	latency := "cycle"
	if doc.Open() {
		latency = "response"
	}
	for _, f := range figures {
		cs = append(cs, Column{Name: strings.Replace(f.Label, result.Headline.Label, latency, 1)})
	}
	return cs
}

func relativeOf(doc result.Document, impl string) result.Relative {
	if i := slices.IndexFunc(doc.Relative, func(r result.Relative) bool { return r.Impl == impl }); i >= 0 {
		return doc.Relative[i]
	}
	return result.Relative{}
}

// standing puts the reference first, so that nobody has to guess what is divided
// by what: "muxlock is 15.2x [14.8..15.9]", or "undecided: 1.02x [0.97..1.08]".
func standing(rel result.Relative) string {
	switch {
	case rel.Impl == "":
		return ""
	case rel.Impl == rel.Reference:
		return "reference"
	case rel.Throughput == nil || rel.Throughput.Min == 0:
		return "-"
	}
	low, high := interval(rel.Throughput) // of this one over the reference: turned round here
	who := rel.Reference + " is "
	if mark := undecided(rel.Throughput); mark != "" {
		who = mark
	}
	return fmt.Sprintf("%s%sx [%s..%s]", who, units.Digits(1/rel.Throughput.Median), units.Digits(1/high), units.Digits(1/low))
}

// legend says what stands behind a ratio.
func legend(rows []result.Relative) string {
	if slices.ContainsFunc(rows, func(r result.Relative) bool { return r.Throughput != nil && r.Throughput.P != nil }) {
		return "[95 % interval]; undecided: the difference may be chance (permutation test of the rounds, p >= 0.05)"
	}
	return fmt.Sprintf("[least..greatest of the rounds]; all undecided: it takes %d rounds to tell a difference from chance", stats.PairsNeeded)
}

// interval of a ratio: what the rounds make certain, else what they showed.
func interval(r *result.Ratio) (low, high float64) {
	if len(r.CI) == 2 {
		return r.CI[0], r.CI[1]
	}
	return r.Min, r.Max
}

// undecided stands before a ratio of which the rounds do not say which side is ahead. Where
// they are too few for any, the legend says it of all.
func undecided(r *result.Ratio) string {
	if r.P != nil && !r.Significant {
		return "undecided: "
	}
	return ""
}

func ratioText(r *result.Ratio) string {
	low, high := interval(r)
	if low == high || high < leastRatio {
		return ratio(r.Median)
	}
	return fmt.Sprintf("%s%s [%s..%s]", undecided(r), ratio(r.Median), units.Digits(low), units.Digits(high))
}

// leastRatio is the least that is written out.
const leastRatio = 0.01

func ratio(v float64) string {
	if v > 0 && v < leastRatio {
		return "<0.01x"
	}
	return units.Digits(v) + "x"
}
