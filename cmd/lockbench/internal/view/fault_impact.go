package view

import (
	"fmt"
	"slices"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/units"
)

// impacts shows a line for each fault: throughput and latency while it was in force, and without
// any fault. It pools the seconds of all rounds of one implementation; a figure is of the median
// second. A second that a fault covers in part counts as one of it.
func (b *Blocks) impacts(name string, results []*bench.Result) {
	seen, all := map[string]bool{}, secondsOf(results...)
	without := secondsText(all, func(s second) bool { return !s.hit("") })
	for _, r := range results {
		for _, f := range r.Faults {
			if seen[f.Spec] {
				continue
			}
			seen[f.Spec] = true
			text := fmt.Sprintf("%s%s  %.2fs-%.2fs", name, f.Spec, f.FromS, f.ToS)
			if f.ToS == f.FromS {
				text = fmt.Sprintf("%s%s  at %.2fs", name, f.Spec, f.FromS)
			}
			if in := secondsText(all, func(s second) bool { return s.hit(f.Spec) }); in != "" {
				text += ": " + in + " in it"
			}
			if without != "" {
				text += "; " + without + " without a fault"
			}
			if f.Kind == bench.Crash {
				text += "; what the killed process did since its last report, up to 1s, is not counted"
			}
			b.Line("%s", text)
		}
	}
}

// second is one point, its length, and the faults of its run.
type second struct {
	bench.Point
	from   float64
	faults []bench.Band
}

func (s second) length() float64 { return s.TS - s.from }

// secondsOf returns the seconds of all runs.
func secondsOf(results ...*bench.Result) (all []second) {
	for _, r := range results {
		from := 0.0
		for _, p := range r.Series {
			if p.TS > from {
				all = append(all, second{p, from, r.Faults})
			}
			from = p.TS
		}
	}
	return all
}

// edge is the tolerance between a fault and the border of a second, since begins are not exact.
const edge = 0.05

// hit reports whether a fault with that spec (any, if it is empty) touched the second.
func (s second) hit(spec string) bool {
	return slices.ContainsFunc(s.faults, func(b bench.Band) bool {
		return (spec == "" || b.Spec == spec) && b.FromS < s.TS-edge && (s.from <= b.FromS || s.from+edge < b.ToS)
	})
}

// secondsText writes the median throughput and p99 of the seconds that which chooses, and their
// errors. It is empty if which chooses none.
func secondsText(all []second, which func(second) bool) string {
	var rates, p99s medians
	var failed int64
	for _, s := range all {
		if which(s) {
			rates.add(float64(s.Cycles)/s.length(), false)
			if s.Cycles > 0 && s.P99Ns > 0 { // the second has a latency
				p99s.add(float64(s.P99Ns), s.P99AtLeast)
			}
			failed += s.Errors + s.Timeouts
		}
	}
	if rates.values == nil {
		return ""
	}
	text := rates.text(bench.UnitCount) + "/s"
	if p99s.values != nil {
		text += " p99 " + p99s.text(bench.UnitNs)
	}
	if failed > 0 {
		text += fmt.Sprintf(", %s failed", units.Number(failed))
	}
	return text
}
