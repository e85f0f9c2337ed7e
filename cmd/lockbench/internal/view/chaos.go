package view

import (
	"fmt"
	"slices"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// chaos is the summary of a run that tried to break a lock.
func (b *Blocks) chaos(doc result.Document) {
	if len(doc.Results) == 0 {
		b.Line("nothing was measured")
		return
	}
	c, r := doc.Config, doc.Results[0]
	b.Line("chaos %s  %s  %s  keys %s  hold %s  ttl %s  seed %d", r.Impl, mastersText(c), workersText(c), keysText(c), c.Hold, c.TTL, c.Seed)
	b.Line("%d faults in %.1fs: %s", len(r.Faults), r.DurationS, byKind(r.Faults))
	b.Line("%s  longest wait %s", outcomes(r.Totals), ns(r.Fairness.MaxWaitNs))
	if r.Safety.Overlaps == 0 {
		b.Line("overlaps 0: no two held one lock at the same time")
	} else {
		b.bad("OVERLAPS %s: two held one lock at the same time", units.Number(r.Safety.Overlaps))
		b.example(r.History)
		b.Line("the events around the first overlap of each key, and the faults: %s", c.History)
	}
	for _, reason := range r.Valid.Reasons {
		b.bad("NOT VALID %s: %s", r.Impl, reason)
	}
	b.hint("again: the same with --seed %d", c.Seed)
}

func byKind(bands []bench.Band) string {
	counts := map[string]int{}
	var kinds []string
	for _, b := range bands {
		if counts[b.Kind]++; counts[b.Kind] == 1 {
			kinds = append(kinds, b.Kind)
		}
	}
	slices.Sort(kinds)
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%s %d", kind, counts[kind])
	}
	return strings.Join(kinds, ", ")
}

// example is the first overlap.
func (b *Blocks) example(events []bench.Event) {
	i := slices.IndexFunc(events, func(e bench.Event) bool { return e.Overlap })
	if i < 0 {
		return
	}
	second := events[i]
	for _, e := range slices.Backward(events) {
		if e.Kind == bench.EventAcquired && e.Key == second.Key && e.Worker != second.Worker && e.ToNs <= second.ToNs && e.UntilNs > second.ToNs {
			b.Line("first: %s  worker %d from %.4fs, valid until %.4fs; worker %d from %.4fs", e.Key,
				e.Worker, float64(e.ToNs)/1e9, float64(e.UntilNs)/1e9, second.Worker, float64(second.ToNs)/1e9)
			return
		}
	}
}
