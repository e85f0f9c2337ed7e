package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheLagCountsFromOneMillisecond(t *testing.T) {
	for _, c := range []struct {
		lag, response int64
		want          float64
	}{{ms, ms, 0}, {ms / 2, ms, 0}, {2 * ms, 8 * ms, 0.25}, {9 * ms, 9 * ms, 1}} {
		r := &Result{Latency: Latencies{
			Lag: &Summary{P: map[string]int64{"99": c.lag}}, Response: &Summary{P: map[string]int64{"99": c.response}},
		}}
		require.Equal(t, c.want, r.LagShare())
	}
	require.Zero(t, (&Result{}).LagShare(), "a closed loop")
}

func TestARunThatLooksForOverlapsNeedsNoExactFigures(t *testing.T) {
	l := slow{acquire: takes(time.Millisecond)}
	cfg := Config{Workers: 1, Duration: 100 * time.Millisecond, TTL: time.Second, History: 10}
	virtual(t, nil, l, cfg, func(t *testing.T, r *Result, err error) {
		require.True(t, r.Valid.OK, r.Valid.Reasons)
	})
}
