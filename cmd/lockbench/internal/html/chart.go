package html

import (
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"

	"muxlock/cmd/lockbench/internal/view"
)

var chartTemplates = template.Must(template.ParseFS(files, "chart.tmpl"))

// Charts are inline SVG: data of package view in, markup out.
//
// A picture that is scaled to the width of a telephone takes its text with it, and
// nobody can read it. Here nothing is scaled but the curves. A drawing fills
// whatever width it is given at a fixed height; what has a place, such as a tick, a
// label or a dot, has it in percent, which SVG allows everywhere but in a path; and
// paths lie in an inner picture of 1000 x 1000 that is stretched without regard to
// its proportions while its lines keep their width. Text stands outside the plot by
// a fixed number of pixels, in the margin that the style sheet leaves.
//
// Colours, dashes and fonts are the style sheet's too: series i has class s<i>.

// chart is the markup of one; empty when there is nothing to draw.
func chart(c view.Chart) (template.HTML, error) {
	switch c := c.(type) {
	case view.Lines:
		return lines(c)
	case view.Bars:
		return bars(c)
	case view.Strip:
		return strip(c)
	}
	return "", fmt.Errorf("a chart of the type %T", c)
}

// draw fills the template of that name.
func draw(name string, data any) (template.HTML, error) {
	var b strings.Builder
	err := chartTemplates.ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), err // #nosec: the template has escaped it
}

// class is the class of a series' colour.
func class(color int) string { return "s" + strconv.Itoa(color%view.Colors) }

// percent is a place between 0 and 1 as an SVG length.
func percent(at float64) string { return short(100*at, 2) + "%" }

// short is a number without zeros that say nothing.
func short(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if s == "-0" {
		return "0"
	}
	return s
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// A mark is a tick, where it is drawn.
type mark struct{ At, Label string }

func marks(s scale, ticks []view.Tick, upward bool) (ms []mark) {
	for _, t := range ticks {
		at := s.at(t.At)
		if !finite(at) || at < -1e-9 || at > 1+1e-9 {
			continue
		}
		if upward {
			at = 1 - at
		}
		ms = append(ms, mark{percent(at), t.Label})
	}
	return ms
}

// number is one for JSON, where what is not finite is null.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	if !finite(float64(n)) {
		return []byte("null"), nil
	}
	return []byte(short(float64(n), 2)), nil
}

func jsonText(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}
