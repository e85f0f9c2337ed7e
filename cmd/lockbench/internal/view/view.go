// Package view decides what is shown of a result: documents in, blocks out. Package text renders
// blocks for a terminal, package html for a browser. Each file has one topic, for both.
package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
	"muxlock/internal/stats"
)

// Page has the blocks of a document. The findings stand at the end in a terminal and at the top in
// a browser: there readers look first.
type Page struct {
	Title    string
	Setup    Blocks // the settings
	Body     Blocks // the figures
	Findings Blocks // verdicts and warnings
	Notes    Blocks // for a browser: masters, machine, and the command to repeat it
}

// New makes the page of a document. The document lacks the other arguments: the traits of
// implementations, and the command that repeats it.
func New(doc result.Document, traits map[string]Trait, again string) Page {
	p, kind := Page{Title: title(doc)}, doc.Kind()
	if kind != result.KindAdvise && kind != result.KindChaos {
		p.Setup.header(doc)
		p.Findings.findings(doc, traits)
	}
	switch kind {
	case result.KindAdvise:
		p.Body.advice(doc.Advice)
	case result.KindChaos:
		p.Body.chaos(doc)
		p.Body.browser(runs(doc))
	case result.KindCompare:
		p.Body.compare(doc, traits)
	case result.KindSweep:
		p.Body.sweep(doc)
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
	if doc.Kind() == result.KindAdvise { // also if another command made the result
		command = "advise"
	}
	return strings.TrimSuffix("lockbench "+command+": "+strings.Join(doc.Config.Impls, ", "), ": ")
}

// Blocks are shown from top to bottom.
type Blocks []Block

// Block is a heading, a line, a table or a chart.
type Block struct {
	Browser bool // for a browser only
	Heading string
	Line    string
	Bad     bool // Line speaks against the result
	Code    bool // Line has several lines, to be copied
	Hint    bool // Line is a suggestion, only for a person at a terminal
	Table   *Table
	Lines   *Lines // like Bars, left out if there is nothing to draw
	Bars    []Bars
}

// Line adds a line.
func (b *Blocks) Line(format string, args ...any) {
	*b = append(*b, Block{Line: fmt.Sprintf(format, args...)})
}

// Table adds a table, if it has rows.
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

// browser adds blocks for a browser only.
func (b *Blocks) browser(more Blocks) {
	for _, block := range more {
		block.Browser = true
		*b = append(*b, block)
	}
}

// Table has rows of figures and texts, with as many columns as heads.
type Table struct {
	Caption        string
	Heads          []string
	Texts, Remarks int // numbers of first and last columns with text
	Rows           [][]Cell
}

// Headed reports whether any column has a heading.
func (t Table) Headed() bool { return strings.Join(t.Heads, "") != "" }

// Left reports whether a column is text, which is aligned left.
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

// cells makes a row of texts.
func cells(texts ...string) (row []Cell) {
	for _, text := range texts {
		row = append(row, Cell{Text: text})
	}
	return row
}

// none stands for a value that was not measured.
const none = "-"

// ns writes a time.
func ns[T ~int64 | ~float64](v T) string { return units.Duration(float64(v)) }

// medianText writes the median of a figure over the results with it.
func medianText(f result.Figure, results []*bench.Result) string {
	var values []float64
	var bounds []bool
	for _, r := range results {
		if v, ok := f.Measured(r); ok {
			values, bounds = append(values, v), append(bounds, f.AtLeast(r))
		}
	}
	return median(f.Unit, values, bounds)
}

// median writes the median of values, of which bounds[i] tells whether values[i] is a lower bound. The median
// is one if it may be higher, as it is if the bounds rank above all others.
func median(unit string, values []float64, bounds []bool) string {
	if len(values) == 0 {
		return none
	}
	highest := slices.Clone(values)
	for i, bound := range bounds {
		if bound {
			highest[i] = math.Inf(1)
		}
	}
	v := stats.Median(values)
	return units.AtLeast(units.In(unit, v), stats.Median(highest) > v)
}

// medianTexts writes the medians of several figures.
func medianTexts(figures []result.Figure, results []*bench.Result) (texts []string) {
	for _, f := range figures {
		texts = append(texts, medianText(f, results))
	}
	return texts
}
