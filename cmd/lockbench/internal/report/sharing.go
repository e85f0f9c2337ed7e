package report

import (
	"fmt"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/chart"
	"muxlock/cmd/lockbench/internal/output"
)

// waiting is how locks went from one worker to the next, and how evenly.
func waiting(doc output.Document) Section {
	s := Section{ID: "waiting", Title: "Waiting for shared names"}
	if !shared(doc) {
		return s
	}
	t := Table{Columns: columns("", "acquired/s", "hand-over p50", "hand-over p99", "from other process p50", "Jain", "longest wait", "times the mean")}
	shares := chart.Bars{Title: "acquired by each process, part of all", X: chart.Axis{Text: func(v float64) string { return Share(v).Text }}}
	names := impls(doc.Results)
	for i, impl := range names {
		rs := of(doc.Results, impl)
		longest := median(rs, func(r *bench.Result) float64 { return float64(r.Fairness.MaxWaitNs) })
		jain := median(rs, func(r *bench.Result) float64 { return r.Fairness.Jain })
		t.Rows = append(t.Rows, []Cell{
			Text(impl),
			count(median(rs, func(r *bench.Result) float64 { return perSecondOf(r.Totals.Acquired, r.DurationS) })),
			medianNs(rs, func(r *bench.Result) *bench.Summary { return r.Latency.Handover }, "50"),
			medianNs(rs, func(r *bench.Result) *bench.Summary { return r.Latency.Handover }, "99"),
			medianNs(rs, func(r *bench.Result) *bench.Summary { return r.Latency.HandoverRemote }, "50"),
			{Text: fmt.Sprintf("%.3f", jain), Title: plain(jain)},
			Ns(longest),
			Figure(median(rs, func(r *bench.Result) float64 {
				return float64(r.Fairness.MaxWaitNs) / float64(max(r.Fairness.MeanWaitNs, 1))
			})),
		})
		shares.Rows = append(shares.Rows, processBars(impl, i, rs, len(names) > 1)...)
	}
	s.Tables = []Table{t}
	s.Panels = []Panel{{Charts: []Chart{shares}}}
	return s
}

// processBars is the shares of the processes over all rounds; none for one process.
func processBars(impl string, color int, rs []*bench.Result, several bool) (bars []chart.Bar) {
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
		share := float64(n) / float64(max(all, 1))
		bars = append(bars, chart.Bar{Label: label, Color: color, Value: share, Text: fmt.Sprintf("%s (%s)", output.Number(float64(n)), Share(share).Text)})
	}
	return bars
}

// holding is what keeping many locks alive cost.
func holding(doc output.Document) Section {
	s := Section{ID: "holding", Title: "Holding"}
	t := Table{Columns: columns("", "wanted", "held", "lost", "heap bytes a lock", "goroutines before", "with all held", "commands a round")}
	for _, r := range doc.Results {
		if h := r.Holding; h != nil {
			t.Rows = append(t.Rows, []Cell{
				Text(r.Impl), Count(h.Wanted), Count(h.Held), Count(h.Lost), Figure(h.HeapBytesPerLock),
				Count(h.GoroutinesBefore), Count(h.GoroutinesAfter), Figure(h.CommandsPerRound),
			})
		}
	}
	s.Tables = []Table{t}
	return s
}

func perSecondOf(n int64, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return float64(n) / seconds
}
