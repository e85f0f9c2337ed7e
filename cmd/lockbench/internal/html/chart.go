package html

import (
	_ "embed"
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

//go:embed picture.css
var pictureStyle string

// lines draws curves, if there is anything to draw.
func (m *markup) lines(l *view.Lines) {
	var xs, ys [][]float64
	for _, s := range l.Series {
		xs, ys = append(xs, s.X), append(ys, s.Y)
	}
	x, okX := scaleOf(l.X, true, xs...)
	y, okY := scaleOf(l.Y, false, ys...)
	if !okX || !okY {
		return
	}
	var legend, curves markup
	for _, s := range l.Series {
		if path, dots := pathOf(s, l, x, y); path != "" {
			class := classOf(s)
			legend.add(`<span><svg width="24" height="10" aria-hidden="true"><line class="line %s" x1="1" x2="23" y1="5" y2="5"/></svg> %s</span>`, class, s.Name)
			curves.add(`<svg x="0" y="0" width="100%%" height="100%%" viewBox="0 0 1000 1000" preserveAspectRatio="none"><path class="line %s" d="%s"/></svg>`, class, path)
			for _, d := range dots {
				curves.add(`<circle class="dot %s" cx="%s" cy="%s" r="3.5"><title>%s</title></circle>`, class, d.x, d.y, d.text)
			}
			curves.WriteString("\n")
		}
	}
	m.add("<figure>\n<figcaption>%s</figcaption>\n<div class=\"legend\">", l.Title)
	m.WriteString(legend.String())
	m.add("</div>\n<svg class=\"plot\" role=\"img\" aria-label=\"%s\">\n", l.Title)
	bands := bandsOf(x, l.Bands)
	for _, b := range bands {
		m.add(`<rect class="band" x="%s" y="0" width="%s" height="100%%"><title>%s</title></rect>`, b.X, b.Width, b.Label)
		if len(bands) <= 6 {
			m.add(`<text class="tick" x="%s" y="0" dy="-4">%s</text>`, b.X, b.Label)
		}
	}
	for _, at := range ticks(y, 8) {
		m.add(`<line class="grid" x1="0" x2="100%%" y1="%[1]s" y2="%[1]s"/><text class="tick" x="0" y="%[1]s" dx="-8" dy="4" text-anchor="end">%[2]s</text>`+"\n", percent(1-y.at(at)), axisText(l.Y, at))
	}
	for _, at := range ticks(x, 6) {
		m.add(`<line class="grid" x1="%[1]s" x2="%[1]s" y1="0" y2="100%%"/><text class="tick" x="%[1]s" y="100%%" dy="18" text-anchor="middle">%[2]s</text>`+"\n", percent(x.at(at)), axisText(l.X, at))
	}
	if l.X.Label != "" {
		m.add(`<text class="tick" x="100%%" y="100%%" dy="36" text-anchor="end">%s</text>`+"\n", l.X.Label)
	}
	m.WriteString(curves.String() + "</svg>\n</figure>\n")
}

// colors is the number of colours for series.
const colors = 8

func classOf(s view.Series) string {
	class := "s" + strconv.Itoa(s.Color%colors)
	if s.Dash || s.Color >= colors {
		class += " dash"
	}
	return class
}

// dot marks a value.
type dot struct{ x, y, text string }

// pathOf makes no path for a series without a visible point.
func pathOf(s view.Series, l *view.Lines, x, y scale) (string, []dot) {
	var path strings.Builder
	var dots []dot
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
			dots = append(dots, dot{percent(px), percent(1 - py), axisText(l.X, s.X[i]) + ": " + axisText(l.Y, s.Y[i])})
		}
	}
	return path.String(), dots
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

// bars draws bars, in pixels, if there are any. A picture alone in its file has the style with it.
func (m *markup) bars(all []view.Bars, alone bool) {
	const top, rowPx, widest, between = 34, 30, 440, 14
	height, titles, rows := -between, "", markup{}
	for _, b := range all {
		if len(b.Rows) == 0 {
			continue
		}
		greatest := math.SmallestNonzeroFloat64
		for _, r := range b.Rows {
			greatest = max(greatest, r.Value)
		}
		begin := height + between
		titles += b.Title + " "
		rows.add(`<text class="soft" x="0" y="%d">%s</text>`+"\n", begin+16, b.Title)
		class := "bar"
		for i, r := range b.Rows {
			rows.add(`<text x="0" y="%[1]d" dy="14">%[2]s</text><rect class="%[3]s" x="160" y="%[1]d" width="%[4]d" height="18" rx="2"/><text x="%[4]d" dx="168" y="%[1]d" dy="14">%[5]s</text>`+"\n",
				begin+top+i*rowPx, r.Label, class, max(1, int(widest*(r.Value/greatest))), r.Text)
			class = "rest"
		}
		height = begin + top + len(b.Rows)*rowPx
	}
	if rows.Len() == 0 && !alone {
		return
	}
	m.WriteString("<svg")
	if alone {
		m.WriteString(` xmlns="http://www.w3.org/2000/svg"`)
	}
	m.add(` width="720" height="%[1]d" viewBox="0 0 720 %[1]d" class="picture" role="img" aria-label="%[2]s">`+"\n", height, titles)
	if alone {
		m.WriteString("<style>\n" + pictureStyle + "</style>\n")
	}
	m.WriteString(rows.String() + "</svg>\n")
}

// WritePicture writes bars as an SVG file, which follows the reader's light or dark setting.
func WritePicture(w io.Writer, all []view.Bars) error {
	var m markup
	m.bars(all, true)
	_, err := io.WriteString(w, m.String())
	return err
}

// percent writes a place between 0 and 1 as an SVG length.
func percent(at float64) string { return short(100*at, 2) + "%" }

// short writes a number without trailing zeros.
func short(v float64, decimals int) string {
	power := math.Pow10(decimals)
	return strconv.FormatFloat(math.Round(v*power)/power+0, 'f', -1, 64) // +0: no -0
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
