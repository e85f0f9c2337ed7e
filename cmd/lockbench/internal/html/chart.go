package html

import (
	"io"
	"math"
	"strconv"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/view"
)

// Charts are inline SVG: data of package view in, markup out.
//
// An SVG that is scaled to the width of a telephone scales its text too, until nobody can read
// it. Here only curves are scaled. A drawing has a fixed height and any width. Ticks, labels and
// dots have places in percent, which SVG allows everywhere but in a path. Paths lie in an inner
// picture of 1000 x 1000, which is stretched to the plot while its lines keep their width. Text
// stands a fixed number of pixels outside the plot, in the margin of the style sheet.
//
// The style sheet also has colours, dashes and fonts: series i has class s<i>.

// linesView is the data of the template of lines.
type linesView struct {
	Title, XLabel string
	X, Y          []mark
	Bands         []band
	Series        []series
}

type series struct {
	Name, Class, Path string
	Dots              []mark
}

// mark is a tick or a dot: its place and its text.
type mark struct{ X, Y, Text string }

// linesOf returns nil if there is nothing to draw.
func linesOf(l *view.Lines) *linesView {
	var xs, ys [][]float64
	for _, s := range l.Series {
		xs, ys = append(xs, s.X), append(ys, s.Y)
	}
	x, okX := scaleOf(l.X, true, xs...)
	y, okY := scaleOf(l.Y, false, ys...)
	if !okX || !okY {
		return nil
	}
	v := &linesView{Title: l.Title, XLabel: l.X.Label, Bands: bandsOf(x, l.Bands)}
	for _, at := range ticks(x, 6) {
		v.X = append(v.X, mark{X: percent(x.at(at)), Text: axisText(l.X, at)})
	}
	for _, at := range ticks(y, 8) {
		v.Y = append(v.Y, mark{Y: percent(1 - y.at(at)), Text: axisText(l.Y, at)})
	}
	for _, s := range l.Series {
		if drawn := seriesOf(s, l, x, y); drawn.Path != "" {
			v.Series = append(v.Series, drawn)
		}
	}
	return v
}

// colors is the number of colours for series.
const colors = 8

// seriesOf makes no path for a series without a visible point.
func seriesOf(s view.Series, l *view.Lines, x, y scale) series {
	v := series{Name: s.Name, Class: "s" + strconv.Itoa(s.Color%colors)}
	if s.Dash || s.Color >= colors {
		v.Class += " dash"
	}
	var path strings.Builder
	command := "M"
	for i := range min(len(s.X), len(s.Y)) {
		px, py := x.at(s.X[i]), y.at(s.Y[i])
		if !finite(px) || !finite(py) {
			command = "M" // lifts the pen
			continue
		}
		path.WriteString(command + short(1000*px, 1) + " " + short(1000*(1-py), 1))
		command = "L"
		if s.Dots {
			v.Dots = append(v.Dots, mark{percent(px), percent(1 - py), axisText(l.X, s.X[i]) + ": " + axisText(l.Y, s.Y[i])})
		}
	}
	v.Path = path.String()
	return v
}

// band is a stretch of the plot, with its label at the top.
type band struct{ X, Width, Label string }

func bandsOf(x scale, all []bench.Band) (bs []band) {
	for _, b := range all {
		from, to := max(x.at(b.FromS), 0), min(x.at(b.ToS), 1)
		if finite(from) && finite(to) && from <= 1 && to >= 0 {
			bs = append(bs, band{X: percent(from), Width: percent(max(to-from, 0.002)), Label: b.Spec}) // wide enough to see
		}
	}
	return bs
}

// picture is the data of the template of bars, in pixels.
type picture struct {
	Alone  bool // a file of its own, with the style in it
	Height int
	Titles []pictureTitle
	Rows   []pictureRow
}

type pictureTitle struct {
	Text string
	Y    int
}

type pictureRow struct {
	view.Bar
	Class    string
	Y, Width int
}

func pictureOf(all []view.Bars, alone bool) picture {
	const top, rowPx, widest, between = 34, 30, 440, 14
	p := picture{Alone: alone, Height: -between}
	for _, b := range all {
		if len(b.Rows) == 0 {
			continue
		}
		greatest := math.SmallestNonzeroFloat64
		for _, r := range b.Rows {
			greatest = max(greatest, r.Value)
		}
		begin := p.Height + between
		p.Titles = append(p.Titles, pictureTitle{b.Title, begin + 16})
		for i, r := range b.Rows {
			p.Rows = append(p.Rows, pictureRow{r, map[bool]string{true: "bar", false: "rest"}[i == 0], begin + top + i*rowPx, max(1, int(widest*(r.Value/greatest)))})
		}
		p.Height = begin + top + len(b.Rows)*rowPx
	}
	return p
}

// WritePicture writes bars as an SVG file, which follows the reader's light or dark setting.
func WritePicture(w io.Writer, all []view.Bars) error {
	return templates.ExecuteTemplate(w, "picture.svg", pictureOf(all, true))
}

// percent writes a place between 0 and 1 as an SVG length.
func percent(at float64) string { return short(100*at, 2) + "%" }

// short writes a number without trailing zeros.
func short(v float64, decimals int) string {
	power := math.Pow10(decimals)
	return strconv.FormatFloat(math.Round(v*power)/power+0, 'f', -1, 64) // +0: no -0
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
