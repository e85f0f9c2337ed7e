// Package view decides what is shown of a result: documents in, blocks out. Package text renders
// blocks for a terminal, package html for a browser. Each file has one topic, for both.
package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// Page has the blocks of a document. It begins with what was found, in a browser also with charts.
// Verdicts and caveats come after the figures.
type Page struct {
	Title string
	Body  Blocks
}

// New makes the page of a document. The document lacks the other arguments: the traits of
// implementations, and the command that repeats it.
func New(doc result.Document, traits map[string]Trait, again string) Page {
	var b Blocks
	switch {
	case doc.Advice != nil: // whichever command made the result
		b.advice(doc.Advice)
		for i := range b {
			b[i].Aligned = true
		}
	case doc.Compares():
		b.header(doc)
		b.compare(doc, traits)
		b.findings(doc, traits)
		b = append(b, Block{For: Browser, Heading: "Each run", Inner: runs(doc, traits)})
	default:
		b.header(doc)
		if doc.Sweep != nil {
			b.sweep(doc, traits)
		} else { // also an advise or a sweep that ended before its answer
			b = append(b, runs(doc, traits)...)
		}
		b.findings(doc, traits)
		b.chaos(doc.Config, doc.Results, again)
	}
	var notes Blocks
	notes.surroundings(doc)
	if again != "" {
		notes.heading(Browser, "Again")
		notes = append(notes, Block{Line: again, Code: true})
	}
	return Page{title(doc), append(b, Block{For: Browser, Inner: notes})}
}

func title(doc result.Document) string {
	command := either(doc.Advice != nil, "advise", cmp.Or(doc.Config.Command, "run"))
	return strings.TrimSuffix("lockbench "+command+": "+strings.Join(doc.Config.Impls, ", "), ": ")
}

// Blocks are shown from top to bottom.
type Blocks []Block

// Block is one of its contents, or a group of others. The reader unfolds a group with a heading.
type Block struct {
	For     Reader
	Heading string
	Line    string
	Bad     bool // Line speaks against the result
	Code    bool // Line has several lines, to be copied
	Aligned bool // Line has columns that stand below those of others
	Table   *Table
	Charts  []Chart // side by side
	Bars    []Bars
	Inner   Blocks
}

// Reader is whom a block is for.
type Reader int

// The readers.
const (
	Everybody Reader = iota
	Browser          // only there
	Text             // not in a browser
	Person           // at a terminal: a suggestion
)

// Line adds a line.
func (b *Blocks) Line(format string, args ...any) { b.line(Everybody, false, format, args...) }

// when adds a line where it applies.
func (b *Blocks) when(applies bool, format string, args ...any) {
	if applies {
		b.Line(format, args...)
	}
}

// Table adds a table, if it has rows.
func (b *Blocks) Table(t Table) {
	if len(t.Rows) > 0 {
		*b = append(*b, Block{Table: &t})
	}
}

func (b *Blocks) line(reader Reader, bad bool, format string, args ...any) {
	*b = append(*b, Block{For: reader, Bad: bad, Line: fmt.Sprintf(format, args...)})
}

func (b *Blocks) bad(format string, args ...any) { b.line(Everybody, true, format, args...) }

func (b *Blocks) hint(format string, args ...any) { b.line(Person, false, format, args...) }

func (b *Blocks) heading(reader Reader, format string, args ...any) {
	*b = append(*b, Block{For: reader, Heading: fmt.Sprintf(format, args...)})
}

// charts adds the charts that show something.
func (b *Blocks) charts(all ...Chart) {
	if all = slices.DeleteFunc(all, Chart.empty); len(all) > 0 {
		*b = append(*b, Block{For: Browser, Charts: all})
	}
}

// Table has rows of figures and texts, with as many columns as heads.
type Table struct {
	Heads          []string
	Texts, Remarks int // numbers of first and last columns with text
	Rows           [][]Cell
}

// All returns the rows below that of the heads, if any column has one.
func (t Table) All() (rows [][]Cell, headed bool) {
	if headed = strings.Join(t.Heads, "") != ""; headed {
		rows = append(rows, cells(t.Heads...))
	}
	return append(rows, t.Rows...), headed
}

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

// column adds a column with the text of each row.
func (t *Table) column(head string, of func(row int) string) {
	t.Heads = append(t.Heads, head)
	for i := range t.Rows {
		t.Rows[i] = append(t.Rows[i], Cell{Text: of(i)})
	}
}

// figures adds a column for each of these figures that any run has; of finds the results of a row.
func (t *Table) figures(doc result.Document, load string, of func(row int) []*bench.Result, names ...string) {
	for _, f := range shown(doc, names) {
		t.column(load+label(doc, f), func(i int) string { return f.Text(of(i)...) })
	}
}

// shown returns the figures of these names that any run has. It leaves out failures if there were
// none.
func shown(doc result.Document, names []string) (figures []result.Figure) {
	for _, name := range names {
		f := result.MustFigure(name)
		if _, ok := f.Median(doc.Results); ok && (name != failures || failed(doc)) {
			figures = append(figures, f)
		}
	}
	return figures
}

// label returns the head of a figure.
func label(doc result.Document, f result.Figure) string {
	return strings.Replace(f.Label, result.Headline, either(doc.Open(), "response", "cycle"), 1)
}

// either returns the text for a condition that holds, or that for one that does not.
func either(holds bool, yes, no string) string {
	if holds {
		return yes
	}
	return no
}

// ns writes a time.
func ns[T ~int64 | ~float64](v T) string { return units.Duration(float64(v)) }
