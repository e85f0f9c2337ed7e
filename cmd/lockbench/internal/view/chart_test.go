package view

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/resulttest"
)

func TestALowerBoundIsDrawnAsOne(t *testing.T) {
	r := resulttest.Result("x", 1, 10)
	r.Series = []bench.Point{
		{TS: 1, P50Ns: 1e6, P99Ns: 2e6},
		{TS: 2, P50Ns: 3e6, P99Ns: 5e8, P99AtLeast: true},
		{TS: 3, P50Ns: 5e8, P99Ns: 6e8, P50AtLeast: true, P99AtLeast: true},
	}
	charts := overTime("", nil, r)
	for i, want := range [][]float64{{2e6, 0, 0}, {0, 5e8, 6e8}, {1e6, 3e6, 0}} { // p99, at least, p50
		require.Equal(t, want, charts[1].Series[i].Y)
	}
	require.True(t, charts[1].Series[1].Dots)

	require.Empty(t, Picture(resulttest.Document(resulttest.Result("muxlock", 1, 0))))
	var b Blocks
	b.charts(charts...)
	require.Len(t, b[0].Charts, 1, "a chart of zeros says nothing")
	for want, c := range map[bool]Chart{true: {Series: []Series{{Y: []float64{5}}}}, false: {Series: []Series{{Y: []float64{5}, Dots: true}}}} {
		require.Equal(t, want, c.empty(), "one value is no line")
	}
}
