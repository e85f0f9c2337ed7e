package probe

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/engine/admin"
	"muxlock/internal/wallclock"
)

func TestRoundTripsAndClocksAreJudged(t *testing.T) {
	master := func(p50, lost int64, c *wallclock.Clock) Master {
		return Master{RTT: &bench.Summary{Count: 100, P: map[string]int64{"50": p50, "99": 2 * p50}}, Lost: lost, Clock: c}
	}
	good := &wallclock.Clock{PPM: 20, PPMError: 30}
	for name, c := range map[string]struct {
		Master
		trips, clock admin.Level
	}{
		"good":          {Master: master(100_000, 0, good), trips: admin.LevelOK, clock: admin.LevelOK},
		"slow":          {Master: master(210_000, 0, good), trips: admin.LevelWarn, clock: admin.LevelOK},
		"loses":         {Master: master(100_000, 1, good), trips: admin.LevelWarn, clock: admin.LevelOK},
		"no clock":      {Master: master(100_000, 0, nil), trips: admin.LevelOK, clock: admin.LevelUnknown},
		"not seen well": {Master: master(100_000, 0, &wallclock.Clock{PPM: 300, PPMError: 900}), trips: admin.LevelOK, clock: admin.LevelUnknown},
		"drifts":        {Master: master(100_000, 0, &wallclock.Clock{PPM: -600, PPMError: 30}), trips: admin.LevelOK, clock: admin.LevelWarn},
		"drifts away":   {Master: master(100_000, 0, &wallclock.Clock{PPM: 12_000, PPMError: 900}), trips: admin.LevelOK, clock: admin.LevelFail},
		"steps":         {Master: master(100_000, 0, &wallclock.Clock{PPM: 12_000, JumpNs: 20_000_000}), trips: admin.LevelOK, clock: admin.LevelWarn},
	} {
		all := []Master{c.Master, master(100_000, 0, good), master(100_000, 0, good)}
		require.Equal(t, c.trips, roundTrip(all, 0).Level, name)
		require.Equal(t, c.clock, clock(all, 0).Level, name)
	}
	require.Equal(t, admin.LevelOK, roundTrip([]Master{master(100_000, 0, good)}, 0).Level, "alone")
}
