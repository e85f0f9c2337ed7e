package output

import (
	"fmt"
	"io"
	"text/tabwriter"

	"muxlock/bench"
	"muxlock/internal/stats"
)

// objectives writes how each implementation stood to what was asked of it: over
// several rounds the median, and in how many it was met.
func objectives(w io.Writer, doc Document) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, impl := range doc.Config.Impls {
		for _, text := range doc.Config.SLO {
			rounds := judged(doc.Results, impl, text)
			if len(rounds) == 0 {
				continue
			}
			fmt.Fprint(tw, "SLO\t")
			if len(doc.Config.Impls) > 1 {
				fmt.Fprintf(tw, "%s\t", impl)
			}
			fmt.Fprintf(tw, "%s\t%s\n", text, stood(rounds))
		}
	}
	tw.Flush()
}

// judged is one objective in all rounds of an implementation.
func judged(results []*bench.Result, impl, text string) (rounds []bench.SLO) {
	for _, r := range results {
		for _, s := range r.SLO {
			if r.Impl == impl && s.Text == text {
				rounds = append(rounds, s)
			}
		}
	}
	return rounds
}

// stood is the measured value and the verdict; a round that missed says more than
// one that could not be judged.
func stood(rounds []bench.SLO) string {
	var values []float64
	passed, reason := 0, ""
	for _, s := range rounds {
		if s.Reason != "" {
			reason = s.Reason
			continue
		}
		values = append(values, s.Value)
		if s.Pass {
			passed++
		}
	}
	value := "-"
	if len(values) > 0 {
		value = InUnit(stats.Median(values), rounds[0].Unit)
	}
	count := ""
	if len(rounds) > 1 {
		count = fmt.Sprintf(" (met in %d of %d rounds)", passed, len(rounds))
	}
	switch {
	case passed == len(rounds):
		return value + "\tPASS" + count
	case passed < len(values):
		return value + "\tMISSED" + count
	}
	return value + "\tNOT JUDGED" + count + ": " + reason
}

// InUnit is a figure for people: a unit that fits, three digits.
func InUnit(v float64, unit string) string {
	switch {
	case unit == bench.UnitNs:
		return Duration(v)
	case unit == bench.UnitShare:
		return Digits(100*v) + "%"
	case v >= 1000:
		return Number(v)
	}
	return Digits(v)
}
