package view

import (
	"fmt"
	"slices"

	"muxlock/cmd/lockbench/internal/units"
	"muxlock/cmd/lockbench/internal/validation"
)

// validation is the predictions beside what was measured, for a terminal.
func (b *Blocks) validation(checks []validation.Check) {
	for begin := 0; begin < len(checks); {
		first := checks[begin]
		end := begin + 1
		for end < len(checks) && checks[end].Case == first.Case && checks[end].Setting == first.Setting {
			end++
		}
		t := checksTable(checks[begin:end])
		t.Caption = fmt.Sprintf("%s: %s; stall p99 %s", first.Case, first.Setting, ns(first.StallP99Ns))
		b.Table(t)
		b.Line("")
		begin = end
	}
	b.Line("%s", ValidationSummary(checks))
}

func checksTable(checks []validation.Check) Table {
	t := Table{Columns: append(columns(2, "formula", "", "predicted", "from", "to", "measured", "from", "to", "n", "ratio", "accepted"), columns(1, "verdict")...)}
	classes := map[validation.Verdict]string{validation.Within: Good, validation.Outside: Bad}
	for _, c := range checks {
		value := func(v float64) string { return units.In(c.Unit, v) }
		t.Rows = append(t.Rows, append(cells(c.Formula, c.Quantity, value(c.Predicted.Value), value(c.Predicted.Lo), value(c.Predicted.Hi),
			value(c.Measured.Value), value(c.Measured.Lo), value(c.Measured.Hi),
			units.Number(c.Measured.N), known(c.Ratio, fmt.Sprintf("%.3f", c.Ratio)), c.Accepted()), Cell{string(c.Verdict), classes[c.Verdict]}))
	}
	return t
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
		line += fmt.Sprintf("; the machine stood still for up to %s at p99", ns(longest.StallP99Ns))
	}
	return line
}
