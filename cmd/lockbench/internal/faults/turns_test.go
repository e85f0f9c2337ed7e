package faults

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

func TestFaultsOfAProcessComeInTurnAndThoseOfConnectionsByThemselves(t *testing.T) {
	var list []Fault
	for _, text := range []string{"restart:1@2s", "stop:1@1s-2s", "kill:2", "stop:1@3s-4s", "delay:1:5ms", "delay:1:5ms@0s-2s", "cut:1@2s"} {
		f, err := Parse(text, Run{Masters: 2, Duration: 10 * time.Second})
		require.NoError(t, err)
		list = append(list, f)
	}
	require.Equal(t, map[string][]*Fault{"master 1": {&list[1], &list[0], &list[3]}, "master 2": {&list[2]}, "4": {&list[4]}, "5": {&list[5]}, "6": {&list[6]}}, turns(list))
}

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
