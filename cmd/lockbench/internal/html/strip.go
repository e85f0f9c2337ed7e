package html

import (
	"html/template"
	"math"
	"strconv"

	"muxlock/cmd/lockbench/internal/view"
)

type stripView struct {
	Title, XLabel string
	Height        int
	X             []mark
	Bands         []bandView
	Rows          []stripRowView
	Steps         []stripStep
	Missing       bool
}

type stripRowView struct {
	Label, Text string
	TextY, Y    int
	Cells       []cell
}

type cell struct{ X, Width, Class, Title string }

type stripStep struct{ Class, Label string }

const (
	stripSteps = 5
	stripRowPx = 44
)

func strip(s view.Strip) (template.HTML, error) {
	lo, hi := math.Inf(1), 0.0
	missing := false
	for _, r := range s.Rows {
		for _, v := range r.Values {
			if finite(v) && v > 0 {
				lo, hi = min(lo, v), max(hi, v)
			}
			missing = missing || v < 0
		}
	}
	x, ok := scaleOf(s.X, true, s.At)
	if !ok || len(s.At) == 0 || hi == 0 && !missing {
		return "", nil
	}
	levels := levelsOf(lo, hi)
	v := stripView{
		Title: s.Title, XLabel: s.X.Label, Height: len(s.Rows) * stripRowPx, Missing: missing,
		X: marks(x, ticks(s.X, x, 6), false), Bands: bandViews(x, s.Bands),
	}
	for i, limit := range levels {
		v.Steps = append(v.Steps, stripStep{"l" + strconv.Itoa(i), "up to " + s.Text(limit)})
	}
	for i, r := range s.Rows {
		v.Rows = append(v.Rows, stripRowView{
			Label: r.Label, Text: r.Text, TextY: i*stripRowPx + 16, Y: i*stripRowPx + 22, Cells: cells(s, r, x, levels),
		})
	}
	return draw("strip", v)
}

// cells joins neighbours of one level, which keeps a long run small.
func cells(s view.Strip, r view.StripRow, x scale, levels []float64) (cs []cell) {
	n := min(len(s.At), len(r.Values))
	from := 0.0
	for i := 0; i < n; {
		name := levelOf(r.Values[i], levels)
		least, most, j := r.Values[i], r.Values[i], i
		for ; j < n && levelOf(r.Values[j], levels) == name; j++ {
			least, most = min(least, r.Values[j]), max(most, r.Values[j])
		}
		to := s.At[j-1]
		if name != "" {
			text := "no answer"
			if least >= 0 {
				text = s.Text(least)
				if most > least {
					text += " to " + s.Text(most)
				}
			}
			cs = append(cs, cell{
				percent(x.at(from)), percent(x.at(to) - x.at(from)), name,
				axisText(s.X, from) + " to " + axisText(s.X, to) + ": " + text,
			})
		}
		from, i = to, j
	}
	return cs
}

// levelsOf is the upper limits of the steps; fewer when the values lie close together.
func levelsOf(lo, hi float64) (limits []float64) {
	if hi == 0 {
		return nil
	}
	steps := stripSteps
	if hi < 1.5*lo {
		steps = 1
	}
	for i := 1; i < steps; i++ {
		limits = append(limits, lo*math.Pow(hi/lo, float64(i)/float64(steps)))
	}
	return append(limits, hi)
}

func levelOf(v float64, limits []float64) string {
	switch {
	case !finite(v):
		return ""
	case v < 0:
		return "none"
	}
	for i, limit := range limits {
		if v <= limit {
			return "l" + strconv.Itoa(i)
		}
	}
	return "l0"
}
