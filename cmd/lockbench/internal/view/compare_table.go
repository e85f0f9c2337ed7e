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
	found := found(doc, traits)
	for _, text := range found {
		b.line(Browser, false, "%s", text)
	}
	if all := Picture(doc); len(all) > 0 {
		*b = append(*b, Block{For: Browser, Bars: all})
	}
	if own := doc.Of(result.OwnNames); len(own.Results) > 0 {
		b.comparison(own, doc.Of(result.LoneCaller))
		b.comparison(doc.Of(result.OneName), result.Document{})
	} else {
		b.comparison(doc, result.Document{})
	}
	b.Line("")
	b.Line("%s", legend(doc.Relative))
	b.failuresMean(doc)
	b.handovers(traits, doc.Results...)
	for i, text := range found {
		b.line(Text, false, "%s%s", either(i == 0, "\n", ""), text)
	}
	for _, part := range doc.Parts() {
		b.details(part)
	}
}

// comparison shows one line per implementation: medians over the rounds, and ratios to the reference.
func (b *Blocks) comparison(doc, lone result.Document) {
	b.heading(Everybody, "%s; medians of %d rounds of %s, in turn", contention(doc.Config.Config), doc.Config.Rounds, doc.Config.Duration)
	impls := doc.Config.Impls
	t := Table{Texts: 1, Rows: make([][]Cell, len(impls))}
	t.column("", func(i int) string { return impls[i] })
	var apart []string
	add := func(doc result.Document, load string, ratio against, names ...string) {
		t.figures(doc, load, func(i int) []*bench.Result { return result.Of(doc.Results, impls[i]) }, names...)
		if ratio != "" && doc.Config.Reference != "" {
			t.column(load+ratio.head(doc), func(i int) string { return ratio.cell(doc, impls[i]) })
			if texts := ratio.apart(doc); texts != "" {
				apart = append(apart, load+texts)
			}
		}
	}
	if slices.ContainsFunc(doc.Results, waits) {
		holds := []string{"acquired_per_s", "held_share"}
		if doc.Config.Op != bench.AcquireRelease {
			holds = holds[:1] // several hold a name, or one call takes several
		}
		add(doc, "", byAcquired, holds...)
		if doc.Open() {
			add(doc, "", "", "headline.p50", "headline.p99")
		}
		add(doc, "", byAcquireP99, "acquire.p50", "acquire.p99")
		add(doc, "", "", "max_wait_ns", "jain", failures, "handover.p50", "handover_remote.p50")
	} else {
		add(doc, "", byThroughput, "throughput")
		add(doc, "", byP99, "headline.p50", "headline.p99", failures)
	}
	add(doc, "", "", "cpu_ns_per_op", "allocs_per_op")
	if len(lone.Results) > 0 {
		add(lone, "one caller: ", byThroughput, "throughput")
		add(lone, "one caller: ", "", "headline.p50")
	}
	b.Table(t)
	b.when(len(apart) > 0, "* the rounds differ; by their medians: %s", strings.Join(apart, "; "))
}

// details shows faults, and what a browser has room for.
func (b *Blocks) details(doc result.Document) {
	b.when(len(doc.Config.Faults) > 0, "")
	for _, impl := range doc.Config.Impls {
		b.impacts(impl+"  ", result.Finished(doc.Results, impl))
	}
	if len(doc.Results) == 0 {
		return
	}
	b.heading(Browser, "Charts: %s", contention(doc.Config.Config))
	b.charts(latencies(doc)...)
	var all []Chart
	for round := 1; round <= doc.Config.Rounds; round++ {
		var results []*bench.Result
		for _, impl := range doc.Config.Impls {
			results = append(results, result.Where(doc.Results, func(r *bench.Result) bool { return r.Impl == impl && r.Round == round })...)
		}
		all = append(all, overTime(fmt.Sprintf(", round %d", round), doc.Config.Impls, results...)...)
	}
	b.charts(all...)
}

// against is a column of ratios of a figure. A latency is divided by that of the reference, a rate divides that of the reference.
// Above 1 the reference is ahead.
type against string

const (
	byThroughput against = "throughput"
	byAcquired   against = "acquired_per_s"
	byP99        against = "headline.p99"
	byAcquireP50 against = "acquire.p50"
	byAcquireP99 against = "acquire.p99"
)

func (a against) latency() bool { return result.MustFigure(string(a)).Unit == bench.UnitNs }

func (a against) head(doc result.Document) string {
	return either(a.latency(), "p99", doc.Config.Reference+" is,") + " by rounds"
}

// ratio returns the ratio of an implementation, as the column has it.
func (a against) ratio(doc result.Document, impl string) (r result.Ratio, known bool) {
	if i := slices.IndexFunc(doc.Relative, func(r result.Relative) bool { return r.Impl == impl }); i >= 0 {
		r = doc.Relative[i].Ratios[string(a)]
	}
	if r.Min == 0 {
		return result.Ratio{}, false
	}
	if !a.latency() {
		r.Median, r.OfMedians = 1/r.Median, 1/r.OfMedians
		if len(r.CI) == 2 {
			r.CI = []float64{1 / r.CI[1], 1 / r.CI[0]}
		}
	}
	return r, true
}

// apartBy is how much a ratio may differ from that of the medians before a line says so.
const apartBy = 0.1

func isApart(r result.Ratio) bool { return math.Abs(r.OfMedians-r.Median) > apartBy*r.Median }

// cell writes a ratio with its 95 % interval, if there are rounds enough.
func (a against) cell(doc result.Document, impl string) string {
	r, known := a.ratio(doc, impl)
	switch {
	case impl == doc.Config.Reference:
		return "reference"
	case slices.Contains(doc.Config.Impls, impl) && len(result.Finished(doc.Results, impl)) == 0:
		return "no finished round"
	case !known:
		return units.None
	}
	text := units.Digits(r.Median) + "x"
	if len(r.CI) == 2 {
		text += fmt.Sprintf(" [%s..%s]", units.Digits(r.CI[0]), units.Digits(r.CI[1]))
		if !r.Significant {
			text = "undecided: " + text
		}
	}
	return text + either(isApart(r), " *", "")
}

// apart names the ratios that are others by the medians.
func (a against) apart(doc result.Document) string {
	var texts []string
	for _, impl := range doc.Config.Impls {
		if r, known := a.ratio(doc, impl); known && isApart(r) {
			texts = append(texts, fmt.Sprintf("%s %sx", impl, units.Digits(r.OfMedians)))
		}
	}
	return either(a.latency() && texts != nil, "p99 ", "") + strings.Join(texts, ", ")
}

// legend explains the ratios.
func legend(rows []result.Relative) string {
	const by = "by rounds: the median of the ratios of the rounds"
	if slices.ContainsFunc(rows, func(r result.Relative) bool { return r.Ratios["throughput"].P != nil }) {
		return by + " [its 95% interval]; undecided: the difference may be chance (p >= 0.05); p99 by rounds: times the reference"
	}
	return fmt.Sprintf("%s; it takes %d rounds for an interval and a verdict; p99 by rounds: times the reference", by, stats.PairsNeeded)
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
	b.when(failed(doc), "failure rate: operations that never got their lock: refused, timed out, failed with an error or unfinished; the latencies are those of the others%s", either(doc.Open(), ", except response", ""))
}
