package text

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"muxlock/cmd/lockbench/internal/view"
	"muxlock/internal/fold"
)

const (
	between   = 2  // cells between two columns
	leastText = 12 // least width of a folded column
)

// table aligns text left and figures right. A last column of text is folded. Columns that do not fit stand in a second table
// below, after the same names. text/tabwriter aligns all columns alike, and has neither.
func table(w io.Writer, t view.Table) {
	rows, _ := t.All()
	last, least, widths := len(t.Heads)-1, leastText, make([]int, len(t.Heads))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.Text))
		}
		for word := range strings.FieldsSeq(row[last].Text) {
			least = max(least, utf8.RuneCountInString(word))
		}
	}
	if t.Left(last) {
		widths[last] = min(widths[last], least)
	}
	for _, part := range parts(widths, t.Texts) {
		for _, row := range rows {
			line := ""
			for _, i := range part {
				switch at := utf8.RuneCountInString(line); {
				case !t.Left(i):
					line += fmt.Sprintf("%*s", widths[i], row[i].Text)
				case i < last:
					line += fmt.Sprintf("%-*s", widths[i], row[i].Text)
				default:
					line += strings.TrimLeft(strings.Join(fold.Lines(row[i].Text, max(width, at+widths[i]), at, at), "\n"), " ")
				}
				line += strings.Repeat(" ", between)
			}
			fmt.Fprintln(w, strings.TrimRight(line, " "))
		}
	}
}

// parts divides the columns into parts that fit. Each part begins with the names: the first columns.
func parts(widths []int, names int) (parts [][]int) {
	var part []int
	room := width + between
	for i, w := range widths {
		if room -= w + between; room < 0 && len(part) > names {
			parts, part, room = append(parts, part), slices.Clone(part[:names]), width-w
			for _, name := range part {
				room -= widths[name] + between
			}
		}
		part = append(part, i)
	}
	return append(parts, part)
}
