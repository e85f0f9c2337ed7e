package report

import (
	"fmt"

	"muxlock/cmd/lockbench/internal/output"
	"muxlock/cmd/lockbench/internal/validation"
)

// validated is the predictions beside what was measured.
func validated(doc output.Document) Section {
	s := Section{ID: "validation", Title: "Predictions against reality"}
	if len(doc.Validation) == 0 {
		return s
	}
	s.Note = output.ValidationSummary(doc.Validation)
	t := Table{Columns: []Column{{"formula", true}, {"case", true}, {"", true}, {"predicted", false}, {"measured", false}, {"from", false}, {"to", false},
		{"n", false}, {"ratio", false}, {"accepted", false}, {"verdict", true}, {"stall p99", false}}}
	for _, c := range doc.Validation {
		value := func(v float64) Cell { return Cell{Text: output.Quantity(c.Unit, v), Title: plain(v)} }
		t.Rows = append(t.Rows, []Cell{
			Text(c.Formula), Text(c.Case + ": " + c.Setting), Text(c.Quantity), value(c.Predicted.Value), value(c.Measured.Value), value(c.Measured.Lo), value(c.Measured.Hi),
			Count(c.Measured.N), {Text: output.Ratio(c), Title: plain(c.Ratio)}, Text(c.Accepted()), verdictCell(c.Verdict), Ns(float64(c.StallP99Ns)),
		})
	}
	s.Tables = []Table{t}
	return s
}

func verdictCell(v validation.Verdict) Cell {
	class := map[validation.Verdict]string{validation.Within: "good", validation.Outside: "bad", validation.Unmeasured: "faint"}[v]
	return Cell{Text: string(v), Class: class}
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
		return []Verdict{{"good", "All predictions are within what was measured", nil}}
	}
	return []Verdict{{"bad", fmt.Sprintf("%d of %d predictions are not within what was measured", len(bad), len(checks)), few(bad)}}
}
