package view

import (
	"slices"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// impacts shows a line for each fault: throughput and p99 of the seconds that it touched, beside those of all other seconds. It pools
// the rounds of one implementation; a figure is of the median second.
func (b *Blocks) impacts(name string, results []*bench.Result) {
	all, shown := secondsOf(results...), map[string]bool{}
	for _, r := range results {
		for _, f := range r.Faults {
			if shown[f.Spec] {
				continue
			}
			shown[f.Spec] = true
			in := result.Where(all, func(s second) bool { return s.hit(f.Spec) })
			others := result.Where(all, func(s second) bool { return !s.hit(f.Spec) })
			crash := either(f.Kind == bench.Crash, "; what the killed process did is not counted", "")
			b.Line("%s%s: %s in it; %s in all other seconds%s", name, f.Spec, speed(in), speed(others), crash)
		}
	}
}

// speed writes the throughput and the p99 of seconds, as far as they have them.
func speed(seconds []second) string {
	var rates, p99s []units.Value
	for _, s := range seconds {
		rates = append(rates, units.Value{V: float64(s.Cycles) / s.length()})
		if s.Cycles > 0 && s.P99Ns > 0 {
			p99s = append(p99s, units.Value{V: float64(s.P99Ns), AtLeast: s.P99AtLeast})
		}
	}
	return units.Median(bench.UnitCount, rates) + "/s p99 " + units.Median(bench.UnitNs, p99s)
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

// hit reports whether a fault with that spec touched the second.
func (s second) hit(spec string) bool {
	return slices.ContainsFunc(s.faults, func(b bench.Band) bool {
		return b.Spec == spec && b.FromS < s.TS-edge && (s.from <= b.FromS || s.from+edge < b.ToS)
	})
}
