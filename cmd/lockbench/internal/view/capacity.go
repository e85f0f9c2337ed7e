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

func stepsTable(c bench.Capacity) Table {
	t := Table{Columns: append(columns("step", "rate/s", "cycles/s", "p99"), texts("", "")...)}
	for i, s := range c.Steps {
		t.Rows = append(t.Rows, cells(fmt.Sprint(i+1), units.In(bench.UnitCount, s.RatePerS), units.In(bench.UnitCount, s.ThroughputPerS),
			known(s.P99Ns, ns(s.P99Ns)), outcome(s), s.Why))
	}
	return t
}

// Answer is what a search found, in a sentence.
func Answer(c bench.Capacity) string {
	what := fmt.Sprintf("%s: highest rate that met %s: ", result.Name(c.Impl, c.Setting), strings.Join(c.SLO, " and "))
	var p99 int64
	for _, s := range c.Steps {
		if s.RatePerS == c.RatePerS && s.Met {
			p99 = max(p99, s.P99Ns)
		}
	}
	if c.RatePerS == 0 {
		what += "none"
	} else {
		what += fmt.Sprintf("%s (p99 up to %s)", units.Rate(c.RatePerS), ns(p99))
	}
	if c.MissedPerS > 0 {
		what += ", missed at " + units.Rate(c.MissedPerS)
	}
	switch {
	case c.RatePerS == 0 && c.UnjudgedPerS > 0:
		what += fmt.Sprintf("; at %s there was too little to judge by", units.Rate(c.UnjudgedPerS))
	case c.RatePerS > 0 && !c.Confirmed:
		what += "; NOT CONFIRMED: the search ended before"
	}
	return what + notKnown(c)
}

// notKnown says above which rate the generator could not show what the lock can do.
func notKnown(c bench.Capacity) string {
	if !c.GeneratorLimits() {
		return ""
	}
	return fmt.Sprintf("; not known above %s: the generator, which could not keep up at %s", units.Rate(c.RatePerS), units.Rate(c.GeneratorPerS))
}

// outcome is what a step came to, in a word or two.
func outcome(s bench.CapacityStep) string {
	switch {
	case s.Met && s.Confirms:
		return "met again"
	case s.Met:
		return "met"
	case s.Generator:
		return "not known"
	case s.Unjudged:
		return "not judged"
	}
	return "missed"
}
