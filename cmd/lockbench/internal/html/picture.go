package html

import (
	"html/template"
	"io"

	"muxlock/cmd/lockbench/internal/view"
)

var pictureTemplate = template.Must(template.ParseFS(files, "picture.svg"))

// A pictureRow is one bar, in pixels of the picture.
type pictureRow struct {
	Label, Text, Class     string
	Y, TextY, Width, TextX int
}

// WritePicture writes bars as an SVG of its own, which follows the reader's light or dark
// setting. The first bar is the one that it is about.
func WritePicture(w io.Writer, b view.Bars) error {
	const top, rowPx, left, widest, gap = 34, 30, 160, 440, 8
	greatest := 0.0
	for _, r := range b.Rows {
		greatest = max(greatest, r.Value)
	}
	var rows []pictureRow
	for i, r := range b.Rows {
		class, width := "rest", 1
		if i == 0 {
			class = "bar"
		}
		if greatest > 0 {
			width = max(1, int(widest*r.Value/greatest))
		}
		y := top + i*rowPx
		rows = append(rows, pictureRow{r.Label, r.Text, class, y, y + 14, width, left + width + gap})
	}
	return pictureTemplate.Execute(w, struct {
		Title  string
		Height int
		Rows   []pictureRow
	}{b.Title, top + len(rows)*rowPx, rows})
}
