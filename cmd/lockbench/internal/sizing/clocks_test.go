package sizing

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

func TestClocksMayDifferByWhatTheEngineAllows(t *testing.T) {
	for _, c := range []struct {
		watched []bench.Clock
		worst   float64
		lacks   string
	}{
		{nil, 0, ""},
		{[]bench.Clock{{PPM: 9000, PPMError: 1000}}, 10_000, ""},
		{[]bench.Clock{{PPM: 5}, {PPM: -10_001}}, 10_001, "off by up to 10001 ppm"},
		{[]bench.Clock{{PPM: 20, PPMError: 5}, {PPMError: 1e6}}, 25, ""},
		{[]bench.Clock{{PPM: -20_000, PPMError: 10_001}}, 0, ""},
		{[]bench.Clock{{PPM: 30_000, PPMError: 15_000}}, 45_000, "mend it, then measure"},
		{[]bench.Clock{{JumpNs: int64(100 * ms)}}, 0, ""},
		{[]bench.Clock{{JumpNs: int64(101 * ms)}}, 0, "jumped by 101ms"},
		{[]bench.Clock{{PPM: 5000, JumpNs: int64(51 * ms)}}, 5000, "jumped by 51ms"},
	} {
		m := quiet()
		m.Clocks = c.watched
		s := Size(m, holding(ms, 0)) // TTL 10 s
		require.Equal(t, c.worst, s.Slowest)
		require.Equal(t, c.lacks == "", s.Lacks == "", s.Lacks)
		require.Contains(t, s.Lacks, c.lacks)
	}
}

func TestALeaseIsWhatIsUsableAndTheAllowanceForClocks(t *testing.T) {
	for _, need := range []time.Duration{ms, time.Second, time.Hour} {
		require.GreaterOrEqual(t, usable(lease(need)), need)
		require.Less(t, usable(lease(need)-2), need)
	}
}
