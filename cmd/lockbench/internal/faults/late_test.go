package faults

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

func TestRepliesAreLateByTheSumOfDrawsFromWhatIsInForce(t *testing.T) {
	draw := late([]bench.Span{bench.Fixed(time.Hour), bench.Lognormal(3*time.Minute, 0.7)})
	const count = 4000
	all := make([]float64, count)
	for i := range all {
		all[i] = (draw() - time.Hour).Minutes()
	}
	slices.Sort(all)
	// A quartile of 4000 samples is within 4 % of the true one, three standard errors.
	for q, want := range map[int]float64{1: 1.87, 2: 3.0, 3: 4.81} {
		require.InEpsilon(t, want, all[q*count/4], 0.07, "quartile %d", q)
	}
	require.Zero(t, late([]bench.Span{bench.Fixed(0)})(), "the proxy alone")
	require.Zero(t, late(nil)())
}
