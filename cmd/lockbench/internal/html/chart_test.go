package html

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/view"
)

var nan = math.NaN()

func TestStepsAreEasyToRead(t *testing.T) {
	for v, above := range map[float64]float64{1: 1, 1.1: 2, 2: 2, 3: 5, 5: 5, 5.1: 10, 0.03: 0.05, 7e8: 1e9, 1e-7: 1e-7} {
		require.InEpsilon(t, above, niceAbove(v), 1e-9, "above %v", v)
	}
}

func TestTicksAreRoundAndFew(t *testing.T) {
	labels := func(a view.Axis, lo, hi float64) (ls []string) {
		s, ok := scaleOf(a, false, []float64{lo, hi})
		require.True(t, ok)
		for _, at := range s.ticks(6) {
			ls = append(ls, axisText(a, at))
		}
		return ls
	}
	for _, c := range []struct {
		name   string
		axis   view.Axis
		lo, hi float64
		want   string
	}{
		{"counts", view.Axis{}, 0, 2089, "0 500 1000 1500 2000 2500"},
		{"shares", view.Axis{}, 0, 0.31, "0 0.1 0.2 0.3 0.4"},
		{"nothing but 0", view.Axis{}, 0, 0, "0 0.2 0.4 0.6 0.8 1"},
		{"a decade", view.Axis{Log: true}, 12, 90, "10 20 50 100"},
		{"five decades", view.Axis{Log: true}, 1, 1e5, "1 10 100 1000 1e+04 1e+05"},
		{"twelve decades", view.Axis{Log: true}, 1, 1e12, "1 100 1e+04 1e+06 1e+08 1e+10 1e+12"},
		{"one value", view.Axis{Log: true}, 100, 100, "50 100 200"},
		{"own text", view.Axis{Text: func(float64) string { return "10.0us" }}, 0, 0.9, "10.0us 10.0us 10.0us 10.0us 10.0us 10.0us"},
	} {
		require.Equal(t, c.want, strings.Join(labels(c.axis, c.lo, c.hi), " "), c.name)
	}
}

func TestAScaleSpansItsValues(t *testing.T) {
	for _, c := range []struct {
		log, exact bool
		values     []float64
		of, at     float64
	}{
		{false, false, []float64{20, nan, 83}, 0, 0}, {false, false, []float64{20, nan, 83}, 83, 0.83},
		{true, false, []float64{0, -5, 20, 83}, 20, 0}, {true, true, []float64{3, 7}, 7, 1},
	} {
		s, ok := scaleOf(view.Axis{Log: c.log}, c.exact, c.values)
		require.True(t, ok)
		require.InDelta(t, c.at, s.at(c.of), 1e-9)
		require.Equal(t, c.log, !finite(s.at(0)), "0 has no logarithm")
	}
	for _, values := range [][]float64{nil, {}, {nan}, {math.Inf(1)}, {0}, {-1}} {
		_, ok := scaleOf(view.Axis{Log: true}, false, values)
		require.False(t, ok, "%v", values)
	}
}

// drawn returns the markup of a chart, and requires that it is well-formed and free of NaN.
func drawn(t *testing.T, b view.Block) string {
	t.Helper()
	var m markup
	m.blocks(view.Blocks{b})
	require.NotContains(t, m.String(), "NaN")
	require.NotContains(t, m.String(), "Inf")
	d := xml.NewDecoder(strings.NewReader("<root>" + m.String() + "</root>"))
	for {
		_, err := d.Token()
		if err == io.EOF {
			return strings.TrimSpace(m.String())
		}
		require.NoError(t, err)
	}
}

// charted returns the markup of a chart of series.
func charted(t *testing.T, series ...view.Series) string {
	return drawn(t, view.Block{Charts: []view.Chart{{Series: series}}})
}

func TestOfSeriesWithoutAPlaceNothingIsDrawn(t *testing.T) {
	for _, s := range []view.Series{{}, {X: []float64{1, 2}}, {X: []float64{1, 2}, Y: []float64{nan, nan}}, {Y: []float64{1}}} {
		require.NotContains(t, charted(t, s), "<figure>", "%v", s)
	}
	text := charted(t, view.Series{Name: "unseen", X: []float64{1, 2}, Y: []float64{nan, nan}}, view.Series{Name: "a", X: []float64{1}, Y: []float64{1}}, view.Series{Name: "b", X: []float64{2}, Y: []float64{1}})
	require.NotContains(t, text, "unseen")
	require.Contains(t, text, "> a</span>")
	require.NotContains(t, charted(t, view.Series{Name: "alone", X: []float64{1}, Y: []float64{1}}), "alone", "the heading has its name")
}

func TestALineGoesThroughItsValuesAndEndsWhereOneIsMissing(t *testing.T) {
	require.Contains(t, charted(t, view.Series{X: []float64{0, 5, 7.5, 10, 20}, Y: []float64{0, 100, nan, 50, 0}}), `d="M0 1000L250 0M500 500L1000 1000"`)
}

func TestMeasuredValuesHaveDots(t *testing.T) {
	text := charted(t, view.Series{X: []float64{1, 2}, Y: []float64{50, 100}, Dots: true}, view.Series{Color: colors, X: []float64{1, 2}, Y: []float64{50, 60}})
	require.Equal(t, 2, strings.Count(text, "<circle"))
	require.Contains(t, text, `cx="50%" cy="50%" r="3"><title>1: 50</title>`)
	require.Contains(t, text, `class="line s0 dash"`, "a colour that another has")
}

func TestBandsStayWithinThePlot(t *testing.T) {
	text := drawn(t, view.Block{Charts: []view.Chart{{Series: []view.Series{{X: []float64{10}, Y: []float64{1}}}, Bands: []bench.Band{
		{FromS: 2, ToS: 4, Spec: "a"}, {FromS: 3, ToS: 30, Spec: "b"}, {FromS: 9, ToS: 9, Spec: "moment"}, {FromS: 11, ToS: 12, Spec: "beyond"},
	}}}})
	for _, want := range []string{
		`x="20%" y="0" width="20%" height="100%"><title>a<`, `x="30%" y="0" width="70%" height="100%"><title>b<`, `x="90%" y="0" width="0.2%" height="100%"><title>moment<`, "> moment</span>",
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "beyond")
}

func TestABarForEachInProportion(t *testing.T) {
	b := view.Bars{Title: "a < b", Rows: []view.Bar{{Label: "mine", Part: 1, Text: "100/s"}, {Label: "theirs", Part: 0.5}, {Label: "none"}}}
	var alone bytes.Buffer
	require.NoError(t, WritePicture(&alone, []view.Bars{b, b}))
	for _, want := range []string{
		`class="bar" x="160" y="34" width="440"`, `class="rest" x="160" y="64" width="220"`, `class="rest" x="160" y="94" width="1"`, "a &lt; b",
		`class="bar" x="160" y="172" width="440"`, `height="262"`, "prefers-color-scheme: dark",
	} {
		require.Contains(t, alone.String(), want)
	}
	page := drawn(t, view.Block{Bars: []view.Bars{b, b}})
	for _, want := range []string{`class="bar" style="width: 70%"`, `class="rest" style="width: 35%"`, `class="rest" style="width: 0%"`, "a &lt; b"} {
		require.Contains(t, page, want)
	}
}
