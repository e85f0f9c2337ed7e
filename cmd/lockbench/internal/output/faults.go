package output

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"muxlock/bench"
)

// hurt is a line for each fault: what the users of the lock saw while it was in
// force, and while none was. The results are rounds of one implementation, whose
// seconds are put together; a figure is the median second's. Seconds that a fault
// covers in part belong to neither, unless no second lies within it.
func hurt(w io.Writer, name string, results []*bench.Result) {
	seen := map[string]bool{}
	for _, r := range results {
		for _, b := range r.Faults {
			if seen[b.Spec] {
				continue
			}
			seen[b.Spec] = true
			fmt.Fprintf(w, "%s%s  %s", name, b.Spec, span(b))
			in := seconds(results, func(s second, all []bench.Band) bool { return s.within(all, b.Spec) })
			if len(in) == 0 {
				in = seconds(results, func(s second, all []bench.Band) bool { return s.touches(all, b.Spec) })
			}
			if len(in) > 0 {
				fmt.Fprintf(w, ": %s in it", usual(in))
			}
			out := seconds(results, func(s second, all []bench.Band) bool { return !s.touches(all, "") })
			if len(out) > 0 {
				fmt.Fprintf(w, "; %s without a fault", usual(out))
			}
			fmt.Fprintln(w)
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

// seconds is those of all runs that which chooses.
func seconds(results []*bench.Result, which func(second, []bench.Band) bool) (chosen []second) {
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

// usual is the median of their throughput and p99, and all that went wrong in them.
func usual(all []second) string {
	middle := func(value func(second) float64) float64 {
		vs := make([]float64, len(all))
		for i, s := range all {
			vs[i] = value(s)
		}
		return medianOf(vs)
	}
	rate := middle(func(s second) float64 { return float64(s.Cycles) / (s.TS - s.from) })
	text := Number(rate) + "/s"
	if rate > 0 {
		text += " p99 " + Duration(middle(func(s second) float64 { return float64(s.P99Ns) }))
	}
	var failed int64
	for _, s := range all {
		failed += s.Errors + s.Timeouts
	}
	if failed > 0 {
		text += fmt.Sprintf(", %s failed", Number(float64(failed)))
	}
	return text
}

// Hurt is a line for each fault of one implementation's runs: when it was in force, and
// what the users of the lock saw meanwhile and otherwise.
func Hurt(results []*bench.Result) []string {
	var b strings.Builder
	hurt(&b, "", results)
	return strings.FieldsFunc(b.String(), func(r rune) bool { return r == '\n' })
}
