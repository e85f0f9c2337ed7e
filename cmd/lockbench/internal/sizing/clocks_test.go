package sizing

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/internal/redlock"
)

func TestAnyTwoClocksMayDifferByWhatIsKnownAndTheErrors(t *testing.T) {
	const jump = 20 * ms
	for _, c := range []struct {
		watched    []bench.Clock
		rho, worst float64
		jump       time.Duration
	}{
		{nil, redlock.DefaultDrift, 0, 0},
		{[]bench.Clock{{PPM: 15_000.5}}, 0.016, 15_000.5, 0},
		{[]bench.Clock{{PPM: -14_999.5}}, 0.015, 14_999.5, 0},
		{[]bench.Clock{{PPM: 14_998, PPMError: 2}, {PPM: -999, PPMError: 2}}, 0.017, 15_000, 0},
		{[]bench.Clock{{PPM: -300, PPMError: 5}, {PPM: 10, JumpNs: int64(jump)}, {PPM: 20}}, redlock.DefaultDrift, 305, jump},
		{[]bench.Clock{{PPM: 20, PPMError: 5}, {PPMError: 1e6, JumpNs: int64(jump)}}, redlock.DefaultDrift, 25, jump},
		{[]bench.Clock{{PPM: -20_000, PPMError: 10_001}}, redlock.DefaultDrift, 0, 0},
		{[]bench.Clock{{PPM: 30_000, PPMError: 15_000}}, 0.045, 45_000, 0},
		{[]bench.Clock{{PPM: 600_000}}, mostDrift, 600_000, 0},
	} {
		require.Equal(t, clocks{rho: c.rho, c: redlock.Granularity + c.jump, jump: c.jump, worst: c.worst}, clocksOf(c.watched))
	}
}

func TestDriftCoversJumpsOfHalfAMillisecondAndMore(t *testing.T) {
	for _, c := range []struct {
		jump time.Duration
		want float64
	}{{0, 0.01}, {ms/2 - 1, 0.01}, {ms / 2, 0.0105}, {399_990 * time.Microsecond, 0.41}, {time.Second, 0.49}} {
		require.Equal(t, c.want, clocks{rho: 0.01, jump: c.jump}.drift(time.Second), c.jump)
	}
}

func TestALeaseIsLongEnoughForTheDriftThatAJumpNeeds(t *testing.T) {
	m := quiet()
	for _, jump := range []time.Duration{400 * time.Microsecond, 20 * ms, 2 * time.Second} {
		for _, ppm := range []float64{0, 30_000} {
			for _, ask := range []Ask{holding(ms, 30*time.Second), holding(time.Hour, 30*time.Second)} {
				m.Clocks = []bench.Clock{{PPM: ppm, JumpNs: int64(jump)}}
				c := Size(m, ask).Config
				require.GreaterOrEqual(t, (c.Drift-clocksOf(m.Clocks).rho)*float64(c.TTL)+float64(ms/2), float64(jump), "%s %v", jump, c)
			}
		}
	}
	m.Clocks = []bench.Clock{{PPM: 600_000, JumpNs: int64(ms)}}
	require.Positive(t, Size(m, holding(ms, 0)).Config.TTL)
}
