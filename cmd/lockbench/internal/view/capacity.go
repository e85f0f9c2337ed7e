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
		b.Line("\n%s: the highest rate that meets %s", result.Name(c.Impl, c.Setting), strings.Join(c.SLO, " and "))
		b.Table(stepsTable(c))
		b.Line("%s", Answer(c))
		if c.RatePerS == 0 && c.UnjudgedPerS > 0 {
			b.hint("  a longer --duration gives enough to judge by")
		}
	}
	b.growth(doc)
}

func stepsTable(c result.Capacity) Table {
	t := Table{Columns: append(columns(1, "step", "rate/s", "cycles/s", "p99"), columns(2, "", "")...)}
	for i, s := range c.Steps {
		t.Rows = append(t.Rows, cells(fmt.Sprint(i+1), units.In(bench.UnitCount, s.RatePerS), units.In(bench.UnitCount, s.ThroughputPerS),
			known(s.P99Ns, ns(s.P99Ns)), outcome(s), s.Why))
	}
	return t
}

// Answer is what a search found, in a sentence, and why it is not more.
func Answer(c result.Capacity) string {
	text := fmt.Sprintf("%s: highest rate that meets %s: ", result.Name(c.Impl, c.Setting), strings.Join(c.SLO, " and "))
	switch {
	case c.RatePerS == 0:
		text += "none"
		if c.MissedPerS > 0 {
			text += ", missed at " + units.Rate(c.MissedPerS)
		}
	case c.HighPerS == 0:
		text += units.Rate(c.RatePerS) + " or more"
	default:
		text += fmt.Sprintf("%s, 90 %% interval %s to %s", units.Rate(c.RatePerS), units.In(bench.UnitCount, c.LowPerS), units.In(bench.UnitCount, c.HighPerS))
	}
	text += fmt.Sprintf(", %d runs", c.Runs)
	if c.Disturbed > 0 {
		text += fmt.Sprintf(", %d of them disturbed and not counted", c.Disturbed)
	}
	switch {
	case c.Limited():
		text += fmt.Sprintf("; what is above is not known: at %s the generator lagged or the machine stalled", units.Rate(c.GeneratorPerS))
	case c.RatePerS == 0 && c.UnjudgedPerS > 0:
		text += fmt.Sprintf("; at %s there was too little to judge by", units.Rate(c.UnjudgedPerS))
	case c.RatePerS > 0 && !c.Confirmed:
		text += fmt.Sprintf("; NOT CONFIRMED: the search ended before its interval was less than %.2fx wide", result.CapacityClose)
	}
	return text
}

// outcome is what a step came to, in a word or two.
func outcome(s result.CapacityStep) string {
	switch {
	case s.Met && s.Confirms:
		return "met again"
	case s.Met:
		return "met"
	case s.Disturbed:
		return "disturbed"
	case s.Unjudged:
		return "not judged"
	}
	return "missed"
}
