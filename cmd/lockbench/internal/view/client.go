package view

import (
	"fmt"
	"slices"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// clientText is what the load cost here, and what may have disturbed it.
func clientText(r *bench.Result) string {
	c := r.Client
	var parts []string
	if r.ThroughputPerS > 0 { // --op hold has no cycles
		cpu := fmt.Sprintf("cpu %s a cycle", units.Duration(c.CPUNsPerOp))
		if c.ToolCPUNsPerOp > 0 {
			cpu += fmt.Sprintf(" (generator at most %s = %.0f%%", units.Duration(c.ToolCPUNsPerOp), 100*c.ToolCPUShare)
			if c.ToolWorkNsPerOp != c.ToolCPUNsPerOp {
				cpu += fmt.Sprintf(", but for sleeping %s = %.1f%%", units.Duration(c.ToolWorkNsPerOp), 100*c.ToolWorkNsPerOp/c.CPUNsPerOp)
			}
			cpu += ")"
		}
		parts = append(parts, cpu, fmt.Sprintf("allocs %s a cycle", units.Digits(c.AllocsPerOp)))
	}
	parts = append(parts, fmt.Sprintf("%.0f%% of the machine's cpu", 100*c.CPUShare),
		"gc pause p99 "+units.Duration(float64(c.GCP99Ns)), "ready to run p99 "+units.Duration(float64(c.SchedP99Ns)))
	if s := c.Stall; s != nil {
		parts = append(parts, fmt.Sprintf("stall p99 %s longest %s", units.Percentile(s, "99"), units.Duration(float64(s.Max))))
	}
	return "client: " + strings.Join(parts, "  ")
}

// cost is the counts of every run, and what it took on the client's side.
func cost(doc result.Document) Section {
	return Section{ID: "counts", Title: "Counts and cost", Tables: []Table{
		byRun(doc, "offered", "acquired", "refused", "timeouts", "errors", "late", "dropped", "overlaps", "fence_violations"),
		byRun(doc, "cpu_ns_per_op", "tool_cpu_ns_per_op", "tool_cpu_share", "allocs_per_op", "gc_p99_ns", "sched_p99_ns", "stall_p99_ns", "cpu_share"),
	}}
}

// byRun is figures of every run, by their names.
func byRun(doc result.Document, names ...string) Table {
	t := Table{Columns: columns("run")}
	for _, r := range doc.Results {
		t.Rows = append(t.Rows, []Cell{words(runName(doc, r))})
	}
	for _, name := range names {
		f := bench.MustFigure(name)
		t.Columns = append(t.Columns, Column{Name: f.Label})
		for i, r := range doc.Results {
			c := medianCell(f, []*bench.Result{r})
			if v, ok := f.Measured(r); ok && v > 0 && slices.Contains([]string{"errors", "overlaps", "fence_violations"}, name) {
				c.Class = Bad
			}
			t.Rows[i] = append(t.Rows[i], c)
		}
	}
	return t
}

// holdingText is what keeping many locks alive cost.
func holdingText(h *bench.Holding) string {
	text := fmt.Sprintf("holding: %s of %s  lost %s  heap %s bytes a lock  goroutines %s before, %s with all held", units.Number(h.Held), units.Number(h.Wanted),
		units.Number(h.Lost), units.Number(h.HeapBytesPerLock), units.Number(h.GoroutinesBefore), units.Number(h.GoroutinesAfter))
	if h.CommandsPerRound > 0 {
		text += fmt.Sprintf("  %s commands a round", units.Digits(h.CommandsPerRound))
	}
	return text
}

func holding(doc result.Document) Section {
	t := Table{Columns: columns("", "wanted", "held", "lost", "heap bytes a lock", "goroutines before", "with all held", "commands a round")}
	for _, r := range doc.Results {
		if h := r.Holding; h != nil {
			t.Rows = append(t.Rows, []Cell{
				words(r.Impl), count(h.Wanted), count(h.Held), count(h.Lost), inUnit(bench.UnitCount, h.HeapBytesPerLock),
				count(h.GoroutinesBefore), count(h.GoroutinesAfter), inUnit(bench.UnitCount, h.CommandsPerRound),
			})
		}
	}
	return Section{ID: "holding", Title: "Holding", Tables: []Table{t}}
}
