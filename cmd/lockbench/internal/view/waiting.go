package view

import (
	"fmt"
	"slices"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
	"muxlock/internal/stats"
)

// waits tells whether workers waited for each other at shared names.
func waits(r *bench.Result) bool { return r.Latency.Handover != nil }

const handoverMeans = "hand-over: from the call of Release to the return of an Acquire that was waiting"

// waiting is a table on how long who waits, and how evenly.
func (b *Blocks) waiting(doc result.Document) {
	if slices.ContainsFunc(doc.Results, waits) {
		b.Line("\nwaiting for shared names; " + handoverMeans)
		b.Table(waitingTable(doc, doc.Config.Impls))
	}
}

// sharing is how locks went from one worker to the next, and how evenly.
func sharing(doc result.Document) Section {
	s := Section{ID: "waiting", Title: "Waiting for shared names"}
	if !slices.ContainsFunc(doc.Results, waits) {
		return s
	}
	shares := Bars{Title: "acquired by each process, part of all", X: Axis{Text: units.Share}}
	impls := result.Impls(doc.Results)
	for i, impl := range impls {
		shares.Rows = append(shares.Rows, processBars(impl, i, result.Of(doc.Results, impl), len(impls) > 1)...)
	}
	s.Tables = []Table{waitingTable(doc, impls)}
	s.Panels = []Panel{{Charts: []Chart{shares}}}
	return s
}

func waitingTable(doc result.Document, impls []string) Table {
	shown := []struct {
		bench.Figure
		in Medium
	}{
		{bench.MustFigure("acquired_per_s"), Everywhere}, {bench.MustFigure("acquire.p50"), Everywhere}, {bench.MustFigure("acquire.p99"), Everywhere},
		{bench.MustFigure("handover.p50"), Everywhere}, {bench.MustFigure("handover.p99"), PageOnly}, {bench.MustFigure("handover_remote.p50"), Everywhere},
	}
	shown[len(shown)-1].Label = "from other process" // the p50 goes without saying
	t := Table{Columns: columns("")}
	for _, f := range shown {
		t.Columns = append(t.Columns, Column{Name: f.Label, In: f.in})
	}
	t.Columns = append(t.Columns, Column{Name: "Jain"}, Column{Name: "longest wait", In: PageOnly}, Column{Name: "longest/mean wait"})
	for _, impl := range impls {
		results := slices.DeleteFunc(result.Of(doc.Results, impl), func(r *bench.Result) bool { return !waits(r) })
		if len(results) == 0 {
			continue
		}
		row := []Cell{words(impl)}
		for _, f := range shown {
			row = append(row, medianCell(f.Figure, results))
		}
		jain, _ := bench.MustFigure("jain").Median(results)
		var uneven []float64
		for _, r := range results {
			uneven = append(uneven, float64(r.Fairness.MaxWaitNs)/float64(max(r.Fairness.MeanWaitNs, 1)))
		}
		t.Rows = append(t.Rows, append(row, decimals("%.3f", jain), medianCell(bench.MustFigure("max_wait_ns"), results), decimals("%.1fx", stats.Median(uneven))))
	}
	return t
}

// processBars is the shares of the processes over all rounds; none for one process.
func processBars(impl string, color int, rs []*bench.Result, several bool) (bars []Bar) {
	var sums []int64
	var all int64
	for _, r := range rs {
		for len(sums) < len(r.Fairness.PerProc) {
			sums = append(sums, 0)
		}
		for i, n := range r.Fairness.PerProc {
			sums[i] += n
			all += n
		}
	}
	if len(sums) < 2 {
		return nil
	}
	for i, n := range sums {
		label := fmt.Sprintf("process %d", i+1)
		if several {
			label = impl + ", " + label
		}
		bars = append(bars, Bar{Label: label, Color: color, Value: float64(n) / float64(max(all, 1)), Text: partOf(n, all)})
	}
	return bars
}

// handover explains it, and says how many times an acquire without waiting it took.
func (b *Blocks) handover(r *bench.Result) {
	if !waits(r) {
		return
	}
	b.Line(handoverMeans)
	name, s, alone := "hand-over", r.Latency.Handover, r.Latency.Uncontended
	if r.Latency.HandoverRemote != nil {
		name, s = "from other process", r.Latency.HandoverRemote
	}
	if s.Count > 0 && alone != nil && alone.P["50"] > 0 {
		b.Line("%s p50 = %sx the uncontended acquire beside it", name, units.Digits(float64(s.P["50"])/float64(alone.P["50"])))
	}
}

// fairness is how evenly the workers, and the processes, got their locks.
func (b *Blocks) fairness(r *bench.Result) {
	fair, uneven := r.Fairness, "-"
	if fair.MeanWaitNs > 0 {
		uneven = fmt.Sprintf("%.1fx", float64(fair.MaxWaitNs)/float64(fair.MeanWaitNs))
	}
	b.Line("fairness (Jain) %.3f  longest wait %s = %s the mean", fair.Jain, units.Duration(float64(fair.MaxWaitNs)), uneven)
	if len(fair.PerProc) > 1 {
		text := "acquired by each process:"
		for _, n := range fair.PerProc {
			text += fmt.Sprintf("  %s (%.0f%%)", units.Number(n), 100*float64(n)/float64(max(r.Totals.Acquired, 1)))
		}
		b.Line("%s", text)
	}
}
