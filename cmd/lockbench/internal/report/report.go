// Package report makes a page to look at from a result: one HTML file with charts,
// tables and the result itself, that needs nothing beside it and opens without a
// network.
package report

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"io"

	"muxlock/cmd/lockbench/internal/output"
)

//go:embed page.html page.css page.js
var files embed.FS

var page = template.Must(template.ParseFS(files, "page.html"))

// asset is a file of this package as it is: CSS or JS that nobody else has written.
func asset(name string) string {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded above
	}
	return string(b)
}

type view struct {
	CSS       template.CSS
	JS        template.JS
	Title     string
	Subtitle  string
	Verdicts  []Verdict
	Tiles     []Tile
	Sections  []Section
	Loaded    bool // there are results
	Open      bool // open loop
	Shared    bool // workers waited for each other
	Result    any  // the document, to be read back
	Generator string
}

// Extra is what a page has and a document has not.
type Extra struct {
	Caveats  map[string]string // by implementation
	Again    string            // the command line that makes such a result
	Sections []Section         // behind the measured ones
}

// Write makes the page of a document. It is whole before anything is written.
func Write(w io.Writer, doc output.Document, extra Extra) error {
	data, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	v := view{
		CSS: template.CSS(asset("page.css")), JS: template.JS(asset("page.js")), // #nosec: our own
		Title: title(doc), Subtitle: subtitle(doc),
		Verdicts: verdicts(doc), Tiles: append(advisedTiles(doc.Advice), tiles(doc)...),
		Loaded: len(doc.Results) > 0, Open: doc.Config.Rate > 0, Shared: shared(doc),
		Result: json.RawMessage(data), Generator: doc.Tool.Name + " " + doc.Tool.Version,
	}
	all := []Section{validated(doc), advised(doc), comparison(doc), objectives(doc), latencies(doc), timeline(doc), perMaster(doc), waiting(doc), holding(doc)}
	if doc.Sweep != nil { // what puts all runs of an implementation together would mislead
		all = []Section{capacities(doc), growth(doc)}
		v.Tiles = nil
	}
	all = append(all, extra.Sections...)
	if doc.Sweep == nil {
		all = append(all, cost(doc))
	}
	all = append(all, notes(doc, extra.Caveats), setting(doc, extra.Again), surroundings(doc))
	for _, s := range all {
		if !s.empty() {
			v.Sections = append(v.Sections, s)
		}
	}
	var b bytes.Buffer
	if err := page.Execute(&b, v); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}
