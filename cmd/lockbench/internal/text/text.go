// Package text renders views for a terminal: no line is longer than 80 cells, and none
// breaks inside a word.
package text

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"muxlock/cmd/lockbench/internal/view"
)

// width is what a terminal, a mail and a commit have room for, in cells.
const width = 80

// Write writes a page, hints only where a person reads them. All of it is made before
// anything is written.
func Write(w io.Writer, p view.Page, hints bool) error {
	var b bytes.Buffer
	for _, block := range slices.Concat(p.Setup, p.Body, p.Findings) {
		switch {
		case block.Browser:
		case block.Table != nil:
			table(&b, *block.Table)
		case block.Hint && !hints:
		case block.Code:
			fmt.Fprintln(&b, block.Line)
		default:
			fmt.Fprintln(&b, Fold(block.Line))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}
