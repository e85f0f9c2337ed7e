package html

import (
	"html/template"

	"muxlock/cmd/lockbench/internal/view"
)

type barsView struct {
	Title, XLabel string
	Height        int
	X             []mark
	Mark          string
	Rows          []barRow
}

type barRow struct {
	Label, Text, Class string
	TextY, Y, MiddleY  int
	Width              string
	Low, High          string // empty: no interval
}

// A row is a line of text and a bar below it.
const (
	barRowPx  = 46
	barTextPx = 16
	barTopPx  = 22
	barThick  = 14
)

func bars(b view.Bars) (template.HTML, error) {
	var values []float64
	for _, r := range b.Rows {
		values = append(values, r.Value, r.Low, r.High)
	}
	x, ok := scaleOf(b.X, false, values, []float64{b.Mark})
	if !ok || len(b.Rows) == 0 {
		return "", nil
	}
	v := barsView{Title: b.Title, XLabel: b.X.Label, Height: len(b.Rows) * barRowPx, X: marks(x, ticks(b.X, x, 5), false)}
	if b.Mark != 0 {
		v.Mark = percent(x.at(b.Mark))
	}
	for i, r := range b.Rows {
		if !finite(r.Value) {
			r.Value = 0
		}
		y := i * barRowPx
		row := barRow{
			Label: r.Label, Text: r.Text, Class: class(r.Color),
			TextY: y + barTextPx, Y: y + barTopPx, MiddleY: y + barTopPx + barThick/2,
			Width: percent(max(x.at(r.Value), 0)),
		}
		if finite(r.Low) && finite(r.High) && r.High > r.Low {
			row.Low, row.High = percent(x.at(r.Low)), percent(x.at(r.High))
		}
		v.Rows = append(v.Rows, row)
	}
	return draw("bars", v)
}
