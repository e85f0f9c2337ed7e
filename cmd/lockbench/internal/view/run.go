package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
	"muxlock/internal/stats"
)

// runs shows every figure of every result. A comparison has its charts elsewhere.
func runs(doc result.Document) (b Blocks) {
	for _, r := range doc.Results {
		name := r.Impl
		if doc.Config.Rounds > 1 {
			name = fmt.Sprintf("%s  round %d", r.Impl, r.Round)
		}
		b.Line("")
		b.heading(name)
		b.Line("%s  %s", name, headText(doc.Config, r))
		latencies, plot := percentiles(r)
		if doc.Kind() != result.KindCompare {
			b.charts(append([]Chart{plot}, overTime("", nil, r)...)...)
		}
		b.result(r, latencies)
	}
	return b
}

// next suggests commands after a run.
const next = `next: lockbench compare                 beside Redsync and a single master
      lockbench run --rate 5k           open loop: what callers wait
      lockbench run --keys 1 --procs 4  processes fight for one lock
      lockbench run -o json --out FILE  all of it, for programs`

// headText writes the figures that say the most.
func headText(c result.Config, r *bench.Result) string {
	if h := r.Holding; h != nil {
		return fmt.Sprintf("%s of %s locks held for %.1fs  lost %s", units.Number(h.Held), units.Number(h.Wanted), r.DurationS, units.Number(h.Lost))
	}
	text := fmt.Sprintf("%s cycles/s over %.1fs", units.In(bench.UnitCount, r.ThroughputPerS), r.DurationS)
	if t := r.Totals; c.Rate > 0 && r.DurationS > 0 {
		text += fmt.Sprintf("  offered %s, started %s, late %s", units.Rate(float64(t.Offered)/r.DurationS), units.Rate(float64(t.Started)/r.DurationS), partOf(t.Late, t.Started))
		if r.AcquiredPerS > 0 {
			text += ", goodput " + medianText(result.MustFigure("goodput"), []*bench.Result{r})
		}
	}
	return text
}

// result shows the other figures of a run, and what they mean.
func (b *Blocks) result(r *bench.Result, latencies Table) {
	text := outcomes(r) + "  overlaps " + audited(r, r.Safety.Overlaps)
	if result.Audited(r) || r.Holding != nil { // else it has no locks
		text += "  lost validity " + units.Number(r.Totals.LostValidity)
	}
	b.Line("%s", text)
	if r.Totals.Fenced > 0 {
		b.Line("%s", fencesText(r))
	}
	b.Table(latencies)
	if s := r.Latency[bench.ResponseTime]; s != nil && s.Censored > 0 {
		b.Line("response: %s never got their lock, and count as longer than all that did: >= is a lower bound", partOf(s.Censored, s.Count))
	}
	if r.Totals.Late > 0 {
		b.Line("late: begun more than 1ms after they were due, since no worker was free or the generator was late")
	}
	if r.Latency[bench.WaitTime] != nil {
		b.Line("response = wait (due until begun by a worker) + acquire (begun until held); lag: what the generator itself adds to wait")
	}
	b.tail(r)
	b.handovers(r)
	b.Table(masterTable(r.PerMaster))
	if h := r.Holding; h != nil { // the cost of keeping many locks alive
		text := fmt.Sprintf("holding: heap %s bytes a lock  goroutines %s before, %s with all held", units.Number(h.HeapBytesPerLock), units.Number(h.GoroutinesBefore), units.Number(h.GoroutinesAfter))
		if h.CommandsPerRound > 0 {
			text += fmt.Sprintf("  %s commands a batch to the masters", units.Digits(h.CommandsPerRound))
		}
		b.Line("%s", text)
	}
	b.Line("%s", clientText(r))
	b.fairness(r)
	b.impacts("", []*bench.Result{r})
}

// audited writes how many violations the audit found.
func audited(r *bench.Result, violations int64) string {
	if !result.Audited(r) {
		return "not audited"
	}
	return units.Number(violations)
}

// fencesText writes the number of fencing tokens, what the audit found and their cost.
func fencesText(r *bench.Result) string {
	trips := result.MustFigure("fence_second_trip_rate")
	return fmt.Sprintf("fences %s  fence violations %s  %s %s", units.Number(cmp.Or(r.Totals.Fences, r.Totals.Fenced)), audited(r, r.Safety.FenceViolations),
		trips.Label, medianText(trips, []*bench.Result{r}))
}

