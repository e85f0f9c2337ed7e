package view

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/resulttest"
)

func TestASweepIsDrawnOverItsParam(t *testing.T) {
	n := func(v float64) *float64 { return &v }
	var doc result.Document
	doc.Config.Impls = []string{"a", "b"}
	for _, c := range []struct {
		workers, impl string
		rate          float64
	}{{"64", "a", 640}, {"64", "b", 6400}, {"1", "a", 10}} {
		r := resulttest.Result(c.impl, 1, c.rate)
		r.Setting = map[string]string{"workers": c.workers}
		doc.Results = append(doc.Results, r)
	}
	doc.Sweep = result.NewSweep([]result.SweepParam{
		{Name: "workers", Values: []result.SweepValue{{Text: "64", Number: n(64)}, {Text: "1", Number: n(1)}}},
	}, doc.Results)
	charts := func(doc result.Document) (b Blocks) {
		b.growth(doc)
		return b
	}
	drawn := charts(doc)[0].Charts
	require.Len(t, drawn, 4, "no hand-over was measured")
	l := drawn[0]
	require.Equal(t, "cycles/s", l.Title)
	require.Equal(t, []float64{1, 64}, l.Series[0].X)
	require.True(t, l.X.Log)
	require.Len(t, l.Series, 2)
	require.Equal(t, "a", l.Series[0].Name)
	require.Equal(t, []float64{10, 640}, l.Series[0].Y)
	require.Equal(t, []float64{64}, l.Series[1].X, "a setting that was not run")
	require.Equal(t, []float64{6400}, l.Series[1].Y)

	doc.Sweep.Points = doc.Sweep.Points[:2]
	require.Empty(t, charts(doc), "one place is no curve")
}
