// Package view decides what is shown of a result: documents in, sections out. A section
// has lines of words, tables of cells and the data of charts. How that looks is decided
// by the renderers, package text for a terminal and package html for a browser. One file
// is one topic, for both.
package view

import (
	"fmt"
	"strconv"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/units"
)

// Blocks is what a terminal shows, from above.
type Blocks []Block

// Block is a line or a table.
type Block struct {
	Line  string
	Code  bool   // Line is several, to be copied as they are
	Hint  bool   // Line is what to try: for a person, not for what reads a pipe
	Table *Table // nil: Line
}

// Line adds one.
func (b *Blocks) Line(format string, args ...any) {
	*b = append(*b, Block{Line: fmt.Sprintf(format, args...)})
}

func (b *Blocks) hint(format string, args ...any) {
	*b = append(*b, Block{Line: fmt.Sprintf(format, args...), Hint: true})
}

// Table adds one that has rows.
func (b *Blocks) Table(t Table) {
	if len(t.Rows) > 0 {
		*b = append(*b, Block{Table: &t})
	}
}

// Section is one part of a page. An empty one is left out.
type Section struct {
	ID     string // for links to it
	Title  string
	Note   string // one paragraph below the title
	Panels []Panel
	Tables []Table // below the panels
	Code   string  // preformatted, to be copied
}

// Panel is charts and tables that are seen together. Several of a section are shown
// in turn, by their names.
type Panel struct {
	Name   string
	Charts []Chart
	Tables []Table
}

// Table is figures in rows.
type Table struct {
	Caption string
	Columns []Column
	Rows    [][]Cell
}

// Column is a heading, and whether text stands below it, which begins at the left.
type Column struct {
	Name string
	Left bool
	In   Medium
}

// Medium is where a column is shown.
type Medium int

// Everywhere is the zero value.
const (
	Everywhere   Medium = iota
	PageOnly            // where there is room
	TerminalOnly        // where there is no chart, or nothing to point at
)

// Cell is a figure for people, and exactly.
type Cell struct {
	Text  string
	Title string  // shown when pointed at
	Class string  // Good, Bad or Faint
	Bar   float64 // on a terminal: drawn to this share of the column instead; 0: Text
}

// Classes of cells and verdicts.
const (
	Good  = "good"
	Bad   = "bad"
	Faint = "faint"
)

// words is a cell of words.
func words(s string) Cell { return Cell{Text: s} }

// ns is a cell of a time.
func ns[T int64 | float64](v T) Cell {
	return Cell{Text: units.Duration(float64(v)), Title: plain(float64(v)) + " ns"}
}

// signed is a time that may be below 0.
func signed(v int64) Cell {
	c := ns(max(v, -v))
	c.Title = plain(float64(v)) + " ns"
	if v < 0 {
		c.Text = "-" + c.Text
	}
	return c
}

// known is c when what it shows was measured, where 0 says that it was not.
func known(v float64, c Cell) Cell {
	if v == 0 {
		return none
	}
	return c
}

// count is a cell of a whole number.
func count(n int64) Cell { return Cell{Text: units.Number(n), Title: strconv.FormatInt(n, 10)} }

// alarming is a count that should be 0.
func alarming(n int64) Cell {
	c := count(n)
	if n > 0 {
		c.Class = Bad
	}
	return c
}

// inUnit is a cell of a figure in one of bench's units.
func inUnit(unit string, v float64) Cell {
	if unit == bench.UnitNs {
		return ns(v)
	}
	return Cell{Text: units.In(unit, v), Title: plain(v)}
}

// digits is a cell of a number in so many decimals.
func decimals(format string, v float64) Cell {
	return Cell{Text: fmt.Sprintf(format, v), Title: plain(v)}
}

// none is a cell of what was not measured.
var none = Cell{Text: "-", Class: Faint}

// percentile is one of s.
func percentile(s *bench.Summary, p string) Cell {
	if s == nil || s.Count == 0 {
		return none
	}
	c := Cell{Text: units.Percentile(s, p), Title: strconv.FormatInt(s.P[p], 10) + " ns"}
	if c.Text[0] == '~' {
		c.Class, c.Title = Faint, c.Title+", rests on fewer than ten operations"
	}
	return c
}

// longest is the maximum of s.
func longest(s *bench.Summary) Cell {
	if s == nil || s.Count == 0 {
		return none
	}
	return ns(s.Max)
}

// medianCell is the median of a figure over the results that have it.
func medianCell(f bench.Figure, results []*bench.Result) Cell {
	v, ok := f.Median(results)
	if !ok {
		return none
	}
	return inUnit(f.Unit, v)
}

// columns is a column of text and others of figures.
func columns(first string, others ...string) []Column {
	cs := []Column{{Name: first, Left: true}}
	for _, name := range others {
		cs = append(cs, Column{Name: name})
	}
	return cs
}

// facts is a table of two columns of text without headings; rows without a text are left out.
func facts(pairs ...string) Table {
	t := Table{Columns: []Column{{Left: true}, {Left: true}}}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			t.Rows = append(t.Rows, []Cell{words(pairs[i]), words(pairs[i+1])})
		}
	}
	return t
}

func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
