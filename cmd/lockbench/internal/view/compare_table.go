package view

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
	"muxlock/internal/stats"
)

// compare shows a table for each load: where nothing contends, with the lone caller beside it, and where callers want the
// same names.
func (b *Blocks) compare(doc result.Document, traits map[string]Trait) {
	b.browser(Blocks{{Bars: Picture(doc)}})
	own, _ := doc.Of(result.OwnNames)
	lone, _ := doc.Of(result.LoneCaller)
	one, _ := doc.Of(result.OneName)
	switch {
	case len(doc.Config.Loads) > 0:
		b.comparison(own, lone)
		b.comparison(one, result.Document{})
	default:
		b.comparison(doc, result.Document{})
	}
	b.Line("")
	b.Line("%s", legend(doc.Relative))
	b.apart(doc)
	b.failuresMean(doc)
	b.handovers(doc.Results...)
	b.found(doc, traits)
	for _, part := range doc.Parts() {
		b.details(part)
	}
	b.browser(runs(doc))
}

// comparison shows one line per implementation: medians over the rounds, and ratios to the reference.
func (b *Blocks) comparison(doc, lone result.Document) {
	b.Line("")
	b.heading(contention(doc.Config.Config))
	b.Line("%s; medians of %d rounds of %s, in turn", contention(doc.Config.Config), doc.Config.Rounds, doc.Config.Duration)
	columns := alone(doc)
	if slices.ContainsFunc(doc.Results, waits) {
		columns = contended(doc)
	}
	t := Table{Texts: 1, Heads: []string{""}}
	for _, c := range append(columns, besides(lone)...) {
		t.Heads = append(t.Heads, c.head)
		for i, impl := range doc.Config.Impls {
			if i == len(t.Rows) {
				t.Rows = append(t.Rows, cells(impl))
			}
			t.Rows[i] = append(t.Rows[i], Cell{Text: c.cell(impl)})
		}
	}
	b.Table(t)
}

// details shows what a browser has room for.
func (b *Blocks) details(doc result.Document) {
	if len(doc.Config.Faults) > 0 {
		b.Line("")
	}
	for _, impl := range doc.Config.Impls {
		b.impacts(impl+"  ", result.Finished(doc.Results, impl))
	}
	b.browser(Blocks{{Line: contention(doc.Config.Config)}})
	b.latencies(doc)
	for round := 1; round <= doc.Config.Rounds; round++ {
		results := slices.DeleteFunc(slices.Clone(doc.Results), func(r *bench.Result) bool { return r.Round != round })
		if len(results) > 0 {
			b.heading(fmt.Sprintf("Round %d over time", round))
			b.overTime(results...)
		}
	}
}

// A column of a comparison has a cell for each implementation.
type column struct {
	head string
	cell func(impl string) string
}

// alone has the columns of a load without contention.
func alone(doc result.Document) []column {
	return slices.Concat(figures(doc, "throughput"), ratio(doc, doc.Config.Reference+" is, by rounds", true, func(r result.Relative) *result.Ratio { return r.Throughput }),
		figures(doc, "headline.p50", "headline.p99", failures), ratio(doc, "p99 by rounds", false, func(r result.Relative) *result.Ratio { return r.P99 }),
		figures(doc, "cpu_ns_per_op", "allocs_per_op"))
}

// contended has the columns of a load in which callers want the same names.
func contended(doc result.Document) []column {
	held := "held_share"
	if doc.Config.Op != bench.AcquireRelease {
		held = "acquired_per_s" // several hold a name, or one call takes several
	}
	names := slices.Compact([]string{"acquired_per_s", held})
	if doc.Open() {
		names = append(names, "headline.p50", "headline.p99")
	}
	return slices.Concat(figures(doc, names...), ratio(doc, doc.Config.Reference+" is, by rounds", true, func(r result.Relative) *result.Ratio { return r.Acquired }),
		figures(doc, "acquire.p50", "acquire.p99"), ratio(doc, "p99 by rounds", false, func(r result.Relative) *result.Ratio { return r.AcquireP99 }),
		figures(doc, "max_wait_ns", "jain", failures, "handover.p50", "handover_remote.p50", "cpu_ns_per_op", "allocs_per_op"))
}

