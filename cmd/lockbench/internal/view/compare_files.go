package view

import (
	"fmt"
	"strings"

	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// Files is a comparison of kept results: a table for each implementation, setting and file.
func Files(c result.Comparison) Page {
	var b Blocks
	for i, f := range c.Files {
		line := "old  " + f.Name
		if i > 0 {
			line = "new  " + f.Name
		}
		if f.NotValid > 0 {
			line += fmt.Sprintf("  NOT VALID: %d of its results", f.NotValid)
		}
		b.Line("%s", line)
		for _, s := range f.Differ {
			b.Line("     other %s: %s, was %s", s.Name, spaced(s.New), spaced(s.Old))
		}
		for _, name := range f.Unmatched {
			b.Line("     %s is not in %s", name, c.Files[0].Name)
		}
	}
	few, last := false, ""
	var t Table
	for _, row := range c.Rows {
		if name := result.Name(row.Impl, row.Setting) + "  " + row.File; name != last {
			last = name
			b.Table(t)
			b.Line("\n%s", name)
			t = Table{Columns: append(columns(1, "", "old", "new", "new/old", "95 % interval", "p", "n"), Column{Left: true})}
		}
		few = few || row.Verdict == result.TooFew
		t.Rows = append(t.Rows, comparedCells(row))
	}
	b.Table(t)
	b.Line("\nmedians over the rounds; ~ is no more than chance (Mann-Whitney, p >= 0.05)")
	if few {
		b.Line("too few rounds: no difference could be told from chance")
		b.hint("  measure both with --rounds 5 or more")
	}
	return Page{Title: "lockbench compare: results beside " + c.Files[0].Name, Body: b}
}

// spaced is a list that can be folded.
func spaced(list string) string { return strings.ReplaceAll(list, ",", ", ") }

func comparedCells(row result.Row) []Cell {
	older, newer, ratio, interval, p := none, none, known(row.Ratio, fmt.Sprintf("%.3f", row.Ratio)), none, none
	if row.Verdict != result.Missing {
		older, newer = units.In(row.Unit, row.Old), units.In(row.Unit, row.New)
	}
	if row.CI != nil {
		interval = fmt.Sprintf("%.3f..%.3f", row.CI[0], row.CI[1])
	}
	if row.P != nil {
		p = fmt.Sprintf("%.3f", *row.P)
	}
	verdict := Cell{Text: row.Verdict}
	if row.Regression {
		verdict = Cell{Text: "REGRESSION", Class: Bad}
	}
	return append(cells(row.Figure, older, newer, ratio, interval, p, fmt.Sprintf("%d+%d", row.OldRounds, row.NewRounds)), verdict)
}
