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
	var b Blocks
	b.overTime(r)
	latency := b[1].Lines
	for name, want := range map[string][]float64{"x p50": {1e6, 3e6, 0}, "x p99": {2e6, 0, 0}, "x p99, at least": {0, 5e8, 6e8}} {
		for _, s := range latency.Series {
			if s.Name == name {
				require.Equal(t, want, s.Y, name)
			}
		}
	}
}
