package view

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
)

func TestASweepIsDrawnOverItsFirstParam(t *testing.T) {
	n := func(v float64) *float64 { return &v }
	var doc result.Document
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
	l := s.Panels[0].Charts[0].(Lines)
	require.Equal(t, []float64{1, 64}, l.At)
	require.True(t, l.X.Log)
	require.Len(t, l.Series, 2)
	require.Equal(t, "keys=5", l.Series[0].Name)
	require.Equal(t, []float64{10, 640}, l.Series[0].Y)
	require.True(t, math.IsNaN(l.Series[1].Y[0]), "a setting that was not run")
	require.Equal(t, 6400.0, l.Series[1].Y[1])

	doc.Sweep.Points = doc.Sweep.Points[:2]
	require.Empty(t, growth(doc).Panels, "one place is no curve")
	require.Empty(t, growth(result.Document{}).Panels)
}

func TestWhatWasOfferedAndWhatPollingWouldCostStandBesideASweep(t *testing.T) {
	n := func(v float64) *float64 { return &v }
	sweep := func(param, impl string) Section {
		var doc result.Document
		doc.Config.Impls, doc.Config.Keys, doc.Config.Dist = []string{impl}, 1, bench.Uniform()
		doc.Sweep = &bench.Sweep{
			Params: []bench.SweepParam{{Name: param, Values: []bench.SweepValue{{Text: "1", Number: n(1)}, {Text: "8", Number: n(8)}}}},
			Points: []bench.SweepPoint{
				{Setting: map[string]string{param: "1"}, Impl: impl, ThroughputPerS: 1},
				{Setting: map[string]string{param: "8"}, Impl: impl, ThroughputPerS: 7, HandoverP50Ns: 9e6},
			},
		}
		return growth(doc)
	}
	curves := func(s Section, i int) []Series { return s.Panels[0].Charts[i].(Lines).Series }
	rate := curves(sweep("rate", "muxlock"), 0)
	require.Equal(t, Series{Name: "offered", Color: 1, Dash: true, Y: []float64{1, 8}}, rate[1])

	computed := curves(sweep("workers", "redsync-goredis"), 4)
	require.Len(t, computed, 2)
	require.True(t, math.IsNaN(computed[1].Y[0]), "one alone does not wait")
	require.InDelta(t, 14.1e6, computed[1].Y[1], 0.2e6, "the first of 7")
	require.Len(t, curves(sweep("workers", "redsync-goredis"), 0), 1)
	require.Len(t, curves(sweep("workers", "muxlock"), 4), 1, "it does not poll")
}
