package view

import (
	"cmp"
	"fmt"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/units"
	"muxlock/internal/stats"
)

// impacts is a line for each fault: what the users of the lock saw while it was in force,
// and while none was. It takes rounds of one implementation, whose seconds are put together;
// a figure is the median second's. Seconds that a fault covers in part belong to neither
// side, unless no second lies within it.
func (b *Blocks) impacts(name string, results []*bench.Result) {
	seen, all := map[string]bool{}, secondsOf(results)
	without := secondsText(all, func(s second) bool { some, _ := s.hit(""); return !some })
	for _, r := range results {
		for _, f := range r.Faults {
			if seen[f.Spec] {
				continue
			}
			seen[f.Spec] = true
			in := cmp.Or(
				secondsText(all, func(s second) bool { _, whole := s.hit(f.Spec); return whole }),
				secondsText(all, func(s second) bool { some, _ := s.hit(f.Spec); return some }))
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

// second is one point, what it lasted, and the faults of its run.
type second struct {
	bench.Point
	from   float64
	faults []bench.Band
}

func (s second) length() float64 { return s.TS - s.from }

// secondsOf is those of all runs.
func secondsOf(results []*bench.Result) (all []second) {
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

// edge is how far a fault may miss the border of a second: its begin is not exact.
const edge = 0.05

// hit tells whether a fault of that spec, or of any if it is empty, fell into the second, and
// whether one covered it from end to end.
func (s second) hit(spec string) (some, whole bool) {
	for _, b := range s.faults {
		if spec == "" || b.Spec == spec {
			some = some || b.FromS < s.TS-edge && (s.from <= b.FromS || s.from+edge < b.ToS)
			whole = whole || b.FromS <= s.from+edge && s.TS-edge <= b.ToS
		}
	}
	return some, whole
}

// secondsText is the median of the throughput and p99 of those that which chooses, and all that
// went wrong in them; empty where there are none.
func secondsText(all []second, which func(second) bool) string {
	var rates, p99s []float64
	var failed int64
	for _, s := range all {
		if which(s) {
			rates = append(rates, float64(s.Cycles)/s.length())
			p99s = append(p99s, float64(s.P99Ns))
			failed += s.Errors + s.Timeouts
		}
	}
	if len(rates) == 0 {
		return ""
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
