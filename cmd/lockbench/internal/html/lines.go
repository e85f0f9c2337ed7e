package html

import (
	"html/template"
	"strings"

	"muxlock/cmd/lockbench/internal/view"
)

type linesView struct {
	Title          string
	XLabel, YLabel string
	X, Y           []mark
	Bands          []bandView
	Series         []seriesView
	Hover          string
}

type seriesView struct {
	Name, Class string
	Path        string
	Dots        []dot
	Bars        []bar
}

type dot struct{ X, Y, Text string }
type bar struct{ X, From, To string }

type bandView struct {
	X, Width, Label string
	LabelX, Anchor  string
	Y               int // of the label, in pixels from the top
	Moment          bool
}

// hover is what a pointer can ask for, in percent of the plot. Texts stand in one
// string, a | between them: quotes are five letters each in an attribute.
type hover struct {
	X    []number      `json:"x"`
	Text string        `json:"t"`
	Sets []hoverSeries `json:"s"`
}

type hoverSeries struct {
	Name  string   `json:"n"`
	Class string   `json:"c"`
	Y     []number `json:"y"`
	Text  string   `json:"v"`
}

func lines(l view.Lines) (template.HTML, error) {
	var values [][]float64
	for _, s := range l.Series {
		values = append(values, s.Y, s.Low, s.High)
	}
	x, okX := scaleOf(l.X, true, l.At)
	y, okY := scaleOf(l.Y, false, values...)
	if !okX || !okY || len(l.At) == 0 {
		return "", nil
	}
	v := linesView{
		Title: l.Title, XLabel: l.X.Label, YLabel: l.Y.Label,
		X: marks(x, ticks(l.X, x, 6), false), Y: marks(y, ticks(l.Y, y, 8), true),
		Bands: bandViews(x, l.Bands),
	}
	var h hover
	var texts []string
	for _, at := range l.At {
		h.X, texts = append(h.X, number(100*x.at(at))), append(texts, axisText(l.X, at))
	}
	h.Text = strings.Join(texts, "|")
	for _, s := range l.Series {
		if sv, drawn := viewOf(s, l, x, y); drawn {
			v.Series = append(v.Series, sv)
			h.Sets = append(h.Sets, hoverOf(s, l, y))
		}
	}
	var err error
	if v.Hover, err = jsonText(h); err != nil {
		return "", err
	}
	return draw("lines", v)
}

// viewOf is false for a series of which nothing can be seen.
func viewOf(s view.Series, l view.Lines, x, y scale) (seriesView, bool) {
	v := seriesView{Name: s.Name, Class: class(s.Color)}
	if s.Dash {
		v.Class += " dash"
	}
	var p path
	drawn := 0
	for i := range min(len(l.At), len(s.Y)) {
		px, py := x.at(l.At[i]), y.at(s.Y[i])
		if !finite(px) || !finite(py) {
			if s.Steps {
				p.lift()
			}
			continue
		}
		if s.Steps {
			before := 0.0
			if i > 0 {
				before = l.At[i-1]
			}
			p.to(x.at(before), py)
		}
		p.to(px, py)
		drawn++
		if s.Dots {
			v.Dots = append(v.Dots, dotOf(s, l, i, px, py))
		}
		if i < len(s.Low) && i < len(s.High) && finite(y.at(s.Low[i])) && finite(y.at(s.High[i])) {
			v.Bars = append(v.Bars, bar{percent(px), percent(1 - y.at(s.Low[i])), percent(1 - y.at(s.High[i]))})
		}
	}
	v.Path = p.String()
	return v, drawn > 0
}

func dotOf(s view.Series, l view.Lines, i int, px, py float64) dot {
	return dot{percent(px), percent(1 - py), axisText(l.X, l.At[i]) + ": " + axisText(l.Y, s.Y[i])}
}

// path is the d of an SVG path in the stretched picture.
type path struct {
	strings.Builder
	down bool // the pen
}

func (p *path) to(x, y float64) {
	command := "M"
	if p.down {
		command = "L"
	}
	p.down = true
	p.WriteString(command + short(1000*x, 1) + " " + short(1000*(1-y), 1))
}

func (p *path) lift() { p.down = false }

func hoverOf(s view.Series, l view.Lines, y scale) hoverSeries {
	h := hoverSeries{Name: s.Name, Class: class(s.Color)}
	var texts []string
	for i := range min(len(l.At), len(s.Y)) {
		at, text := y.at(s.Y[i]), ""
		if finite(at) {
			text = axisText(l.Y, s.Y[i])
		}
		h.Y, texts = append(h.Y, number(100*(1-at))), append(texts, text)
	}
	h.Text = strings.Join(texts, "|")
	return h
}

// The labels of bands, which may be longer than their bands, take turns at this many heights.
const (
	bandRows  = 3
	bandRowPx = 15
)

func bandViews(x scale, all []view.Band) (vs []bandView) {
	for _, b := range all {
		from, to := max(x.at(b.From), 0), min(x.at(b.To), 1)
		if !finite(from) || !finite(to) || from > 1 || to < 0 {
			continue
		}
		v := bandView{
			X: percent(from), Width: percent(max(to-from, 0)), Label: b.Label,
			LabelX: percent(from), Anchor: "start", Y: 13 + len(vs)%bandRows*bandRowPx, Moment: b.From == b.To,
		}
		if from > 0.6 { // the text would leave the plot
			v.LabelX, v.Anchor = percent(max(to, from)), "end"
		}
		vs = append(vs, v)
	}
	return vs
}
