package view

import (
	"strings"

	"muxlock/cmd/lockbench/internal/result"
)

// Files is a comparison of two kept results: a row for each implementation and setting.
func Files(c result.Comparison) Page {
	var b Blocks
	b.Line("old  %s  %s", c.Old, strings.Join(c.OldAlone, ", "))
	b.Line("new  %s  %s", c.New, strings.Join(c.NewAlone, ", "))
	t := Table{Columns: columns(1, "new, times the old", "throughput", "p50", "p99", "cpu/cycle", "allocs/cycle", "")}
	var rows []result.Relative
	for _, row := range c.Rows {
		texts := []string{row.Impl}
		for _, r := range []*result.Ratio{row.Throughput, row.P50, row.P99, row.CPUPerOp, row.AllocsPerOp} {
			text := none
			if r != nil {
				text = ratioText(r)
			}
			texts = append(texts, text)
		}
		verdict := Cell{}
		if row.Regression != "" {
			verdict = Cell{Text: "REGRESSION", Class: Bad}
		}
		t.Rows, rows = append(t.Rows, append(cells(texts...), verdict)), append(rows, row.Relative)
	}
	b.Table(t)
	b.Line("%s", legend(rows))
	return Page{Title: "lockbench compare: " + c.New + " beside " + c.Old, Body: b}
}
