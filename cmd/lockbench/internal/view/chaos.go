package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// chaos shows the summary of a chaos run.
func (b *Blocks) chaos(doc result.Document) {
	if len(doc.Results) == 0 {
		b.Line("nothing was measured")
		return
	}
	c, r := doc.Config, doc.Results[0]
	b.Line("chaos %s  %s  seed %d", r.Impl, strings.Join(workload(doc), "  "), c.Seed)
	b.Line("%d faults in %.1fs: %s", len(r.Faults), r.DurationS, byKind(r.Faults))
	b.Line("%s  longest wait %s", outcomes(r).text(), ns(r.Fairness.MaxWaitNs))
	if r.Safety.Overlaps == 0 {
		b.Line("overlaps 0: no two held one lock at the same time")
	} else {
		b.bad("OVERLAPS %s: two held one lock at the same time", units.Number(r.Safety.Overlaps))
		b.example(r.History, func(first, second bench.Event) bool {
			return first.Worker != second.Worker && !(first.Kind == bench.EventRead && second.Kind == bench.EventRead) && first.ToNs <= second.ToNs && heldUntil(r.History, first) > second.ToNs
		})
	}
	switch {
	case r.Safety.FenceViolations > 0:
		b.bad("FENCE VIOLATIONS %s: a later holder's fence was not larger than the one before", units.Number(r.Safety.FenceViolations))
		b.example(r.History, func(first, second bench.Event) bool {
			return !c.Op.Permits() && first.ToNs < second.ToNs && first.Fence >= second.Fence && second.Fence > 0 // permits: events do not say whether their slots are one
		})
	case r.Totals.Fenced > 0:
		b.Line("%s", fencesText(r))
	}
	if k := r.Kept; k != nil {
		b.Line("kept locks %s, lost %s, %s of them while their process stood still", units.Number(k.Held), units.Number(k.Lost), units.Number(k.Stopped))
	}
	b.when(r.Safety.Violated(), "the events around the first violation of each key, and the faults: %s", c.History)
	for _, reason := range r.Valid.Reasons {
		b.bad("NOT VALID %s: %s", r.Impl, reason)
	}
	b.hint("again: the same with --seed %d", c.Seed)
}

func byKind(bands []bench.Band) string {
	counts := map[string]int{}
	for _, b := range bands {
		counts[b.Kind]++
	}
	var texts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		texts = append(texts, fmt.Sprintf("%s %d", kind, counts[kind]))
	}
	return strings.Join(texts, ", ")
}

// heldUntil returns when the hold that begins with first ended: its worker called Release, or its validity was over.
func heldUntil(events []bench.Event, first bench.Event) int64 {
	next := slices.IndexFunc(events, func(e bench.Event) bool {
		return e.Worker == first.Worker && e.Key == first.Key && e.FromNs >= first.ToNs
	})
	if next >= 0 && events[next].Kind == bench.EventReleased {
		return min(events[next].FromNs, first.UntilNs)
	}
	return first.UntilNs
}

// example shows the first hold that violates, and the last hold of its key before it that it
// conflicts with.
func (b *Blocks) example(events []bench.Event, conflicts func(first, second bench.Event) bool) {
	hold := func(e bench.Event) string {
		text := fmt.Sprintf("worker %d from %.4fs, valid until %.4fs", e.Worker, float64(e.ToNs)/1e9, float64(e.UntilNs)/1e9)
		if e.Fence > 0 {
			text += fmt.Sprintf(", fence %d", e.Fence)
		}
		return text
	}
	for _, second := range events {
		for _, first := range slices.Backward(events) {
			if second.Overlap && first.Acquires() && first.Key == second.Key && conflicts(first, second) {
				b.Line("first: %s  %s; %s", first.Key, hold(first), hold(second))
				return
			}
		}
	}
}
