package view

import (
	"fmt"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// capacities is searches, their steps and what each found.
func (b *Blocks) capacities(doc result.Document) {
	for _, c := range doc.Capacity {
		b.Line("\n%s: the highest rate that meets %s", c.Impl, strings.Join(c.SLO, " and "))
		t := Table{Texts: 1, Heads: []string{"step", "rate/s", "cycles/s", "p99", "", ""}, Remarks: 2}
		for i, s := range c.Steps {
			t.Rows = append(t.Rows, cells(fmt.Sprint(i+1), units.In(bench.UnitCount, s.RatePerS), units.In(bench.UnitCount, s.ThroughputPerS),
				known(s.P99Ns, ns(s.P99Ns)), outcome(s), s.Why))
		}
		b.Table(t)
		b.Line("%s", Answer(c))
	}
	b.growth(doc)
}

// outcome is what most runs at a rate came to, and how many.
func outcome(s result.CapacityStep) string {
	text := string(s.Outcome)
	switch s.Outcome {
	case result.RateMet:
		text = fmt.Sprintf("met in %d of %d runs", s.Met, s.Met+s.Missed)
	case result.RateMissed:
		text = fmt.Sprintf("missed in %d of %d runs", s.Missed, s.Met+s.Missed)
	case result.RateSpoiled:
		return fmt.Sprintf("%d spoiled of %d runs", s.Spoiled, len(s.Results))
	}
	if s.Spoiled > 0 {
		text += fmt.Sprintf(" (%d more spoiled)", s.Spoiled)
	}
	return text
}

// Answer is what a search found, in a sentence, and what it rests on.
func Answer(c result.Capacity) string {
	at, next := c.At(c.RatePerS), c.At(c.NextPerS)
	text := fmt.Sprintf("%s: highest rate that meets %s: ", c.Impl, strings.Join(c.SLO, " and "))
	if c.RatePerS == 0 {
		text += "none"
	} else {
		text += fmt.Sprintf("%s, %s", units.Rate(c.RatePerS), outcome(at))
	}
	switch {
	case c.NextPerS == 0:
		return text + "; no higher one was tried"
	case c.Unknown():
		text += "; what is above is not known: "
	default:
		text += "; "
	}
	return text + fmt.Sprintf("%s at %s", outcome(next), units.Rate(c.NextPerS))
}
