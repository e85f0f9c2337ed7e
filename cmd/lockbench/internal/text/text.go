// Package text renders views for a terminal. No line is longer than 80 cells, and no word is
// broken.
package text

import (
	"bytes"
	"fmt"
	"io"

	"muxlock/cmd/lockbench/internal/view"
)

// width is the room in a terminal, a mail and a commit, in cells.
const width = 80

// Write renders a page completely, then writes it. hints are for a person at a terminal.
func Write(w io.Writer, p view.Page, hints bool) error {
	var b bytes.Buffer
	for _, block := range p.Body {
		switch {
		case block.For == view.Browser || block.For == view.Person && !hints:
		case block.Table != nil:
			table(&b, *block.Table)
		case block.Heading != "":
			fmt.Fprintln(&b, "\n"+Fold(block.Heading))
		case block.Code:
			fmt.Fprintln(&b, block.Line)
		default:
			fmt.Fprintln(&b, Fold(block.Line))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}
