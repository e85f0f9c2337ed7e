package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clockwork is a pacer with a manual clock. From second 1 it has 1000 equal arrivals a second for one
// second.
func clockwork() (p *pacer, now *int64) {
	now = new(int64)
	cfg := Config{Workers: 1000, Rate: 1000, Arrivals: ArrivalsUniform, Duration: time.Second}
	return newPacer(cfg, nil, func() int64 { return *now }, nil, nil), now
}

func TestTakeGivesOnlyWhatIsDue(t *testing.T) {
	p, now := clockwork()
	_, wait := p.take(true)
	require.EqualValues(t, 1_000_000, wait)
	*now = 2_500_000
	for _, at := range []int64{1_000_000, 2_000_000} {
		a, wait := p.take(true)
		require.Zero(t, wait)
		require.Equal(t, at, a.at)
		require.False(t, a.measured)
	}
	_, wait = p.take(true)
	require.EqualValues(t, 500_000, wait)
}

func TestArrivalsFromBeforeAProcessJoinedAreAnothers(t *testing.T) {
	p, now := clockwork()
	p.begin(0, int64(time.Second))
	*now = int64(2 * time.Second)
	p.end(*now)
	got := p.close(*now, func(age int64) { require.LessOrEqual(t, age, int64(time.Second)) })
	require.EqualValues(t, 1000, got.Offered, "of the second second")
}

func TestUnstartedArrivalsAreOffered(t *testing.T) {
	p, now := clockwork()
	*now = int64(time.Second)
	p.begin(*now, *now) // drops the arrivals of the warm-up
	*now = int64(2 * time.Second)
	for range 400 {
		a, wait := p.take(true)
		require.Zero(t, wait)
		require.True(t, a.measured)
	}
	p.end(*now)
	*now = int64(3 * time.Second)
	a, wait := p.take(true)
	require.Zero(t, wait, "due before the end")
	require.True(t, a.measured)
	var ages []int64
	totals := p.close(*now, func(age int64) { ages = append(ages, age) })
	require.EqualValues(t, 1000, totals.Offered)
	require.EqualValues(t, 400, totals.Started, "in the measured time")
	require.Len(t, ages, 599)
	require.Equal(t, 1001*ms, ages[598], "due at 1.999 s")
	_, wait = p.take(true)
	require.Negative(t, wait)
}

func TestWhatIsDueAfterTheEndNeverArrives(t *testing.T) {
	p, now := clockwork()
	p.begin(*now, *now)
	p.end(5 * ms)
	*now = 100 * ms
	for range 4 {
		_, wait := p.take(true)
		require.Zero(t, wait)
	}
	_, wait := p.take(true)
	require.Negative(t, wait)
	require.EqualValues(t, 4, p.close(*now, nil).Offered)
}

func TestLagIsOnlyWhatAWorkerStoodReadyFor(t *testing.T) {
	take := func(p *pacer, first bool, at, lag int64) {
		t.Helper()
		a, wait := p.take(first)
		require.Zero(t, wait)
		require.Equal(t, at, a.at)
		require.Equal(t, lag, a.lag)
	}
	waits := func(p *pacer) {
		t.Helper()
		_, wait := p.take(true)
		require.Positive(t, wait)
	}

	p, now := clockwork()
	waits(p) // ready long before
	*now = 4 * ms
	take(p, false, ms, 3*ms)
	take(p, true, 2*ms, 0) // busy until now

	p, now = clockwork()
	waits(p)
	*now = 3 * ms
	take(p, true, ms, 2*ms) // this worker was busy, but the first stood ready
	*now = 5 * ms
	take(p, false, 2*ms, 2*ms) // the other worker was ready since 3 ms

	p, now = clockwork()
	for range 1000 { // goes round
		waits(p)
		*now += ms
		take(p, false, *now, 0)
	}
}

func TestBacklogGrowsOnlyWhenItGrows(t *testing.T) {
	for _, c := range []struct {
		name    string
		lag     func(i int64) int64 // of arrival i of 1000, ms
		growing bool
	}{
		{"none", func(int64) int64 { return 0 }, false},
		{"constant", func(int64) int64 { return 50 }, false},
		{"a rate 10 % too high", func(i int64) int64 { return i / 10 }, true},
		{"slight, below the floor", func(i int64) int64 { return i / 200 }, false},
		{"a stall of 60 ms in the last tenth, worked off", func(i int64) int64 { return max(0, 60-max(0, i-920)) * min(1, i/920) }, false},
		{"a stall in the last tenth that goes on", func(i int64) int64 { return max(0, 1020-i) * min(1, i/950) }, true},
		{"a stall of 200 ms, worked off", func(i int64) int64 { return max(0, 200-max(0, i-500)) * min(1, i/500) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, now := clockwork()
			*now = int64(time.Second)
			p.begin(*now, *now)
			for i := range int64(1000) {
				*now = max(*now, int64(time.Second)+(i+c.lag(i))*1_000_000)
				_, _ = p.take(true)
			}
			growing := p.end(*now)
			require.Equal(t, c.growing, growing)
		})
	}
}
