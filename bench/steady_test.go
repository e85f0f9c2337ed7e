package bench

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSteadyLooksAtTheLastSevenSeconds(t *testing.T) {
	for _, c := range []struct {
		name   string
		cycles []int64 // of each second
		want   bool
	}{
		{"six seconds are too few", []int64{100, 100, 100, 100, 100, 100}, false},
		{"all alike", []int64{100, 100, 100, 100, 100, 100, 100}, true},
		{"within the share", []int64{104, 96, 104, 96, 100, 100, 100}, true},
		{"one above it", []int64{100, 100, 100, 107, 100, 100, 100}, false},
		{"one below it", []int64{100, 100, 100, 100, 100, 100, 93}, false},
		{"what was before does not count", []int64{1, 500, 100, 100, 100, 100, 100, 100, 100}, true},
		{"a slow climb", []int64{100, 103, 106, 109, 112, 115, 118}, false},
		{"nothing at all", []int64{0, 0, 0, 0, 0, 0, 0}, false},
	} {
		var series []Interval
		for i, n := range c.cycles {
			series = append(series, Interval{Point: Point{TS: float64(i + 1), Cycles: n}})
		}
		require.Equal(t, c.want, steady(series, 0.05), c.name)
	}
}

func TestALateTickIsNoSwing(t *testing.T) {
	var series []Interval
	for i := range 7 {
		series = append(series, Interval{Point: Point{TS: float64(i + 1), Cycles: 100}})
	}
	series[3].TS, series[3].Cycles, series[4].Cycles = 4.5, 150, 50
	require.True(t, steady(series, 0.05))
}

// settles takes longer for each of the first seconds.
func settles(after time.Duration) slow {
	begin := time.Now()
	return slow{acquire: func(context.Context) error {
		d := time.Millisecond
		if left := after - time.Since(begin); left > 0 {
			d += time.Duration(left.Seconds()) * time.Millisecond
		}
		time.Sleep(d)
		return nil
	}}
}

func TestARunEndsWhenItIsSteady(t *testing.T) {
	cfg := Config{Workers: 2, Duration: time.Minute, TTL: time.Second, Steady: 0.05}
	for _, c := range []struct {
		name     string
		settles  time.Duration
		duration time.Duration
		want     Steady
	}{
		{"at once", 0, time.Minute, Steady{true, 7}},
		{"after five seconds", 5 * time.Second, time.Minute, Steady{true, 11}},
		{"never", time.Hour, 9 * time.Second, Steady{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg.Duration = c.duration
			inVirtualTime(t, func() Locker { return settles(c.settles) }, cfg, func(t *testing.T, r *Result) {
				require.Equal(t, c.want.Reached, r.Steady.Reached)
				require.InDelta(t, c.want.AfterS, r.Steady.AfterS, 1e-6)
				ends := c.duration.Seconds()
				if c.want.Reached {
					ends = c.want.AfterS
				}
				require.InDelta(t, ends, r.DurationS, 1e-6)
				require.Len(t, r.Series, int(ends), "no second of no length")
				require.NotContains(t, r.Valid.Reasons, ReasonInterrupted)
			})
		})
	}
}
