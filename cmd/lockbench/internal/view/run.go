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
func runs(doc result.Document, traits map[string]Trait) (b Blocks) {
	for _, r := range doc.Results {
		round := either(doc.Config.Rounds > 1, fmt.Sprintf("round %d  ", r.Round), "")
		b.heading(Everybody, "%s  %s%s", r.Impl, round, headText(doc.Config, r))
		latencies, plot := percentiles(r)
		if !doc.Compares() {
			b.charts(append([]Chart{plot}, overTime("", nil, r)...)...)
		}
		b.result(r, latencies, traits)
		if doc.Config.FaultKinds == nil { // faults that chaos draws overlap
			b.impacts("", []*bench.Result{r})
		}
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
	var f facts
	f.add(true, "%s cycles/s over %.1fs", units.In(bench.UnitCount, r.ThroughputPerS), r.DurationS)
	if t := r.Totals; c.Rate > 0 && r.DurationS > 0 {
		f.add(true, "offered %s  started %s  late %s", units.Rate(float64(t.Offered)/r.DurationS), units.Rate(float64(t.Started)/r.DurationS), partOf(t.Late, t.Started))
		f.add(r.AcquiredPerS > 0, "goodput %s", result.MustFigure("goodput").Text(r))
	}
	return f.text()
}

// result shows the other figures of a run, and what they mean.
func (b *Blocks) result(r *bench.Result, latencies Table, traits map[string]Trait) {
	t, drain := r.Totals, cmp.Or(r.Drain, &bench.Point{TS: r.DurationS}) // no rate counts what was acquired in the drain
	var f facts
	f.add(true, "acquired %s", units.Number(t.Acquired))
	f.add(drain.Acquired > 0, "(%s of them after the end)", units.Number(drain.Acquired))
	f.add(t.Names > 0, "names %s a call", units.Digits(float64(t.Names)/float64(t.Acquired)))
	f.add(true, "refused %s  timeouts %s  errors %s", units.Number(t.Refused), units.Number(t.Timeouts), units.Number(t.Errors))
	f.add(r.Drain != nil && t.Unfinished > 0, "unfinished %s after %s of drain", units.Number(t.Unfinished), ns((drain.TS-r.DurationS)*1e9))
	f.add(true, "overlaps %s", audited(r, r.Safety.Overlaps))
	f.add(result.Audited(r) || r.Holding != nil, "lost validity %s", units.Number(t.LostValidity)) // else it has no locks
	b.Line("%s", f.text())
	trips := result.MustFigure("fence_second_trip_rate")
	b.when(t.Fenced > 0, "fences %s  fence violations %s  %s %s", units.Number(cmp.Or(t.Fences, t.Fenced)), audited(r, r.Safety.FenceViolations), trips.Label, trips.Text(r))
	b.Table(latencies)
	if s := r.Latency[bench.ResponseTime]; s != nil {
		b.when(s.Censored > 0, "response: %s never got their lock, and count as longer than all that did: >= is a lower bound", partOf(s.Censored, s.Count))
	}
	b.when(t.Late > 0, "late: begun more than 1ms after they were due, since no worker was free or the generator was late")
	b.when(r.Latency[bench.WaitTime] != nil, "response = wait (due until begun by a worker) + acquire (begun until held); lag: what the generator itself adds to wait")
	b.tail(r)
	b.handovers(traits, r)
	b.Table(masterTable(r.PerMaster))
	if h := r.Holding; h != nil { // the cost of keeping many locks alive
		var f facts
		f.add(true, "heap %s bytes a lock  goroutines %s before, %s with all held", units.Number(h.HeapBytesPerLock), units.Number(h.GoroutinesBefore), units.Number(h.GoroutinesAfter))
		f.add(h.CommandsPerRound > 0, "%s commands a batch to the masters", units.Digits(h.CommandsPerRound))
		b.Line("holding: %s", f.text())
	}
	b.Line("client: %s", clientText(r))
	b.fairness(r)
	var hot facts
	for _, n := range r.HotNames[:min(len(r.HotNames), 3)] {
		hot.add(true, "%s (acquired %s, waited for %s)", n.Name, units.Number(n.Acquired), ns(n.WaitedNs))
	}
	b.when(len(hot) > 0 && r.Keys > 1, "names waited for longest, by all callers together:  %s", hot.text())
	if k := r.Kept; k != nil {
		b.Line("kept locks %s, lost %s, %s of them while their process stood still", units.Number(k.Held), units.Number(k.Lost), units.Number(k.Stopped))
	}
}

// facts are figures on one line.
type facts []string

func (f *facts) add(known bool, format string, args ...any) {
	if known {
		*f = append(*f, fmt.Sprintf(format, args...))
	}
}

func (f facts) text() string { return strings.Join(f, "  ") }

// audited writes how many violations the audit found.
func audited(r *bench.Result, violations int64) string {
	return either(result.Audited(r), units.Number(violations), "not audited")
}

// partOf writes a count and its share of all.
func partOf(n, all int64) string {
	return fmt.Sprintf("%s (%s)", units.Number(n), units.Share(float64(n)/float64(max(all, 1))))
}

// tail shows how much longer a run should be for its thin percentiles.
func (b *Blocks) tail(r *bench.Result) {
	var needs []string
	for _, p := range stats.Percentiles {
		if more := r.MoreSeconds(p.Value, 1); more > 0 {
			needs = append(needs, fmt.Sprintf("p%s needs %.0fs more", p.Name, more))
		}
	}
	b.when(len(needs) > 0, "~ fewer than 10 operations lie beyond it: %s at this pace", strings.Join(needs, ", "))
}

// waits reports whether workers waited for each other at shared names.
func waits(r *bench.Result) bool { return r.Latency[bench.HandoverTime] != nil }

// handovers explains hand-overs, if there were any.
func (b *Blocks) handovers(traits map[string]Trait, results ...*bench.Result) {
	within := func(r *bench.Result) bool { return waits(r) && traits[r.Impl].Ours }
	spread := func(r *bench.Result) bool { return r.Procs > 1 }
	b.when(slices.ContainsFunc(results, waits), "hand-over: from the call of Release to the return of an Acquire that was waiting")
	b.when(slices.ContainsFunc(results, within) && !slices.ContainsFunc(results, spread), "all workers are in one process: there muxlock hands over without asking a master; --procs spreads them")
}

// fairness shows how evenly workers and processes got their locks.
func (b *Blocks) fairness(r *bench.Result) {
	fair := r.Fairness
	var f facts
	f.add(true, "fairness (Jain) %.3f", fair.Jain)
	f.add(waits(r) && fair.MeanWaitNs > 0, "longest wait %s, %.1f times the mean", ns(fair.MaxWaitNs), float64(fair.MaxWaitNs)/float64(fair.MeanWaitNs))
	b.Line("%s", f.text())
	var procs facts
	for _, n := range fair.PerProc {
		procs.add(true, "%s (%.0f%%)", units.Number(n), 100*float64(n)/float64(max(r.Totals.Acquired, 1)))
	}
	b.when(len(procs) > 1, "acquired by each process:  %s", procs.text())
}

// clientText writes the cost of the load for the client, and disturbances of the machine.
func clientText(r *bench.Result) string {
	c := r.Client
	var f facts
	f.add(r.ThroughputPerS > 0, "cpu %s a cycle  allocs %s a cycle", ns(c.CPUNsPerOp), units.Digits(c.AllocsPerOp)) // --op hold has no cycles
	f.add(true, "%.0f%% of the machine's cpu  gc pause p99 %s  wait for a processor p99 %s", 100*c.CPUShare, ns(c.GCP99Ns), ns(c.SchedP99Ns))
	if s := c.Stall; s != nil {
		f.add(true, "stall p99 %s longest %s", units.Percentile(s, "99"), ns(s.Max))
	}
	return f.text()
}
