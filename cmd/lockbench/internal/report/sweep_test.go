package report

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/chart"
	"muxlock/cmd/lockbench/internal/output"
)

func TestASweepIsDrawnOverItsFirstParam(t *testing.T) {
	n := func(v float64) *float64 { return &v }
	var doc output.Document
	doc.Config.Impls = []string{"a"}
	doc.Sweep = &bench.Sweep{
		Params: []bench.SweepParam{
			{Name: "workers", Values: []bench.SweepValue{{Text: "64", Number: n(64)}, {Text: "1", Number: n(1)}}},
			{Name: "keys", Values: []bench.SweepValue{{Text: "5", Number: n(5)}, {Text: "7", Number: n(7)}}},
		},
		Points: []bench.SweepPoint{
			{Setting: map[string]string{"workers": "64", "keys": "5"}, Impl: "a", ThroughputPerS: 640, P99Ns: 64},
			{Setting: map[string]string{"workers": "64", "keys": "7"}, Impl: "a", ThroughputPerS: 6400, P99Ns: 640},
			{Setting: map[string]string{"workers": "1", "keys": "5"}, Impl: "a", ThroughputPerS: 10, P99Ns: 1},
		},
	}
	s := growth(doc)
	require.Len(t, s.Panels, 1)
	require.Len(t, s.Panels[0].Charts, 4, "no hand-over was measured")
	l := s.Panels[0].Charts[0].(chart.Lines)
	require.Equal(t, []float64{1, 64}, l.At)
	require.True(t, l.X.Log)
	require.Len(t, l.Series, 2)
	require.Equal(t, "keys=5", l.Series[0].Name)
	require.Equal(t, []float64{10, 640}, l.Series[0].Y)
	require.True(t, math.IsNaN(l.Series[1].Y[0]), "a setting that was not run")
	require.Equal(t, 6400.0, l.Series[1].Y[1])

	doc.Sweep.Points = doc.Sweep.Points[:2]
	require.True(t, growth(doc).empty(), "one place is no curve")
	require.True(t, growth(output.Document{}).empty())
}
