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

// sideBySide returns the figures of a comparison, beside throughput. The failure rate only appears
// if operations failed, the last ones only if workers waited for each other at shared names.
func sideBySide(doc result.Document) []result.Figure {
	names := []string{"headline.p50", "headline.p99", failures, "acquire.p50", "cpu_ns_per_op", "allocs_per_op"}
	if slices.ContainsFunc(doc.Results, waits) {
		names = append(names, "acquired_per_s", "acquire.p99", "handover.p50", "handover_remote.p50", "jain", "max_wait_ns")
	}
	return shown(doc, names)
}

// shown returns the figures of these names that any run has. It leaves out failures if there were
// none.
func shown(doc result.Document, names []string) (figures []result.Figure) {
	for _, name := range names {
		f := result.MustFigure(name)
		if _, ok := f.Median(doc.Results); ok && (name != failures || failed(doc)) {
			figures = append(figures, f)
		}
	}
	return figures
}

// failures is a figure without which latencies mislead: they are of the operations that got their
// lock.
const failures = "failure_rate"

// failed reports whether operations failed.
func failed(doc result.Document) bool {
	return slices.ContainsFunc(doc.Results, func(r *bench.Result) bool { return r.Totals.Failed > 0 })
}

// failuresMean explains failures, if there were any.
func (b *Blocks) failuresMean(doc result.Document) {
	if !failed(doc) {
		return
	}
	except := ""
	if doc.Open() {
		except = ", except response"
	}
	b.Line("failure rate: operations that never got their lock: refused, timed out, failed with an error or unfinished; the latencies are those of the others%s", except)
}

// compare shows one line per implementation: medians over the rounds, and the ratio of the
// reference to it.
func (b *Blocks) compare(doc result.Document) {
	b.Line("rounds: %d of %s each, in turn; the figures are medians\n", doc.Config.Rounds, doc.Config.Duration)
	b.browser(Blocks{{Bars: new(Picture(doc))}})
	b.Table(compareTable(doc))
	b.Line("%s", legend(doc.Relative))
	b.failuresMean(doc)
	b.handovers(doc.Results...)
	if len(doc.Config.Faults) > 0 {
		b.Line("")
	}
	for _, impl := range doc.Config.Impls {
		b.impacts(impl+"  ", result.Finished(doc.Results, impl))
	}
	b.latencies(doc)
	for round := 1; round <= doc.Config.Rounds; round++ {
		results := slices.DeleteFunc(slices.Clone(doc.Results), func(r *bench.Result) bool { return r.Round != round })
		if len(results) > 0 {
			b.heading(fmt.Sprintf("Round %d over time", round))
			b.overTime(results...)
		}
	}
	b.browser(runs(doc))
}

func compareTable(doc result.Document) Table {
	figures, throughput := sideBySide(doc), result.MustFigure("throughput")
	t := Table{Texts: 1, Heads: append([]string{"", throughput.Label, "throughput"}, labels(doc, figures)...)}
	t.Heads = append(t.Heads, "p99, times the reference")
	relatives := map[string]result.Relative{}
	for _, r := range doc.Relative {
		relatives[r.Impl] = r
	}
	for _, impl := range doc.Config.Impls {
		results, rel := result.Of(doc.Results, impl), relatives[impl]
		stands, p99 := standing(rel), none
		if len(result.Finished(doc.Results, impl)) == 0 {
			stands = "no finished round"
		}
		if rel.P99 != nil && rel.Impl != rel.Reference {
			p99 = ratioText("", rel.P99, false)
		}
		row := append([]string{impl, medianText(throughput, results), stands}, medianTexts(figures, results)...)
		t.Rows = append(t.Rows, cells(append(row, p99)...))
	}
	return t
}

// labels returns the heads of figures.
func labels(doc result.Document, figures []result.Figure) (heads []string) {
	latency := "cycle"
	if doc.Open() {
		latency = "response"
	}
	for _, f := range figures {
		heads = append(heads, strings.Replace(f.Label, result.Headline, latency, 1))
	}
	return heads
}

// standing puts the reference first, so that the ratio is clear: "muxlock is 15.2x [14.8..15.9]",
// or "undecided: 1.02x [0.97..1.08]".
func standing(rel result.Relative) string {
	switch {
	case rel.Impl == "":
		return ""
	case rel.Impl == rel.Reference:
		return "reference"
	case rel.Throughput == nil || rel.Throughput.Min == 0:
		return none
	}
	return ratioText(rel.Reference+" is ", rel.Throughput, true)
}

// legend explains the ratios.
func legend(rows []result.Relative) string {
	if slices.ContainsFunc(rows, func(r result.Relative) bool { return r.Throughput != nil && r.Throughput.P != nil }) {
		return "[95 % interval]; undecided: the difference may be chance (p >= 0.05)"
	}
	return fmt.Sprintf("[least..greatest of the rounds]; all undecided: it takes %d rounds to tell a difference from chance", stats.PairsNeeded)
}

// ratioText writes a ratio of who to the other, with its interval: the 95 % interval, or the range
// of the rounds if they are too few. turned inverts the ratio. It names nobody if the rounds do not
// decide which side is ahead. If they are too few for any decision, the legend says so.
func ratioText(who string, r *result.Ratio, turned bool) string {
	median, low, high := r.Median, r.Min, r.Max
	if len(r.CI) == 2 {
		low, high = r.CI[0], r.CI[1]
	}
	if turned {
		median, low, high = 1/median, 1/high, 1/low
	}
	if r.P != nil && !r.Significant {
		who = "undecided: "
	}
	text := who + units.Digits(median) + "x"
	if low == high {
		return text
	}
	return fmt.Sprintf("%s [%s..%s]", text, units.Digits(low), units.Digits(high))
}