// besides has the columns of the lone caller, if there is one.
func besides(lone result.Document) (columns []column) {
	if len(lone.Results) > 0 {
		columns = slices.Concat(figures(lone, "throughput"), ratio(lone, lone.Config.Reference+" is, by rounds", true, func(r result.Relative) *result.Ratio { return r.Throughput }),
			figures(lone, "headline.p50"))
	}
	for i := range columns {
		columns[i].head = "one caller: " + columns[i].head
	}
	return columns
}

// figures has a column for each of these figures that any run has.
func figures(doc result.Document, names ...string) (columns []column) {
	for i, f := range shown(doc, names) {
		columns = append(columns, column{labels(doc, shown(doc, names))[i], func(impl string) string {
			return medianText(f, result.Of(doc.Results, impl))
		}})
	}
	return columns
}

// ratio has a column of ratios, of the reference to the other if turned.
func ratio(doc result.Document, head string, turned bool, of func(result.Relative) *result.Ratio) []column {
	if doc.Config.Reference == "" {
		return nil
	}
	return []column{{head, func(impl string) string {
		i := slices.IndexFunc(doc.Relative, func(r result.Relative) bool { return r.Impl == impl })
		switch {
		case impl == doc.Config.Reference:
			return "reference"
		case !slices.Contains(doc.Config.Impls, impl):
			return none
		case len(result.Finished(doc.Results, impl)) == 0:
			return "no finished round"
		case i < 0 || of(doc.Relative[i]) == nil || of(doc.Relative[i]).Min == 0:
			return none
		}
		return ratioText(of(doc.Relative[i]), turned)
	}}}
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

// legend explains the ratios.
func legend(rows []result.Relative) string {
	const by = "by rounds: the median of the ratios of the rounds"
	if slices.ContainsFunc(rows, func(r result.Relative) bool { return r.Throughput != nil && r.Throughput.P != nil }) {
		return by + " [its 95 % interval]; undecided: the difference may be chance (p >= 0.05); p99 by rounds: times the reference"
	}
	return fmt.Sprintf("%s; it takes %d rounds for an interval and a verdict; p99 by rounds: times the reference", by, stats.PairsNeeded)
}

// apartBy is how much a ratio may differ from that of the medians before a line says so.
const apartBy = 0.1

// apart names the ratios that are others by the medians.
func (b *Blocks) apart(doc result.Document) {
	var texts []string
	for _, part := range doc.Parts() {
		for _, r := range part.Relative {
			for _, c := range []struct {
				name  string
				ratio *result.Ratio
			}{{"throughput", r.Throughput}, {"p99", r.P99}, {"acquire p99", r.AcquireP99}} {
				if c.ratio == nil || c.ratio.Median == 0 || c.ratio.OfMedians == 0 || math.Abs(c.ratio.OfMedians/c.ratio.Median-1) <= apartBy {
					continue
				}
				name := strings.TrimSpace(fmt.Sprintf("%s %s", r.Load, r.Impl))
				texts = append(texts, fmt.Sprintf("%s: %s %sx by rounds, %sx by medians", name, c.name, units.Digits(c.ratio.Median), units.Digits(c.ratio.OfMedians)))
			}
		}
	}
	if len(texts) > 0 {
		b.Line("the rounds differ, times the reference: %s", strings.Join(texts, "; "))
	}
}

// ratioText writes a ratio with its 95 % interval, if there are rounds enough. turned inverts it.
func ratioText(r *result.Ratio, turned bool) string {
	median, low, high := r.Median, 0.0, 0.0
	if len(r.CI) == 2 {
		low, high = r.CI[0], r.CI[1]
	}
	if turned {
		median, low, high = 1/median, 1/high, 1/low
	}
	text := units.Digits(median) + "x"
	if r.P == nil {
		return text
	}
	if !r.Significant {
		text = "undecided: " + text
	}
	return fmt.Sprintf("%s [%s..%s]", text, units.Digits(low), units.Digits(high))
}
