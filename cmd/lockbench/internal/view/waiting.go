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
	if !slices.ContainsFunc(doc.Results, waits) {
		return
	}
	shown := []result.Figure{
		result.MustFigure("acquired_per_s"), result.MustFigure("acquire.p50"), result.MustFigure("acquire.p99"),
		result.MustFigure("handover.p50"), result.MustFigure("handover_remote.p50"),
	}
	shown[len(shown)-1].Label = "from other process" // the p50 goes without saying
	t := Table{Columns: columns(1, "")}
	for _, f := range shown {
		t.Columns = append(t.Columns, Column{Name: f.Label})
	}
	t.Columns = append(t.Columns, Column{Name: "Jain"}, Column{Name: "longest/mean wait"})
	for _, impl := range doc.Config.Impls {
		results := slices.DeleteFunc(result.Of(doc.Results, impl), func(r *bench.Result) bool { return !waits(r) })
		if len(results) == 0 {
			continue
		}
		row := []string{impl}
		for _, f := range shown {
			row = append(row, medianText(f, results))
		}
		jain, _ := result.MustFigure("jain").Median(results)
		var uneven []float64
		for _, r := range results {
			uneven = append(uneven, float64(r.Fairness.MaxWaitNs)/float64(max(r.Fairness.MeanWaitNs, 1)))
		}
		t.Rows = append(t.Rows, cells(append(row, fmt.Sprintf("%.3f", jain), fmt.Sprintf("%.1fx", stats.Median(uneven)))...))
	}
	b.Line("\nwaiting for shared names; " + handoverMeans)
	b.Table(t)
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
