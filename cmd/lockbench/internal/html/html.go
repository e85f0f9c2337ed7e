// Package html renders the view of a document as a page: one HTML file with charts and tables. It
// needs no other file and no network.
package html

import (
	"bytes"
	"embed"
	"html/template"
	"io"

	"muxlock/cmd/lockbench/internal/view"
)

//go:embed page.html page.css chart.tmpl picture.svg
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{"lines": linesOf, "bars": pictureOf}).ParseFS(files, "*"))

// Write renders a page completely, then writes it.
func Write(w io.Writer, p view.Page) error {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, "page.html", p); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}
