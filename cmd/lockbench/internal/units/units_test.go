package units

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

func TestFiguresHaveThreeDigitsAndAUnitThatFits(t *testing.T) {
	for _, c := range []struct {
		unit string
		v    float64
		want string
	}{
		{bench.UnitNs, 0, "0ns"}, {bench.UnitNs, 999, "999ns"}, {bench.UnitNs, 12_340, "12.3µs"}, {bench.UnitNs, 1_234_567, "1.23ms"}, {bench.UnitNs, 2e9, "2.00s"},
		{bench.UnitShare, 0, "0%"}, {bench.UnitShare, 0.0123, "1.23%"},
		{bench.UnitCount, 12, "12"}, {bench.UnitCount, 12.34, "12.3"}, {bench.UnitCount, 0.005, "0.005"}, {bench.UnitCount, 1234567, "1,234,567"},
	} {
		require.Equal(t, c.want, In(c.unit, c.v), "%v %s", c.v, c.unit)
	}
}

func TestCountsAreGroupedByThousands(t *testing.T) {
	require.Equal(t, "0", Number(0))
	require.Equal(t, "999", Number(999.4))
	require.Equal(t, "1,000", Number(999.5))
	require.Equal(t, "12,345,678", Number(int64(12345678)))
}

func TestAnExactTimeHasOneUnitAndNoDigitsOfItsOwn(t *testing.T) {
	for d, want := range map[time.Duration]string{
		1610 * time.Millisecond: "1.61s", time.Hour: "3600s", 50 * time.Millisecond: "50ms", 250 * time.Microsecond: "250µs", 0: "0s",
	} {
		require.Equal(t, want, Exact(d))
	}
}
