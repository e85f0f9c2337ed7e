package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestATailNeedsTenSamplesBeyondIt(t *testing.T) {
	for _, c := range []struct {
		p     float64
		least int64
	}{{50, 20}, {90, 100}, {99, 1000}, {99.9, 10_000}, {99.99, 100_000}, {5e-324, 1 << 62}} {
		require.False(t, (&Summary{Count: c.least}).Thin(c.p), c.p)
		require.True(t, (&Summary{Count: c.least - 1}).Thin(c.p), c.p)
	}
}

func TestMoreSecondsAreAtThePaceOfTheRun(t *testing.T) {
	r := &Result{DurationS: 5, Latency: Latencies{CycleTime: &Summary{Count: 2000}}} // 400 a second
	require.Zero(t, r.MoreSeconds(99, 1))
	require.Equal(t, 20.0, r.MoreSeconds(99.9, 1))
	require.Equal(t, 4.0, r.MoreSeconds(99.9, 3), "a third of what all three miss")
	r.Latency[CycleTime].Count = 0
	require.Zero(t, r.MoreSeconds(99, 1), "no pace")
}

func TestTooFewOperationsAreNoBaseForFigures(t *testing.T) {
	l := slow{acquire: takes(time.Millisecond)}
	cfg := Config{Workers: 1, Duration: 1000500 * time.Microsecond, TTL: time.Second}
	r := measure(t, l, cfg)
	require.EqualValues(t, 1001, r.Latency[CycleTime].Count, "the last one ends in the drain")
	require.True(t, r.Valid.OK, r.Valid.Reasons)
	cfg.Duration = 400500 * time.Microsecond
	r = measure(t, l, cfg)
	require.Equal(t, []Reason{{ReasonFew, "401 are no base for a p99, it needs 1 s more at this pace"}}, r.Valid.Reasons)
	cfg.Rounds = 3
	require.True(t, measure(t, l, cfg).Valid.OK, "three such rounds are one")
	cfg.Rate = 100
	r = measure(t, l, cfg)
	require.Equal(t, ReasonFew, r.Valid.Reasons[0].Kind)
}
