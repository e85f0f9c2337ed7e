package output

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/validation"
)

// Validation is the predictions beside what was measured, for people.
func Validation(w io.Writer, checks []validation.Check) error {
	b := &buffer{}
	for begin := 0; begin < len(checks); {
		first := checks[begin]
		end := begin + 1
		for end < len(checks) && checks[end].Case == first.Case && checks[end].Setting == first.Setting {
			end++
		}
		fmt.Fprintf(b, "%s: %s; stall p99 %s\n", first.Case, first.Setting, Duration(float64(first.StallP99Ns)))
		group(b, checks[begin:end])
		fmt.Fprintln(b)
		begin = end
	}
	fmt.Fprintln(b, ValidationSummary(checks))
	return b.flush(w)
}

// ValidationSummary is the verdicts in one line.
func ValidationSummary(checks []validation.Check) string {
	counts := map[validation.Verdict]int{}
	for _, c := range checks {
		counts[c.Verdict]++
	}
	line := fmt.Sprintf("%d predictions: %d within, %d outside", len(checks), counts[validation.Within], counts[validation.Outside])
	if n := counts[validation.Unmeasured]; n > 0 {
		line += fmt.Sprintf(", %d not measured", n)
	}
	if longest := slices.MaxFunc(append([]validation.Check{{}}, checks...), func(a, b validation.Check) int {
		return int(max(min(a.StallP99Ns-b.StallP99Ns, 1), -1))
	}); longest.StallP99Ns > 0 {
		line += fmt.Sprintf("; the machine stood still for up to %s at p99", Duration(float64(longest.StallP99Ns)))
	}
	return line
}

// group is the checks of one setting.
func group(w io.Writer, checks []validation.Check) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "  \t\tpredicted\tmeasured\tinterval\tn\tratio\taccepted\tverdict")
	for _, c := range checks {
		m := c.Measured
		fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\t%s to %s\t%s\t%s\t%s\t%s\n", c.Formula, c.Quantity,
			Quantity(c.Unit, c.Predicted.Value), Quantity(c.Unit, m.Value), Quantity(c.Unit, m.Lo), Quantity(c.Unit, m.Hi),
			Number(float64(m.N)), Ratio(c), c.Accepted(), c.Verdict)
	}
	tw.Flush()
}

// Ratio is that of a check, "-" where there is none.
func Ratio(c validation.Check) string {
	if c.Ratio == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", c.Ratio)
}

// Quantity is a value with its unit.
func Quantity(unit string, v float64) string {
	switch unit {
	case bench.UnitNs:
		return Duration(v)
	case bench.UnitShare:
		return Digits(100*v) + "%"
	case validation.PerSecond:
		return Digits(v) + "/s"
	}
	return Digits(v)
}
