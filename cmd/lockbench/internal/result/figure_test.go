package result

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

func TestAMedianIsALowerBoundIfItMayBeHigher(t *testing.T) {
	run := func(ns int64, bound bool) *bench.Result {
		h := bench.NewHistogram()
		h.Record(ns, 1000)
		if bound {
			h.RecordAtLeast(ns, 500)
		}
		return &bench.Result{Latency: bench.Latencies{bench.CycleTime: h.Summary()}}
	}
	for want, runs := range map[string][]*bench.Result{
		"2.00ms":   {run(1e6, false), run(2e6, false), run(5e6, true)},
		">=1.50ms": {run(1e6, false), run(2e6, false), run(15e5, true)}, // 1.5 to 2 ms
		">=2.50ms": {run(1e6, false), run(4e6, true), run(5e6, true), run(1e6, false)},
		">=4.00ms": {run(3e6, false), run(4e6, true), run(5e6, true)},
		"-":        {{}},
	} {
		require.Equal(t, want, MustFigure("cycle.p99").Text(runs...))
	}
	median, _ := MustFigure("cycle.p99").Median(nil)
	require.Zero(t, median)
	require.Panics(t, func() { MustFigure("cycle.p100") })
}
