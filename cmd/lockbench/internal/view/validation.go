package view

import (
	"fmt"
	"slices"

	"muxlock/cmd/lockbench/internal/result"
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
		t.Caption = fmt.Sprintf("%s: %s; stall p99 %s", first.Case, first.Setting, units.Duration(float64(first.StallP99Ns)))
		b.Table(t)
		b.Line("")
		begin = end
	}
	b.Line("%s", ValidationSummary(checks))
}

// validated is the same on a page.
func validated(doc result.Document) Section {
	s := Section{ID: "validation", Title: "Predictions against reality"}
	if doc.Kind() == result.Validate {
		s.Note = ValidationSummary(doc.Validation)
		s.Tables = []Table{checksTable(doc.Validation)}
	}
	return s
}

func checksTable(checks []validation.Check) Table {
	t := Table{Columns: []Column{{Name: "formula", Left: true}, {Name: "case", Left: true, In: PageOnly}, {Left: true}, {Name: "predicted"}, {Name: "measured"},
		{Name: "from"}, {Name: "to"}, {Name: "n"}, {Name: "ratio"}, {Name: "accepted"}, {Name: "verdict", Left: true}, {Name: "stall p99", In: PageOnly}}}
	for _, c := range checks {
		value := func(v float64) Cell { return inUnit(c.Unit, v) }
		t.Rows = append(t.Rows, []Cell{
			words(c.Formula), words(c.Case + ": " + c.Setting), words(c.Quantity), value(c.Predicted.Value), value(c.Measured.Value), value(c.Measured.Lo), value(c.Measured.Hi),
			count(c.Measured.N), known(c.Ratio, decimals("%.3f", c.Ratio)), words(c.Accepted()), verdictCell(c.Verdict), ns(c.StallP99Ns),
		})
	}
	return t
}

func verdictCell(v validation.Verdict) Cell {
	class := map[validation.Verdict]string{validation.Within: Good, validation.Outside: Bad, validation.Unmeasured: Faint}[v]
	return Cell{Text: string(v), Class: class}
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
		line += fmt.Sprintf("; the machine stood still for up to %s at p99", units.Duration(float64(longest.StallP99Ns)))
	}
	return line
}

// validationVerdicts is the judgement at the head of such a page.
func validationVerdicts(checks []validation.Check) []Verdict {
	var bad []string
	for _, c := range checks {
		if c.Verdict != validation.Within {
			bad = append(bad, fmt.Sprintf("%s, %s: %s, %s", c.Formula, c.Quantity, c.Verdict, c.Setting))
		}
	}
	if len(bad) == 0 {
		return []Verdict{{Good, "All predictions are within what was measured", nil}}
	}
	return []Verdict{{Bad, fmt.Sprintf("%d of %d predictions are not within what was measured", len(bad), len(checks)), few(bad)}}
}