// outcomes writes the outcomes of operations.
func outcomes(r *bench.Result) string {
	t := r.Totals
	names := ""
	if t.Names > 0 {
		names = fmt.Sprintf("  names %s a call", units.Digits(float64(t.Names)/float64(t.Acquired)))
	}
	text := fmt.Sprintf("acquired %s%s  refused %s  timeouts %s  errors %s",
		units.Number(t.Acquired), names, units.Number(t.Refused), units.Number(t.Timeouts), units.Number(t.Errors))
	if t.Unfinished > 0 && r.Drain != nil {
		text += fmt.Sprintf("  unfinished %s after %s of drain", units.Number(t.Unfinished), ns((r.Drain.TS-r.DurationS)*1e9))
	}
	return text
}

// partOf writes a count and its share of all.
func partOf(n, all int64) string {
	return fmt.Sprintf("%s (%s)", units.Number(n), units.Share(float64(n)/float64(max(all, 1))))
}

// tail shows how much longer a run should be for its thin percentiles.
func (b *Blocks) tail(r *bench.Result) {
	var needs []string
	for _, p := range stats.Percentiles {
		if more := r.MoreSeconds(p.Value); more > 0 {
			needs = append(needs, fmt.Sprintf("p%s needs %.0fs more", p.Name, more))
		}
	}
	if len(needs) > 0 {
		b.Line("~ fewer than 10 operations lie beyond it: %s at this pace", strings.Join(needs, ", "))
	}
}

// waits reports whether workers waited for each other at shared names.
func waits(r *bench.Result) bool { return r.Latency[bench.HandoverTime] != nil }

// handovers explains hand-overs, if there were any.
func (b *Blocks) handovers(results ...*bench.Result) {
	if !slices.ContainsFunc(results, waits) {
		return
	}
	b.Line("hand-over: from the call of Release to the return of an Acquire that was waiting")
	within := func(r *bench.Result) bool { return waits(r) && strings.HasPrefix(r.Impl, "muxlock") }
	spread := func(r *bench.Result) bool { return r.Procs > 1 }
	if slices.ContainsFunc(results, within) && !slices.ContainsFunc(results, spread) {
		b.Line("all workers are in one process: there muxlock hands over without asking a master; --procs spreads them")
	}
}

// fairness shows how evenly workers and processes got their locks.
func (b *Blocks) fairness(r *bench.Result) {
	fair, longest := r.Fairness, ""
	if waits(r) && fair.MeanWaitNs > 0 {
		longest = fmt.Sprintf("  longest wait %s, %.1f times the mean", ns(fair.MaxWaitNs), float64(fair.MaxWaitNs)/float64(fair.MeanWaitNs))
	}
	b.Line("fairness (Jain) %.3f%s", fair.Jain, longest)
	if len(fair.PerProc) > 1 {
		text := "acquired by each process:"
		for _, n := range fair.PerProc {
			text += fmt.Sprintf("  %s (%.0f%%)", units.Number(n), 100*float64(n)/float64(max(r.Totals.Acquired, 1)))
		}
		b.Line("%s", text)
	}
}

// clientText writes the cost of the load for the client, and disturbances of the machine.
func clientText(r *bench.Result) string {
	c := r.Client
	var parts []string
	if r.ThroughputPerS > 0 { // --op hold has no cycles
		parts = append(parts, fmt.Sprintf("cpu %s a cycle", ns(c.CPUNsPerOp)), fmt.Sprintf("allocs %s a cycle", units.Digits(c.AllocsPerOp)))
	}
	parts = append(parts, fmt.Sprintf("%.0f%% of the machine's cpu", 100*c.CPUShare),
		"gc pause p99 "+ns(c.GCP99Ns), "wait for a processor p99 "+ns(c.SchedP99Ns))
	if s := c.Stall; s != nil {
		parts = append(parts, fmt.Sprintf("stall p99 %s longest %s", units.Percentile(s, "99"), ns(s.Max)))
	}
	return "client: " + strings.Join(parts, "  ")
}
