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
	"slices"

	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/view"
)

//go:embed page.html page.css page.js chart.tmpl picture.svg
var files embed.FS

var pageTemplate = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"chart": chart, "panels": panels, "forPage": forPage,
}).ParseFS(files, "page.html"))

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
	Result    any // the document, to be read back
	Generator string
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
	p.Sections = nil
	for _, s := range shown.Sections {
		drawn, err := panels(s)
		if err != nil {
			return err
		}
		if len(drawn) > 0 || hasRows(s.Tables) || s.Code != "" {
			p.Sections = append(p.Sections, s)
		}
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// panels is those of a section that have something to show.
func panels(s view.Section) (shown []view.Panel, err error) {
	for _, p := range s.Panels {
		some := hasRows(p.Tables)
		for _, c := range p.Charts {
			markup, err := chart(c)
			if err != nil {
				return nil, err
			}
			some = some || markup != ""
		}
		if some {
			shown = append(shown, p)
		}
	}
	return shown, nil
}

func hasRows(tables []view.Table) bool {
	return slices.ContainsFunc(tables, func(t view.Table) bool { return len(t.Rows) > 0 })
}

// forPage leaves out the columns that are for a terminal.
func forPage(t view.Table) view.Table {
	shown := view.Table{Caption: t.Caption, Rows: make([][]view.Cell, len(t.Rows))}
	for i, c := range t.Columns {
		if c.In == view.TerminalOnly {
			continue
		}
		shown.Columns = append(shown.Columns, c)
		for row, cells := range t.Rows {
			shown.Rows[row] = append(shown.Rows[row], cells[i])
		}
	}
	return shown
}
