package report

import (
	"html/template"
	"strconv"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/output"
)

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

// Chart is a drawing of package chart; one with nothing to draw returns no HTML.
type Chart interface{ HTML() (template.HTML, error) }

// Table is figures in rows.
type Table struct {
	Caption string
	Columns []Column
	Rows    [][]Cell
	Note    string
}

// Column is a heading, and whether text stands below it, which begins at the left.
type Column struct {
	Name string
	Left bool
}

// Cell is a figure for people, and exactly.
type Cell struct {
	Text  string
	Title string // shown when pointed at
	Class string // good, bad or faint
}

func (s Section) empty() bool {
	return len(s.Shown()) == 0 && Panel{Tables: s.Tables}.empty() && s.Code == ""
}

// Shown is the panels that have something.
func (s Section) Shown() (shown []Panel) {
	for _, p := range s.Panels {
		if !p.empty() {
			shown = append(shown, p)
		}
	}
	return shown
}

func (p Panel) empty() bool {
	for _, c := range p.Charts {
		if html, err := c.HTML(); html != "" || err != nil {
			return false
		}
	}
	for _, t := range p.Tables {
		if len(t.Rows) > 0 {
			return false
		}
	}
	return true
}

// Text is a cell of words.
func Text(s string) Cell { return Cell{Text: s} }

// Ns is a cell of a time.
func Ns(ns float64) Cell { return Cell{Text: output.Duration(ns), Title: plain(ns) + " ns"} }

// known is c when what it shows was measured, where 0 says that it was not.
func known(v float64, c Cell) Cell {
	if v == 0 {
		return None()
	}
	return c
}

// Count is a cell of a whole number.
func Count(n int64) Cell {
	return Cell{Text: output.Number(float64(n)), Title: strconv.FormatInt(n, 10)}
}

// Figure is a cell of a number to three digits.
func Figure(v float64) Cell { return Cell{Text: output.Digits(v), Title: plain(v)} }

// Share is a cell of a part of the whole, from 0 to 1.
func Share(v float64) Cell { return Cell{Text: output.Digits(100*v) + "%", Title: plain(v)} }

// None is a cell of what was not measured.
func None() Cell { return Cell{Text: "-", Class: "faint"} }

// at is a percentile of s.
func at(s *bench.Summary, p string) Cell {
	if s == nil || s.Count == 0 {
		return None()
	}
	c := Cell{Text: output.Percentile(s, p), Title: strconv.FormatInt(s.P[p], 10) + " ns"}
	if c.Text[0] == '~' {
		c.Class, c.Title = "faint", c.Title+", rests on fewer than ten operations"
	}
	return c
}

// columns is a column of text and others of figures.
func columns(first string, others ...string) []Column {
	cs := []Column{{first, true}}
	for _, name := range others {
		cs = append(cs, Column{Name: name})
	}
	return cs
}

// facts is a table of two columns of text without headings; rows without a text are left out.
func facts(pairs ...string) Table {
	var t Table
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			t.Rows = append(t.Rows, []Cell{Text(pairs[i]), Text(pairs[i+1])})
		}
	}
	t.Columns = []Column{{Left: true}, {Left: true}}
	return t
}

func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// trimmed is v with up to so many decimals.
func trimmed(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
