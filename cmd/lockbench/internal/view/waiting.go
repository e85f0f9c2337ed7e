package view

import (
	"fmt"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/units"
)

// waits tells whether workers waited for each other at shared names.
func waits(r *bench.Result) bool { return r.Latency.Handover != nil }

const handoverMeans = "hand-over: from the call of Release to the return of an Acquire that was waiting"

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
