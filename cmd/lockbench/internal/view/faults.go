package view

import (
	"fmt"
	"slices"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/units"
	"muxlock/internal/stats"
)

// impacts is a line for each fault: what the users of the lock saw while it was in force,
// and while none was. It takes rounds of one implementation, whose seconds are put together;
// a figure is the median second's. Seconds that a fault covers in part belong to neither
// side, unless no second lies within it.
func (b *Blocks) impacts(name string, results []*bench.Result) {
	seen := map[string]bool{}
	without := secondsText(results, func(s second, bands []bench.Band) bool { return !s.touches(bands, "") })
	for _, r := range results {
		for _, f := range r.Faults {
			if seen[f.Spec] {
				continue
			}
			seen[f.Spec] = true
			in := secondsText(results, func(s second, bands []bench.Band) bool { return s.within(bands, f.Spec) })
			if in == "" {
				in = secondsText(results, func(s second, bands []bench.Band) bool { return s.touches(bands, f.Spec) })
			}
			text := name + f.Spec + "  " + span(f)
			if in != "" {
				text += ": " + in + " in it"
			}
			if without != "" {
				text += "; " + without + " without a fault"
			}
			b.Line("%s", text)
		}
	}
}

// span is when a fault was in force in one run.
func span(b bench.Band) string {
	if b.ToS == b.FromS {
		return fmt.Sprintf("at %.2fs", b.FromS)
	}
	return fmt.Sprintf("%.2fs-%.2fs", b.FromS, b.ToS)
}

// second is one point and what it lasted.
type second struct {
	bench.Point
	from float64
}

// edge is how far a fault may miss the border of a second: its begin is not exact.
const edge = 0.05

// within tells whether one fault of that spec covered the second from end to end.
func (s second) within(all []bench.Band, spec string) bool {
	return slices.ContainsFunc(all, func(b bench.Band) bool {
		return b.Spec == spec && b.FromS <= s.from+edge && s.TS-edge <= b.ToS
	})
}

// touches tells whether a fault of that spec, or of any if it is empty, fell into it.
func (s second) touches(all []bench.Band, spec string) bool {
	return slices.ContainsFunc(all, func(b bench.Band) bool {
		if spec != "" && b.Spec != spec {
			return false
		}
		began := s.from <= b.FromS && b.FromS < s.TS-edge
		return began || b.FromS < s.from && s.from+edge < b.ToS
	})
}

// secondsOf is those of all runs that which chooses.
func secondsOf(results []*bench.Result, which func(second, []bench.Band) bool) (chosen []second) {
	for _, r := range results {
		from := 0.0
		for _, p := range r.Series {
			if s := (second{p, from}); p.TS > from && which(s, r.Faults) {
				chosen = append(chosen, s)
			}
			from = p.TS
		}
	}
	return chosen
}

// secondsText is the median of their throughput and p99, and all that went wrong in them;
// empty where there are none.
func secondsText(results []*bench.Result, which func(second, []bench.Band) bool) string {
	all := secondsOf(results, which)
	if len(all) == 0 {
		return ""
	}
	var rates, p99s []float64
	var failed int64
	for _, s := range all {
		rates = append(rates, float64(s.Cycles)/(s.TS-s.from))
		p99s = append(p99s, float64(s.P99Ns))
		failed += s.Errors + s.Timeouts
	}
	rate := stats.Median(rates)
	text := units.Number(rate) + "/s"
	if rate > 0 {
		text += " p99 " + units.Duration(stats.Median(p99s))
	}
	if failed > 0 {
		text += fmt.Sprintf(", %s failed", units.Number(failed))
	}
	return text
}
