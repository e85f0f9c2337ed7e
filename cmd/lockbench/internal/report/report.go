// Package report makes a page to look at from a result: one HTML file with charts,
// tables and the result itself, that needs nothing beside it and opens without a
// network.
package report

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
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
	Open      bool // open loop
	Shared    bool // workers waited for each other
	Result    any  // the document, to be read back
	Generator string
}

// Write makes the page of a document. caveats are by implementation; more are
// sections that only the caller can make, and stand behind the measured ones.
// The page is whole before anything is written.
func Write(w io.Writer, doc output.Document, caveats map[string]string, more ...Section) error {
	data, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	v := view{
		CSS: template.CSS(asset("page.css")), JS: template.JS(asset("page.js")), // #nosec: our own
		Title: title(doc), Subtitle: subtitle(doc),
		Verdicts: verdicts(doc), Tiles: tiles(doc),
		Open: doc.Config.Rate > 0, Shared: shared(doc),
		Result: json.RawMessage(data), Generator: doc.Tool.Name + " " + doc.Tool.Version,
	}
	all := []Section{comparison(doc), objectives(doc), latencies(doc), timeline(doc), perMaster(doc), waiting(doc), holding(doc)}
	all = append(all, more...)
	all = append(all, cost(doc), notes(doc, caveats), setting(doc), surroundings(doc))
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

// The document stands between these in a page. No text within can end it: JSON as it
// is written here has no < at all.
const (
	dataBegin = `<script type="application/json" id="lockbench-result">`
	dataEnd   = `</script>`
)

// Unwrap takes the document out of a page that Write has made; any other text comes
// back as it is. The error is that of another HTML page, to be read after its name.
func Unwrap(text []byte) ([]byte, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")) {
		return text, nil
	}
	_, rest, found := bytes.Cut(text, []byte(dataBegin))
	if !found {
		return nil, errors.New("is a page, but no report of lockbench")
	}
	data, _, found := bytes.Cut(rest, []byte(dataEnd))
	if !found {
		return nil, errors.New("is a report that is cut off")
	}
	return data, nil
}
