package view

import (
	"fmt"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/units"
)

// clientText is what the load cost here, and what may have disturbed it.
func clientText(r *bench.Result) string {
	c := r.Client
	var parts []string
	if r.ThroughputPerS > 0 { // --op hold has no cycles
		parts = append(parts, fmt.Sprintf("cpu %s a cycle", units.Duration(c.CPUNsPerOp)), fmt.Sprintf("allocs %s a cycle", units.Digits(c.AllocsPerOp)))
	}
	parts = append(parts, fmt.Sprintf("%.0f%% of the machine's cpu", 100*c.CPUShare),
		"gc pause p99 "+units.Duration(float64(c.GCP99Ns)), "ready to run p99 "+units.Duration(float64(c.SchedP99Ns)))
	if s := c.Stall; s != nil {
		parts = append(parts, fmt.Sprintf("stall p99 %s longest %s", units.Percentile(s, "99"), units.Duration(float64(s.Max))))
	}
	return "client: " + strings.Join(parts, "  ")
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
