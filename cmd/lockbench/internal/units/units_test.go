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
		{bench.UnitNs, 0, "0ns"}, {bench.UnitNs, 0.5, "0.50ns"}, {bench.UnitNs, 1, "1.00ns"}, {bench.UnitNs, 10, "10.0ns"}, {bench.UnitNs, 100, "100ns"},
		{bench.UnitNs, 999, "999ns"}, {bench.UnitNs, 1000, "1.00µs"}, {bench.UnitNs, 1_234_567, "1.23ms"}, {bench.UnitNs, 5e12, "5000s"},
		{bench.UnitShare, 0, "0%"}, {bench.UnitShare, 0.0123, "1.23%"}, {bench.UnitShare, 0.00005, "0.005%"},
		{bench.UnitCount, 12, "12"}, {bench.UnitCount, 12.34, "12.3"}, {bench.UnitCount, 1.5, "1.50"}, {bench.UnitCount, 0.9994, "0.999"},
		{bench.UnitCount, 1000.4, "1,000"}, {bench.UnitCount, 1234567, "1,234,567"},
	} {
		require.Equal(t, c.want, In(c.unit, c.v), "%v %s", c.v, c.unit)
	}
}

func TestCountsAreGroupedByThousands(t *testing.T) {
	got := []string{Number(0), Number(999.4), Number(999.5), Number(int64(12345678))}
	require.Equal(t, []string{"0", "999", "1,000", "12,345,678"}, got)
}

func TestAnExactTimeHasOneUnitAndNoDigitsOfItsOwn(t *testing.T) {
	for d, want := range map[time.Duration]string{
		1610 * time.Millisecond: "1.61s", time.Hour: "3600s", 50 * time.Millisecond: "50ms", 250 * time.Microsecond: "250µs", 0: "0s",
	} {
		require.Equal(t, want, Exact(d))
	}
}

func TestAFigureTellsWhetherItIsABound(t *testing.T) {
	for want, values := range map[string][]Value{
		"-": nil, "1": {{V: 1}}, "2": {{V: 1}, {V: 3, AtLeast: true}, {V: 2}}, ">=2": {{V: 1}, {V: 2, AtLeast: true}, {V: 3}}, ">=7": {{V: 7, AtLeast: true}},
	} {
		require.Equal(t, want, Median(bench.UnitCount, values))
	}
	at := map[string]int64{"99": 5}
	for want, s := range map[string]*bench.Summary{"~5.00ns": {Count: 999, P: at}, "5.00ns": {Count: 1000, P: at}, ">=5.00ns": {Count: 1000, Censored: 11, P: at}} {
		require.Equal(t, want, Percentile(s, "99"))
	}
	require.Equal(t, "--", Percentile(nil, "99")+Percentile(&bench.Summary{P: at}, "99"), "none")
	require.Equal(t, "~5.00ns", Percentile(&bench.Summary{Count: 1, P: at}, "99"))
}
