// Package view decides what is shown of a result: documents in, blocks out. How a block
// looks is decided by the renderers, package text for a terminal and package html for a
// browser. One file is one topic, for both.
package view

import (
	"cmp"
	"fmt"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// Page is what is shown of a document. Who reads a terminal looks at its end, and who
// reads a page in a browser at its beginning: there stand the findings.
type Page struct {
	Title    string
	Setup    Blocks // what was run
	Body     Blocks // its figures
	Findings Blocks // how it stood to what was asked, and what speaks against it
	Notes    Blocks // for a browser: where it was run, and how to do it again
}

// New is the page of a document. The rest is what a document has not: what
// implementations do not promise, and the command line that makes such a result.
func New(doc result.Document, caveats map[string]string, again string) Page {
	p, kind := Page{Title: title(doc)}, doc.Kind()
	if kind != result.KindAdvise && kind != result.KindChaos {
		p.Setup.header(doc)
		p.Findings.findings(doc, caveats)
	}
	switch kind {
	case result.KindAdvise:
		var explained Blocks
		explained.explained(doc.Advice)
		if doc.Advice.Explain {
			p.Body = explained
		} else {
			p.Notes.browser(explained)
		}
		p.Body.advice(doc.Advice)
	case result.KindChaos:
		p.Body.chaos(doc)
		p.Body.browser(runs(doc))
	case result.KindCompare:
		p.Body.compare(doc)
	case result.KindSweep:
		p.Body.sweep(doc)
	case result.KindCapacity:
		p.Body.capacities(doc)
	default:
		p.Body = runs(doc)
	}
	p.Notes.surroundings(doc)
	if again != "" {
		p.Notes.heading("Again")
		p.Notes = append(p.Notes, Block{Line: again, Code: true})
	}
	return p
}

func title(doc result.Document) string {
	command := cmp.Or(doc.Config.Command, "run")
	if doc.Kind() == result.KindAdvise { // also of a result of another command
		command = "advise"
	}
	return strings.TrimSuffix("lockbench "+command+": "+strings.Join(doc.Config.Impls, ", "), ": ")
}

// Blocks is what is shown, from above.
type Blocks []Block

// Block is a heading, a line, a table or a chart.
type Block struct {
	Browser bool // there is no room for it on a terminal
	Heading string
	Line    string
	Bad     bool // Line speaks against the result
	Code    bool // Line is several, to be copied as they are
	Hint    bool // Line is what to try: for a person at a terminal, not for what reads a pipe
	Table   *Table
	Lines   *Lines // left out where there is nothing to draw, as is Bars
	Bars    *Bars
}

// Line adds one.
func (b *Blocks) Line(format string, args ...any) {
	*b = append(*b, Block{Line: fmt.Sprintf(format, args...)})
}

// Table adds one that has rows.
func (b *Blocks) Table(t Table) {
	if len(t.Rows) > 0 {
		*b = append(*b, Block{Table: &t})
	}
}

func (b *Blocks) heading(text string) { *b = append(*b, Block{Browser: true, Heading: text}) }

func (b *Blocks) chart(l Lines) { *b = append(*b, Block{Browser: true, Lines: &l}) }

func (b *Blocks) bad(format string, args ...any) {
	*b = append(*b, Block{Line: fmt.Sprintf(format, args...), Bad: true})
}

func (b *Blocks) hint(format string, args ...any) {
	*b = append(*b, Block{Line: fmt.Sprintf(format, args...), Hint: true})
}

// browser adds blocks for which a terminal has no room.
func (b *Blocks) browser(more Blocks) {
	for _, block := range more {
		block.Browser = true
		*b = append(*b, block)
	}
}

// Table is figures in rows, beside texts. The heads say how many columns there are.
type Table struct {
	Caption        string
	Heads          []string
	Texts, Remarks int // so many of the first and of the last columns are text
	Rows           [][]Cell
}

// Headed tells whether a column has a heading.
func (t Table) Headed() bool { return strings.Join(t.Heads, "") != "" }

// Left tells whether a column is text, which begins at the left.
func (t Table) Left(column int) bool { return column < t.Texts || column >= len(t.Heads)-t.Remarks }

// Cell is a figure for people.
type Cell struct {
	Text  string
	Class string // Good or Bad
}

// Classes of cells.
const (
	Good = "good"
	Bad  = "bad"
)

// cells is a row of texts.
func cells(texts ...string) (row []Cell) {
	for _, text := range texts {
		row = append(row, Cell{Text: text})
	}
	return row
}

// none is what was not measured.
const none = "-"

// ns is a time.
func ns[T ~int64 | ~float64](v T) string { return units.Duration(float64(v)) }

// known is text when v was measured, where 0 says that it was not.
func known[T int64 | float64](v T, text string) string {
	if v == 0 {
		return none
	}
	return text
}

// medianText is the median of a figure over the results that have it, a lower bound when it
// is one in half of them.
func medianText(f result.Figure, results []*bench.Result) string {
	v, ok := f.Median(results)
	if !ok {
		return none
	}
	bounds := 0
	for _, r := range results {
		if f.AtLeast(r) {
			bounds++
		}
	}
	return units.AtLeast(units.In(f.Unit, v), 2*bounds >= len(results))
}

// medianTexts is those of several figures.
func medianTexts(figures []result.Figure, results []*bench.Result) (texts []string) {
	for _, f := range figures {
		texts = append(texts, medianText(f, results))
	}
	return texts
}
