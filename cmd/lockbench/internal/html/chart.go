package html

import (
	_ "embed"
	"io"
	"math"
	"strconv"

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

// chart draws curves, if any has a place.
func (m *markup) chart(c view.Chart) {
	var xs, ys [][]float64
	for _, s := range c.Series {
		xs, ys = append(xs, s.X), append(ys, s.Y)
	}
	x, okX := scaleOf(c.X, true, xs...)
	y, okY := scaleOf(c.Y, false, ys...)
	if !okX || !okY {
		return
	}
	var legend, bands, curves markup
	names := 0
	for _, s := range c.Series {
		path, dots := pathOf(s, c, x, y)
		if path == "" {
			continue
		}
		class := classOf(s)
		if s.Name != "" {
			names++
			legend.add(`<span><svg width="24" height="10" aria-hidden="true"><line class="line %s" x1="1" x2="23" y1="5" y2="5"/></svg> %s</span> `, class, s.Name)
		}
		curves.add(`<svg x="0" y="0" width="100%%" height="100%%" viewBox="0 0 1000 1000" preserveAspectRatio="none"><path class="line %s" d="%s"/></svg>`, class, path)
		curves.WriteString(dots + "\n")
	}
	if names < 2 { // the heading has the name
		legend.Reset()
	}
	for _, b := range c.Bands {
		from, to := max(x.at(b.FromS), 0), min(x.at(b.ToS), 1)
		if from > 1 || to < 0 {
			continue
		}
		bands.add(`<rect class="band" x="%s" y="0" width="%s" height="100%%"><title>%s</title></rect>`, percent(from), percent(max(to-from, 0.002)), b.Spec) // wide enough to see
		if len(c.Bands) <= 6 {
			legend.add(`<span><svg width="24" height="10" aria-hidden="true"><rect class="band" width="24" height="10"/></svg> %s</span> `, b.Spec)
		}
	}
	m.add("<figure>\n<figcaption>%s</figcaption>\n<div class=\"legend\">", c.Title)
	m.WriteString(legend.String())
	m.add("</div>\n<svg class=\"plot\" role=\"img\" aria-label=\"%s\">\n", c.Title)
	for _, at := range y.ticks(6) {
		m.add(`<line class="grid" x1="0" x2="100%%" y1="%[1]s" y2="%[1]s"/><text class="tick" x="0" y="%[1]s" dx="-6" dy="4" text-anchor="end">%[2]s</text>`+"\n", percent(1-y.at(at)), axisText(c.Y, at))
	}
	for _, at := range x.ticks(5) {
		m.add(`<line class="grid" x1="%[1]s" x2="%[1]s" y1="0" y2="100%%"/><text class="tick" x="%[1]s" y="100%%" dy="16" text-anchor="middle">%[2]s</text>`+"\n", percent(x.at(at)), axisText(c.X, at))
	}
	m.add(`<text class="tick" x="100%%" y="100%%" dy="32" text-anchor="end">%s</text>`+"\n", c.X.Label)
	m.WriteString(bands.String() + curves.String() + "</svg>\n</figure>\n")
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

// pathOf returns the path of a series and the marks on it. A series without a visible point has no path.
func pathOf(s view.Series, c view.Chart, x, y scale) (string, string) {
	var path, dots markup
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
			dots.add(`<circle class="dot %s" cx="%s" cy="%s" r="3"><title>%s: %s</title></circle>`, classOf(s), percent(px), percent(1-py), axisText(c.X, s.X[i]), axisText(c.Y, s.Y[i]))
		}
	}
	return path.String(), dots.String()
}

// bars draws bars in HTML, which fit any width.
func (m *markup) bars(all []view.Bars) {
	m.WriteString("<div class=\"bars\">\n")
	for _, b := range all {
		m.add("<figure>\n<figcaption>%s</figcaption>\n", b.Title)
		for i, r := range b.Rows {
			m.add(`<div class="row"><span>%s</span><span><i class="%s" style="width: %s"></i> %s</span></div>`+"\n", r.Label, classOfBar(i), percent(0.7*r.Part), r.Text)
		}
		m.WriteString("</figure>\n")
	}
	m.WriteString("</div>\n")
}

func classOfBar(i int) string {
	if i == 0 {
		return "bar"
	}
	return "rest"
}

// WritePicture writes bars as an SVG file, in pixels. It follows the reader's light or dark setting.
func WritePicture(w io.Writer, all []view.Bars) error {
	const top, rowPx, widest, between = 34, 30, 440, 14
	height, titles, rows := -between, "", markup{}
	for _, b := range all {
		height += between
		titles += b.Title + " "
		rows.add(`<text class="soft" x="0" y="%d">%s</text>`+"\n", height+16, b.Title)
		for i, r := range b.Rows {
			rows.add(`<text x="0" y="%[1]d" dy="14">%[2]s</text><rect class="%[3]s" x="160" y="%[1]d" width="%[4]d" height="18" rx="2"/><text x="%[4]d" dx="168" y="%[1]d" dy="14">%[5]s</text>`+"\n",
				height+top+i*rowPx, r.Label, classOfBar(i), max(1, int(widest*r.Part)), r.Text)
		}
		height += top + len(b.Rows)*rowPx
	}
	var m markup
	m.add(`<svg xmlns="http://www.w3.org/2000/svg" width="720" height="%[1]d" viewBox="0 0 720 %[1]d" role="img" aria-label="%[2]s">`+"\n", max(height, 0), titles)
	m.WriteString("<style>\n" + pictureStyle + "</style>\n" + rows.String() + "</svg>\n")
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
