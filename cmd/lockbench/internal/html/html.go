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

	"muxlock/cmd/lockbench/internal/view"
)

//go:embed page.html page.css chart.tmpl picture.svg
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{"lines": linesOf, "bars": pictureOf}).ParseFS(files, "*"))

// Write writes a page and the data that it shows, to be read back. It is whole before
// anything is written.
func Write(w io.Writer, p view.Page, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	blocks := slices.DeleteFunc(slices.Concat(p.Setup, p.Findings, p.Body, p.Notes), func(b view.Block) bool { return b.Hint })
	var b bytes.Buffer
	err = templates.ExecuteTemplate(&b, "page.html", struct {
		Title  string
		Blocks view.Blocks
		Result any
	}{p.Title, blocks, json.RawMessage(text)})
	if err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}
