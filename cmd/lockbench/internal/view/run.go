package view

import (
	"fmt"
	"strconv"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// runs is every figure of every result; of many that are compared, charts stand elsewhere.
func runs(doc result.Document) (b Blocks) {
	for _, r := range doc.Results {
		b.Line("")
		b.heading(runName(doc, r))
		b.result(doc, r)
		if doc.Kind() != result.KindCompare {
			b.chart(percentilePlot("latency by percentile", timingsOf(r)))
			b.overTime(r)
		}
	}
	return b
}

// next is what to try after a run.
const next = `next: lockbench compare                 beside Redsync and a single master
      lockbench run --rate 5k           open loop: what callers wait
      lockbench run --keys 1            all fight for one lock
      lockbench run -o json --out FILE  all of it, for programs`

func (b *Blocks) result(doc result.Document, r *bench.Result) {
	c := doc.Config
	head := fmt.Sprintf("%s  %s cycles/s over %.1fs", runName(doc, r), units.Number(r.ThroughputPerS), r.DurationS)
	if c.Rate > 0 && r.DurationS > 0 {
		head += "  " + arrivals(r)
	}
	b.Line("%s", head)
	b.Line("%s  overlaps %s  lost validity %s", outcomes(r), units.Number(r.Safety.Overlaps), units.Number(r.Totals.LostValidity))
	if r.Totals.Fenced > 0 {
		b.Line("%s", fencesText(r))
	}
	b.Table(percentiles(timingsOf(r)))
	b.censored(r)
	b.clocks(r)
	b.tail(r)
	b.handover(r)
	b.Table(masterTable(r.PerMaster))
	if r.Holding != nil {
		b.Line("%s", holdingText(r.Holding))
	}
	b.Line("%s", clientText(r))
	b.fairness(r)
	b.impacts("", []*bench.Result{r})
}

// fencesText is the fencing tokens that the audit compared, and what they cost.
func fencesText(r *bench.Result) string {
	trips := result.MustFigure("fence_second_trip_rate")
	return fmt.Sprintf("fences %s  fence violations %s  %s %s", units.Number(r.Totals.Fenced), units.Number(r.Safety.FenceViolations),
		trips.Label, medianText(trips, []*bench.Result{r}))
}

// outcomes is what became of the operations.
func outcomes(r *bench.Result) string {
	t := r.Totals
	text := fmt.Sprintf("acquired %s  refused %s  timeouts %s  errors %s",
		units.Number(t.Acquired), units.Number(t.Refused), units.Number(t.Timeouts), units.Number(t.Errors))
	if t.Unfinished > 0 && r.Drain != nil {
		text += fmt.Sprintf("  unfinished %s after %s of drain", units.Number(t.Unfinished), ns((r.Drain.TS-r.DurationS)*1e9))
	}
	return text
}

// censored says what a response is that never came.
func (b *Blocks) censored(r *bench.Result) {
	if s := r.Latency.Response; s != nil && s.Censored > 0 {
		b.Line("response: %s never got their lock, and count as longer than all that did: >= is a lower bound", partOf(s.Censored, s.Count))
	}
}

// arrivals is how an open loop was served.
func arrivals(r *bench.Result) string {
	t := r.Totals
	text := fmt.Sprintf("offered %s/s, started %s/s, late %s", units.Number(float64(t.Offered)/r.DurationS), units.Number(float64(t.Started)/r.DurationS), partOf(t.Late, t.Offered))
	if goodput := result.MustFigure("goodput"); r.AcquiredPerS > 0 {
		text += ", goodput " + medianText(goodput, []*bench.Result{r})
	}
	return text
}

// partOf is a count and its share of all.
func partOf(n, all int64) string {
	return fmt.Sprintf("%s (%s)", units.Number(n), units.Share(float64(n)/float64(max(all, 1))))
}

// lagShown is the share of the response from which the generator's lag is remarked on.
const lagShown = 0.1

// clocks explains the rows of an open loop.
func (b *Blocks) clocks(r *bench.Result) {
	if r.Latency.Wait == nil {
		return
	}
	if r.Totals.Late > 0 {
		b.Line("late: begun more than 1 ms after they were due, since no worker was free or the generator was late")
	}
	b.Line("response = wait (due until begun by a worker) + service (begun until held); lag: what the generator itself adds to wait")
	if share := r.LagShare(); share > lagShown {
		b.Line("lag is %.0f%% of response at the p99: the load generator has too little of this machine", 100*share)
	}
}

// tail is what the percentiles without a base would need.
func (b *Blocks) tail(r *bench.Result) {
	var needs []string
	for _, p := range units.Percentiles {
		q, _ := strconv.ParseFloat(p, 64)
		if more := r.MoreSeconds(q); more > 0 {
			needs = append(needs, fmt.Sprintf("p%s needs %.0f s more", p, more))
		}
	}
	if len(needs) > 0 {
		b.Line("~ fewer than 10 operations lie beyond it: %s at this pace", strings.Join(needs, ", "))
	}
}
