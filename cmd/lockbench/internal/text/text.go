// Package text renders views for a terminal: lines as they are, tables lined up.
package text

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"muxlock/cmd/lockbench/internal/view"
)

// Write writes blocks. All of it is made before anything is written.
func Write(w io.Writer, blocks view.Blocks) error {
	var b bytes.Buffer
	for _, block := range blocks {
		if block.Table != nil {
			table(&b, *block.Table)
		} else {
			fmt.Fprintln(&b, block.Line)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// table puts figures below each other at the right; a last column of text comes behind
// them. A table of words has all at the left, and stands in below its caption.
func table(w io.Writer, t view.Table) {
	var shown []int
	for i, c := range t.Columns {
		if c.In != view.PageOnly {
			shown = append(shown, i)
		}
	}
	indent := ""
	if t.Caption != "" {
		fmt.Fprintln(w, t.Caption)
		indent = "  "
	}
	padding, flags := 3, tabwriter.AlignRight
	if t.Words {
		padding, flags = 2, 0
	}
	var lines bytes.Buffer
	tw := tabwriter.NewWriter(&lines, 0, 0, padding, ' ', flags)
	row := func(text func(column int) string) {
		for n, i := range shown {
			last := n == len(shown)-1
			switch cell := text(i); {
			case !last || !t.Words && !t.Columns[i].Left:
				fmt.Fprint(tw, cell, "\t")
			case !t.Words && cell != "":
				fmt.Fprint(tw, " ", cell)
			default:
				fmt.Fprint(tw, cell)
			}
		}
		fmt.Fprintln(tw)
	}
	if slices.ContainsFunc(t.Columns, func(c view.Column) bool { return c.Name != "" }) {
		row(func(i int) string { return t.Columns[i].Name })
	}
	for _, cells := range t.Rows {
		row(func(i int) string { return cellText(cells[i]) })
	}
	tw.Flush()
	for line := range strings.Lines(lines.String()) {
		if t.Words {
			line = strings.TrimRight(line, " \n") + "\n"
		}
		fmt.Fprint(w, indent, line)
	}
}

func cellText(c view.Cell) string {
	if c.Bar > 0 {
		return visibly(c.Bar)
	}
	return c.Text
}
