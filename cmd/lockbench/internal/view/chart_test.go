package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/resulttest"
	"muxlock/internal/testing/golden"
)

// drawn writes the values of charts.
func drawn(charts ...Chart) string {
	var b strings.Builder
	for _, c := range charts {
		fmt.Fprintf(&b, "%s, over %s, log: %v, bands: %v\n", c.Title, c.X.Label, c.X.Log, c.Bands)
		for _, s := range c.Series {
			fmt.Fprintf(&b, "  %q color %d dash %v dots %v: %v, %v\n", s.Name, s.Color, s.Dash, s.Dots, s.X, s.Y)
		}
	}
	return b.String()
}

func TestALowerBoundIsDrawnAsOne(t *testing.T) {
	r := resulttest.Result("x", 1, 10)
	r.Series = []bench.Point{
		{TS: 1, P50Ns: 1e6, P99Ns: 2e6},
		{TS: 2, P50Ns: 3e6, P99Ns: 5e8, P99AtLeast: true},
		{TS: 3, P50Ns: 5e8, P99Ns: 6e8, P50AtLeast: true, P99AtLeast: true},
	}
	charts := overTime("", nil, r)
	slow := resulttest.Document(resulttest.Result("muxlock", 1, 0.5))
	slow.Config.Workers, slow.Config.Procs = 1, 2
	golden.Equal(t, "bounds.txt", drawn(charts...)+fmt.Sprintln(Picture(slow)))
	require.Empty(t, Picture(resulttest.Document(resulttest.Result("muxlock", 1, 0))))
	require.True(t, Chart{Series: []Series{{Y: []float64{5}}}}.empty(), "one value is no line")
	require.False(t, Chart{Series: []Series{{Y: []float64{5}, Dots: true}}}.empty())
	require.False(t, Chart{Series: []Series{{Y: []float64{0, 5}}}}.empty())
	require.True(t, Chart{Y: durations, Series: []Series{{Y: []float64{0, 5}}}}.empty())
}

func TestARateIsOfASecondWhateverTheLengthOfAPoint(t *testing.T) {
	r := resulttest.Result("x", 1, 10)
	r.Series, r.DurationS = []bench.Point{
		{TS: 0.2, Cycles: 1}, {TS: 2.2, Cycles: 10, Refused: 2, Timeouts: 4, Errors: 8, Unfinished: 16}, {TS: 2.2}, {TS: 2.3, Cycles: 1},
	}, 3
	r.Drain = &bench.Point{TS: 5, Cycles: 4, Unfinished: 8}
	text := drawn(overTime("", []string{"y", "x"}, r)...)
	for drained, want := range map[float64]int{0.1: 0, 0.2: 1} {
		require.Len(t, bands(&bench.Result{Drain: &bench.Point{TS: drained}}), want)
	}
	require.Empty(t, bands(&bench.Result{DurationS: 3, Drain: &bench.Point{TS: 3.1}}))
	r.Drain = nil
	for _, series := range [][]bench.Point{{{TS: 0.1}}, {{TS: 0.2}}, {{TS: 1}, {TS: 1.1}}} { // a run of one short second has no longer one
		r.Series = series
		text += drawn(overTime("", nil, r)[0])
	}
	golden.Equal(t, "rates.txt", text)
}

func TestASecondHasWhatHappenedInIt(t *testing.T) {
	for want, p := range map[string]bench.Point{
		"0.5/s p99 1.00ns": {TS: 2, Cycles: 1, P99Ns: 1}, "1/s p99 -": {TS: 2, Cycles: 2}, "0/s p99 -": {TS: 2, P99Ns: 5},
	} {
		require.Equal(t, want, speed([]second{{Point: p}}))
	}
	for _, c := range []struct {
		from, to float64
		want     bool
	}{{4, 4, true}, {3, 4.05, false}, {3, 4.06, true}, {4.95, 9, false}, {4.94, 9, true}, {5, 9, false}} {
		s := second{Point: bench.Point{TS: 5}, from: 4, faults: []bench.Band{{Spec: "stop", FromS: c.from, ToS: c.to}}}
		require.Equal(t, c.want, s.hit("stop"), "%+v", c)
	}
}
