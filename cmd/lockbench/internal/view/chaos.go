package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
)

// faultsText writes the faults of a document, or of chaos how many of each kind were drawn.
func faultsText(c result.Config) string {
	if c.FaultKinds == nil {
		return strings.Join(c.Faults, ", ")
	}
	drawn := map[string]int{}
	for _, spec := range c.Faults {
		kind, _, _ := strings.Cut(spec, ":")
		drawn[kind]++
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(drawn)) {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, drawn[kind]))
	}
	return fmt.Sprintf("%d drawn: %s", len(c.Faults), strings.Join(kinds, ", "))
}

// chaos shows where the history of a violation is, and how to have the same faults again.
func (b *Blocks) chaos(c result.Config, results []*bench.Result, again string) {
	for _, r := range results {
		b.when(c.History != "" && r.Safety.Violated(), "the events around the first violation of each key, and the faults: %s", c.History)
	}
	if c.FaultKinds != nil {
		b.line(Text, false, "again:\n  %s", again)
	}
}
