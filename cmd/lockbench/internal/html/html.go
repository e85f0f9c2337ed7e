// Package html renders the view of a document as a page: one HTML file with charts and tables. It
// needs no other file and no network.
package html

import (
	_ "embed"
	"fmt"
	"html"
	"io"
	"strings"

	"muxlock/cmd/lockbench/internal/view"
)

//go:embed page.html
var frame string

//go:embed page.css
var style string

// Write renders a page completely, then writes it.
func Write(w io.Writer, p view.Page) error {
	var body markup
	body.blocks(p.Body)
	page := strings.NewReplacer("{{title}}", html.EscapeString(p.Title), "{{css}}", style, "{{blocks}}", body.String()).Replace(frame)
	_, err := io.WriteString(w, page)
	return err
}

// markup is HTML with SVG in it.
//
// html/template would make it, but looks methods up by name. A program that can do so keeps every exported method of its
// types: lockbench had 37 MB with it, and has 15 MB without.
type markup struct{ strings.Builder }

// add adds tags with texts between them and within their quotes. It escapes the texts.
func (m *markup) add(format string, args ...any) {
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			args[i] = html.EscapeString(text)
		}
	}
	fmt.Fprintf(m, format, args...)
}

func (m *markup) blocks(all view.Blocks) {
	for _, b := range all {
		switch {
		case b.For == view.Text || b.For == view.Person:
		case b.Inner != nil && b.Heading != "":
			m.add("<details><summary>%s</summary>\n", b.Heading)
			m.blocks(b.Inner)
			m.WriteString("</details>\n")
		case b.Inner != nil:
			m.blocks(b.Inner)
		case b.Heading != "":
			m.add("<h2>%s</h2>\n", b.Heading)
		case b.Charts != nil:
			m.WriteString("<div class=\"charts\">\n")
			for _, c := range b.Charts {
				m.chart(c)
			}
			m.WriteString("</div>\n")
		case b.Bars != nil:
			m.bars(b.Bars)
		case b.Table != nil:
			m.table(b.Table)
		case b.Code:
			m.add("<pre class=\"code\">%s</pre>\n", b.Line)
		case b.Line != "":
			m.open("p", map[bool]string{true: view.Bad}[b.Bad], map[bool]string{true: "aligned"}[b.Aligned])
			m.add("%s</p>\n", b.Line)
		}
	}
}

func (m *markup) table(t *view.Table) {
	m.WriteString("<div class=\"wide\"><table>\n")
	rows, headed := t.All()
	for n, row := range rows {
		tag := "td"
		if n == 0 && headed {
			tag = "th"
		}
		m.WriteString("<tr>")
		for i, c := range row {
			m.open(tag, map[bool]string{true: "left"}[t.Left(i)], c.Class)
			m.add("%s</%s>", c.Text, tag)
		}
		m.WriteString("</tr>\n")
	}
	m.WriteString("</table></div>\n")
}

// open adds a tag with its classes, if any.
func (m *markup) open(tag string, classes ...string) {
	m.WriteString("<" + tag)
	if class := strings.TrimSpace(strings.Join(classes, " ")); class != "" {
		m.add(` class="%s"`, class)
	}
	m.WriteString(">")
}
