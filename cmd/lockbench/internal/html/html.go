// Package html renders the view of a document as a page: one HTML file with charts,
// tables and the result itself, that needs nothing beside it and opens without a
// network.
package html

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"io"

	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/view"
)

//go:embed page.html page.css page.js chart.tmpl
var files embed.FS

var templates = template.Must(template.ParseFS(files, "page.html", "chart.tmpl"))

// asset is a file of this package as it is: CSS or JS that nobody else has written.
func asset(name string) string {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded above
	}
	return string(b)
}

// page is what the template is filled with.
type page struct {
	view.Page
	CSS       template.CSS
	JS        template.JS
	Sections  []section // hides those of the view
	Result    any       // the document, to be read back
	Generator string
}

// section is one with its charts drawn, and without what is empty.
type section struct {
	view.Section
	Panels []panel
	Tables []table
}

type panel struct {
	Name   string
	Charts []template.HTML
	Tables []table
}

// table is one with only the columns of a page.
type table struct {
	Caption string
	Columns []view.Column
	Rows    [][]view.Cell
}

// Write writes the page of a document. It is whole before anything is written.
func Write(w io.Writer, doc result.Document, shown view.Page) error {
	data, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	p := page{
		Page: shown,
		CSS:  template.CSS(asset("page.css")), JS: template.JS(asset("page.js")), // #nosec: our own
		Result: json.RawMessage(data), Generator: doc.Tool.Name + " " + doc.Tool.Version,
	}
	for _, s := range shown.Sections {
		own, err := sectionOf(s)
		if err != nil {
			return err
		}
		if len(own.Panels) > 0 || len(own.Tables) > 0 || s.Code != "" {
			p.Sections = append(p.Sections, own)
		}
	}
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, "page.html", p); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

func sectionOf(s view.Section) (section, error) {
	own := section{Section: s, Tables: tablesOf(s.Tables)}
	for _, p := range s.Panels {
		drawn := panel{Name: p.Name, Tables: tablesOf(p.Tables)}
		for _, c := range p.Charts {
			markup, err := chart(c)
			if err != nil {
				return own, err
			}
			if markup != "" {
				drawn.Charts = append(drawn.Charts, markup)
			}
		}
		if len(drawn.Charts) > 0 || len(drawn.Tables) > 0 {
			own.Panels = append(own.Panels, drawn)
		}
	}
	return own, nil
}

// tablesOf is those that have rows.
func tablesOf(tables []view.Table) (shown []table) {
	for _, t := range tables {
		if len(t.Rows) == 0 {
			continue
		}
		own := table{Caption: t.Caption, Rows: make([][]view.Cell, len(t.Rows))}
		for i, c := range t.Columns {
			if c.In == view.TerminalOnly {
				continue
			}
			own.Columns = append(own.Columns, c)
			for row, cells := range t.Rows {
				own.Rows[row] = append(own.Rows[row], cells[i])
			}
		}
		shown = append(shown, own)
	}
	return shown
}
