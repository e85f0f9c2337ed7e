package view

import (
	"fmt"
	"slices"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// sideBySide is the figures that implementations are compared by.
var sideBySide = []bench.Figure{
	bench.MustFigure("throughput"), bench.Headline.P("50"), bench.Headline.P("99"), bench.MustFigure("acquire.p50"),
	bench.MustFigure("cpu_ns_per_op"), bench.MustFigure("allocs_per_op"),
}

// compare is one line per implementation: medians over the rounds, and how the reference
// stands to it.
func (b *Blocks) compare(doc result.Document, caveats map[string]string) {
	b.header(doc)
	b.Line("rounds: %d of %s each, in turn; the figures are medians\n", doc.Config.Rounds, doc.Config.Duration)
	b.Table(compareTable(doc, doc.Config.Impls))
	if certain(doc.Relative) {
		b.Line("[95 %% interval]; ~ is no more than chance (Mann-Whitney, p >= 0.05)")
	} else {
		b.Line("[least..greatest of the rounds]; it takes 4 rounds to tell a difference from chance")
	}
	b.waiting(doc)
	if len(doc.Config.Faults) > 0 {
		b.Line("")
	}
	for _, impl := range doc.Config.Impls {
		b.impacts(impl+"  ", result.Finished(doc.Results, impl))
	}
	b.Line("")
	b.objectives(doc)
	b.warnings(doc.Results)
	if len(caveats) > 0 {
		b.Line("what they do not promise, and what they ran on:")
		b.caveats(doc.Config.Impls, caveats)
	}
}

// comparison sets the implementations beside each other on a page.
func comparison(doc result.Document) Section {
	s := Section{ID: "compare", Title: "Side by side"}
	impls := result.Impls(doc.Results)
	if len(impls) < 2 {
		return s
	}
	spread := "the least and the greatest of the rounds; it takes 4 rounds to tell a difference from chance"
	if certain(doc.Relative) {
		spread = "its 95 % interval; what begins with ~ may be chance (Mann and Whitney's test, p at least 0.05)"
	}
	s.Note = fmt.Sprintf("Figures are medians over the rounds. Ratios are made within a round; shown are their median and, in brackets and as a line across the bar, %s.", spread)
	throughput := Bars{Title: "throughput, times the reference", X: Axis{Text: ratio}, Mark: 1}
	p99 := Bars{Title: headlineName(doc) + " p99, times the reference (less is better)", X: Axis{Text: ratio}, Mark: 1}
	relative := relatives(doc)
	for i, impl := range impls {
		rel := relative[impl]
		if rel.Throughput != nil {
			throughput.Rows = append(throughput.Rows, ratioBar(impl, i, rel.Throughput))
		}
		if rel.P99 != nil {
			p99.Rows = append(p99.Rows, ratioBar(impl, i, rel.P99))
		}
	}
	s.Panels = []Panel{{Charts: []Chart{throughput, p99}}}
	s.Tables = []Table{compareTable(doc, impls)}
	return s
}

func compareTable(doc result.Document, impls []string) Table {
	t := Table{Columns: append(columns(""), figureColumns(doc, sideBySide)...)}
	t.Columns = append(t.Columns, Column{Name: "throughput", In: TerminalOnly}, Column{Name: "throughput", In: PageOnly}, Column{Name: "p99", In: PageOnly})
	relative := relatives(doc)
	for _, impl := range impls {
		row := []Cell{words(impl)}
		results := result.Of(doc.Results, impl)
		for _, f := range sideBySide {
			row = append(row, medianCell(f, results))
		}
		rel := relative[impl]
		stands := standing(rel)
		if len(result.Finished(doc.Results, impl)) == 0 {
			stands = "no finished round"
		}
		t.Rows = append(t.Rows, append(row, words(stands), ratioCell(rel, rel.Throughput), ratioCell(rel, rel.P99)))
	}
	return t
}

// figureColumns are headed by the figures' labels.
func figureColumns(doc result.Document, figures []bench.Figure) (cs []Column) {
	for _, f := range figures {
		cs = append(cs, Column{Name: strings.Replace(f.Label, bench.Headline.Label, headlineName(doc), 1)})
	}
	return cs
}

func relatives(doc result.Document) map[string]bench.Relative {
	m := map[string]bench.Relative{}
	for _, r := range doc.Relative {
		m[r.Impl] = r
	}
	return m
}

// standing puts the reference first, so that nobody has to guess what is divided
// by what: "muxlock is 15.2x [14.8..15.9]". What may be chance begins with ~.
func standing(rel bench.Relative) string {
	switch {
	case rel.Impl == "":
		return ""
	case rel.Impl == rel.Reference:
		return "reference"
	case rel.Throughput == nil || rel.Throughput.Min == 0:
		return "-"
	}
	low, high := interval(rel.Throughput) // of this one over the reference: turned round here
	return fmt.Sprintf("%s%s is %sx [%s..%s]", chanceMark(rel.Throughput), rel.Reference, units.Digits(1/rel.Throughput.Median), units.Digits(1/high), units.Digits(1/low))
}

// certain tells whether there were rounds enough to tell a difference from chance.
func certain(rows []bench.Relative) bool {
	return slices.ContainsFunc(rows, func(r bench.Relative) bool { return r.Throughput != nil && r.Throughput.P != nil })
}

// interval of a ratio: what the rounds make certain, else what they showed.
func interval(r *bench.Ratio) (low, high float64) {
	if len(r.CI) == 2 {
		return r.CI[0], r.CI[1]
	}
	return r.Min, r.Max
}

func chanceMark(r *bench.Ratio) string {
	if r.P != nil && !r.Significant {
		return "~ "
	}
	return ""
}

func ratioBar(impl string, color int, r *bench.Ratio) Bar {
	low, high := interval(r)
	return Bar{Label: impl, Color: color, Value: r.Median, Low: low, High: high, Text: ratioText(r)}
}

func ratioCell(rel bench.Relative, r *bench.Ratio) Cell {
	switch {
	case r == nil:
		return none
	case rel.Impl == rel.Reference:
		return Cell{Text: "reference", Class: Faint}
	}
	return Cell{Text: ratioText(r), Title: plain(r.Median)}
}

func ratioText(r *bench.Ratio) string {
	low, high := interval(r)
	if low == high || high < leastRatio {
		return ratio(r.Median)
	}
	return fmt.Sprintf("%s%s [%s..%s]", chanceMark(r), ratio(r.Median), units.Digits(low), units.Digits(high))
}

// leastRatio is the least that is written out.
const leastRatio = 0.01

func ratio(v float64) string {
	if v > 0 && v < leastRatio {
		return "<0.01x"
	}
	return units.Digits(v) + "x"
}

// headlineName is the latency that comparisons look at.
func headlineName(doc result.Document) string {
	if doc.Open() {
		return "response"
	}
	return "cycle"
}
