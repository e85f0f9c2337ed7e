package view

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/resulttest"
	"muxlock/internal/testing/golden"
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
	text := drawn(charts(doc)[0].Charts...) // of a setting that was not run, and of hand-overs, it has none
	doc.Sweep.Points = doc.Sweep.Points[:2]
	require.Empty(t, charts(doc), "one place is no curve")

	for _, c := range []struct {
		unit        string
		least, most float64
	}{{bench.UnitNs, 1e6, 10e6}, {bench.UnitCount, 2, 19}, {bench.UnitCount, 0, 10}} {
		doc.Sweep = result.NewSweep([]result.SweepParam{
			{Name: "workers", Unit: c.unit, Values: []result.SweepValue{{Text: "64", Number: n(c.least)}, {Text: "1", Number: n(c.most)}}},
		}, doc.Results)
		chart := charts(doc)[0].Charts[0]
		text += fmt.Sprintf("1e9 is %s: %s", chart.X.Text(1e9), drawn(chart))
	}
	golden.Equal(t, "growth.txt", text)
	require.Equal(t, 2.5, place(result.SweepParam{}, "2.5"))
	require.Equal(t, 2.5, place(result.SweepParam{Values: []result.SweepValue{{Text: "2.5"}}}, "2.5"))
	require.True(t, math.IsNaN(place(result.SweepParam{}, "own")))
}
