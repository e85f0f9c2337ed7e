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
	leastText = 12 // least width of a column of text
)

// grid is a table as text. Its first row has the headings.
type grid struct {
	view.Table
	rows   [][]string
	widths []int
}

// table aligns text left and figures right. If the table is too wide, it folds the last column of
// text. If that does not suffice, a second table below has the rest of the columns, after the same
// names.
func table(w io.Writer, t view.Table) {
	indent := ""
	if t.Caption != "" {
		fmt.Fprintln(w, Fold(t.Caption))
		indent = "  "
	}
	g, room := gridOf(t), width-len(indent)
	g.narrow(room)
	for _, part := range g.parts(room) {
		for _, row := range g.rows {
			for _, line := range g.lines(row, part) {
				fmt.Fprintln(w, strings.TrimRight(indent+line, " "))
			}
		}
	}
}

func gridOf(t view.Table) grid {
	g := grid{Table: t, widths: make([]int, len(t.Heads))}
	if t.Headed() {
		g.rows = append(g.rows, t.Heads)
	}
	for _, cells := range t.Rows {
		var row []string
		for _, cell := range cells {
			row = append(row, cell.Text)
		}
		g.rows = append(g.rows, row)
	}
	for _, row := range g.rows {
		for i, cell := range row {
			g.widths[i] = max(g.widths[i], utf8.RuneCountInString(cell))
		}
	}
	return g
}

// narrow gives a column of text at most half of the room, and a last column of text the rest. It
// breaks no word, and makes no column narrower than leastText.
func (g *grid) narrow(room int) {
	left := room
	for i, width := range g.widths {
		most := room / 2
		if i == len(g.widths)-1 {
			most = left
		}
		if g.Left(i) {
			g.widths[i] = min(width, max(most, g.least(i)))
		}
		left -= g.widths[i] + between
	}
}

// least returns the width of the longest word of a column, at least leastText.
func (g *grid) least(column int) int {
	least := leastText
	for _, row := range g.rows {
		for _, word := range strings.Fields(row[column]) {
			least = max(least, utf8.RuneCountInString(word))
		}
	}
	return least
}

// parts divides the columns into parts that fit. Each part begins with the names: the first columns
// of text.
func (g *grid) parts(room int) (parts [][]int) {
	var part []int
	used := -between
	for i, width := range g.widths {
		if used += between + width; used > room && len(part) > g.Texts {
			parts, part = append(parts, part), slices.Clone(part[:g.Texts])
			used = width
			for _, name := range part {
				used += between + g.widths[name]
			}
		}
		part = append(part, i)
	}
	return append(parts, part)
}

// lines returns the lines of one row of a part.
func (g *grid) lines(row []string, part []int) (lines []string) {
	folded, height := make([][]string, len(part)), 1
	for n, i := range part {
		folded[n] = fold.Lines(row[i], g.widths[i], 0, 0)
		height = max(height, len(folded[n]))
	}
	for at := range height {
		var line strings.Builder
		for n, i := range part {
			cell := ""
			if at < len(folded[n]) {
				cell = folded[n][at]
			}
			width := g.widths[i]
			if g.Left(i) {
				width = -width
			}
			fmt.Fprintf(&line, "%*s%*s", width, cell, between, "")
		}
		lines = append(lines, line.String())
	}
	return lines
}
