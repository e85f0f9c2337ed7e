package html

import (
	"encoding/xml"
	"html"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/view"
)

var nan = math.NaN()

func TestStepsAreEasyToRead(t *testing.T) {
	for _, c := range []struct{ v, above, below float64 }{
		{1, 1, 1}, {1.1, 2, 1}, {2, 2, 2}, {3, 5, 2}, {5, 5, 5}, {5.1, 10, 5}, {0.03, 0.05, 0.02}, {7e8, 1e9, 5e8}, {1e-7, 1e-7, 1e-7},
	} {
		require.InEpsilon(t, c.above, niceAbove(c.v), 1e-9, "above %v", c.v)
		require.InEpsilon(t, c.below, niceBelow(c.v), 1e-9, "below %v", c.v)
	}
	for _, v := range []float64{0, -1, nan, math.Inf(1)} {
		require.Equal(t, 1.0, niceAbove(v), "%v", v)
	}
}

func TestTicksAreRoundAndFew(t *testing.T) {
	labels := func(a view.Axis, lo, hi float64) (ls []string) {
		s, ok := scaleOf(a, false, []float64{lo, hi})
		require.True(t, ok)
		for _, tick := range ticks(a, s, 6) {
			ls = append(ls, tick.Label)
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
		{"below 0", view.Axis{}, -3, 4, "-4 -2 0 2 4"},
		{"a decade", view.Axis{Log: true}, 12, 90, "10 20 50 100"},
		{"five decades", view.Axis{Log: true}, 1, 1e5, "1 10 100 1000 1e+04 1e+05"},
		{"twelve decades", view.Axis{Log: true}, 1, 1e12, "1 100 1e+04 1e+06 1e+08 1e+10 1e+12"},
		{"one value", view.Axis{Log: true}, 100, 100, "50 100 200"},
		{"seconds", view.Axis{Seconds: true}, 0, 30, "0s 5s 10s 15s 20s 25s 30s"},
		{"minutes", view.Axis{Seconds: true}, 0, 600, "0s 2m 4m 6m 8m 10m"},
		{"an hour", view.Axis{Seconds: true}, 0, 3600, "0s 15m 30m 45m 1h"},
		{"own text", view.Axis{Text: func(float64) string { return "10.0us" }}, 0, 0.9, "10us 10us 10us 10us 10us 10us"},
	} {
		require.Equal(t, c.want, strings.Join(labels(c.axis, c.lo, c.hi), " "), c.name)
	}
}

func TestRoundFiguresLoseTheirZeros(t *testing.T) {
	for _, c := range [][2]string{{"10.0us", "10us"}, {"1.00ms", "1ms"}, {"0.50", "0.50"}, {"1.05ms", "1.05ms"}, {"100", "100"}, {"1.00", "1"}} {
		require.Equal(t, c[1], round(c[0]))
	}
}

func TestAClockCountsInSixties(t *testing.T) {
	for _, c := range []struct {
		seconds float64
		want    string
	}{{0, "0s"}, {0.25, "0.25s"}, {13.003, "13s"}, {59, "59s"}, {90, "1m30s"}, {120, "2m"}, {3600, "1h"}, {5400, "1h30m"}, {3661, "1h1m1s"}} {
		require.Equal(t, c.want, clock(c.seconds))
	}
}

func TestAScaleSpansItsValues(t *testing.T) {
	s, ok := scaleOf(view.Axis{}, false, []float64{20, nan, 83})
	require.True(t, ok)
	require.Equal(t, 0.0, s.at(0), "a linear axis begins at 0")
	require.InDelta(t, 0.83, s.at(83), 1e-9)

	s, ok = scaleOf(view.Axis{Log: true}, false, []float64{0, -5, 20, 83})
	require.True(t, ok)
	require.Equal(t, 0.0, s.at(20))
	require.True(t, math.IsNaN(s.at(0)), "0 has no logarithm")

	s, ok = scaleOf(view.Axis{Log: true}, true, []float64{3, 7})
	require.True(t, ok)
	require.Equal(t, 1.0, s.at(7))

	for _, values := range [][]float64{nil, {}, {nan}, {math.Inf(1)}, {0}, {-1}} {
		_, ok = scaleOf(view.Axis{Log: true}, false, values)
		require.False(t, ok, "%v", values)
	}
}

// drawn is the markup of a chart, which is well-formed and free of what is no number.
func drawn(t *testing.T, c view.Chart) string {
	t.Helper()
	markup, err := chart(c)
	require.NoError(t, err)
	require.NotContains(t, string(markup), "NaN")
	require.NotContains(t, string(markup), "Inf")
	d := xml.NewDecoder(strings.NewReader("<root>" + strings.ReplaceAll(string(markup), " hidden>", ">") + "</root>"))
	for {
		_, err := d.Token()
		if err == io.EOF {
			return string(markup)
		}
		require.NoError(t, err)
	}
}

func number2(v float64) string { return short(v, 0) }

func TestChartsWithNothingToDrawAreEmpty(t *testing.T) {
	for name, c := range map[string]view.Chart{
		"lines":                view.Lines{},
		"lines without series": view.Lines{At: []float64{1, 2}},
		"lines without values": view.Lines{At: []float64{1, 2}, Series: []view.Series{{Name: "a", Y: []float64{nan, nan}}}},
		"lines without places": view.Lines{Series: []view.Series{{Name: "a", Y: []float64{1}}}},
		"logarithms of 0":      view.Lines{At: []float64{1}, Y: view.Axis{Log: true}, Series: []view.Series{{Y: []float64{0}}}},
		"bars":                 view.Bars{Mark: 1},
		"strip":                view.Strip{Text: number2},
		"strip without values": view.Strip{Text: number2, At: []float64{1}, Rows: []view.StripRow{{Label: "a"}}},
		"strip of the unseen":  view.Strip{Text: number2, At: []float64{1}, Rows: []view.StripRow{{Values: []float64{view.Unseen}}}},
	} {
		require.Empty(t, drawn(t, c), name)
	}
}

func TestALineGoesThroughItsValues(t *testing.T) {
	text := drawn(t, view.Lines{At: []float64{0, 5, 10}, Series: []view.Series{{Name: "a", Y: []float64{0, 100, 50}}}})
	require.Contains(t, text, `d="M0 1000L500 0L1000 500"`)
}

func TestALineGoesOnWhereAValueIsMissingAndStepsDoNot(t *testing.T) {
	l := view.Lines{At: []float64{1, 2, 3, 4}, Series: []view.Series{{Name: "a", Y: []float64{100, nan, 0, 100}}}}
	require.Contains(t, drawn(t, l), `d="M250 0L750 1000L1000 0"`)
	l.Series[0].Steps = true
	require.Contains(t, drawn(t, l), `d="M0 0L250 0M500 1000L750 1000L750 0L1000 0"`)
}

func TestMeasuredValuesHaveDotsAndIntervals(t *testing.T) {
	text := drawn(t, view.Lines{At: []float64{1, 2}, Series: []view.Series{
		{Name: "a", Y: []float64{50, 100}, Dots: true, Low: []float64{25, 50}, High: []float64{75, 100}},
		{Name: "curve", Y: []float64{50, 60}},
	}})
	require.Equal(t, 2, strings.Count(text, "<circle"))
	require.Contains(t, text, `x1="50%" x2="50%" y1="75%" y2="25%"`)
}

func TestOfSeriesThatCannotBeSeenNothingIsSaid(t *testing.T) {
	text := drawn(t, view.Lines{At: []float64{1, 2}, Series: []view.Series{{Name: "unseen", Y: []float64{nan, nan}}, {Name: "seen", Y: []float64{1, 2}}}})
	require.NotContains(t, text, "unseen")
	require.Equal(t, 2, strings.Count(text, `data-series="0"`), "legend and curve")
}

func TestWhatIsPointedAtIsReadOut(t *testing.T) {
	text := html.UnescapeString(drawn(t, view.Lines{
		At: []float64{0, 10}, X: view.Axis{Seconds: true}, Series: []view.Series{{Name: "a", Color: 2, Y: []float64{nan, 100}}},
	}))
	require.Contains(t, text, `{"x":[0,100],"t":"0s|10s","s":[{"n":"a","c":"s2","y":[null,0],"v":"|100"}]}`)
}

func TestBandsStayWithinThePlot(t *testing.T) {
	x := scale{0, 10, false}
	vs := bandViews(x, []view.Band{
		{From: 2, To: 4, Label: "a"}, {From: 3, To: 30, Label: "b"}, {From: 9, To: 9, Label: "c"}, {From: 11, To: 12, Label: "beyond"}, {From: 5, To: 6, Label: "d"},
	})
	require.Len(t, vs, 4)
	require.Equal(t, bandView{X: "20%", Width: "20%", Label: "a", LabelX: "20%", Anchor: "start", Y: 13}, vs[0])
	require.Equal(t, "70%", vs[1].Width)
	require.True(t, vs[2].Moment)
	require.Equal(t, "end", vs[2].Anchor)
	require.Equal(t, []int{13, 28, 43, 13}, []int{vs[0].Y, vs[1].Y, vs[2].Y, vs[3].Y}, "in turn")
}

func TestBarsBeginAtZeroAndCarryTheirIntervals(t *testing.T) {
	text := drawn(t, view.Bars{Mark: 1, Rows: []view.Bar{{Label: "a", Value: 1}, {Label: "b", Value: 4, Low: 3, High: 5}, {Label: "c", Value: nan}}})
	require.Contains(t, text, `class="mark" x1="20%"`)
	require.Contains(t, text, `width="80%"`)
	require.Contains(t, text, `class="whisker" x1="60%" x2="100%"`)
	require.Equal(t, 1, strings.Count(text, `class="whisker"`))
	require.Contains(t, text, `width="0%"`)
}

func TestAStripJoinsWhatIsAlikeAndShowsWhatIsLost(t *testing.T) {
	text := drawn(t, view.Strip{
		At: []float64{1, 2, 3, 4, 5}, X: view.Axis{Seconds: true}, Text: number2,
		Rows: []view.StripRow{{Label: "a", Values: []float64{100, 110, -1, 100000, view.Unseen}}},
	})
	require.Equal(t, 3, strings.Count(text, "<title>"))
	require.Contains(t, text, "0s to 2s: 100 to 110")
	require.Contains(t, text, "2s to 3s: no answer")
	require.Contains(t, text, "3s to 4s: 100000")
	require.Contains(t, text, `class="cell l4" x="60%"`)
	require.Contains(t, text, "no answer</span>")
}

func TestTextIsEscaped(t *testing.T) {
	const evil = `"><script>x</script>`
	for _, c := range []view.Chart{
		view.Lines{Title: evil, X: view.Axis{Label: evil}, Y: view.Axis{Label: evil}, At: []float64{1}, Series: []view.Series{{Name: evil, Y: []float64{1}, Dots: true}}, Bands: []view.Band{{Label: evil, To: 1}}},
		view.Bars{Title: evil, X: view.Axis{Label: evil}, Rows: []view.Bar{{Label: evil, Text: evil, Value: 1}}},
		view.Strip{Title: evil, At: []float64{1}, Text: func(float64) string { return evil }, Rows: []view.StripRow{{Label: evil, Text: evil, Values: []float64{1}}}},
	} {
		require.NotContains(t, drawn(t, c), "<script")
	}
}
