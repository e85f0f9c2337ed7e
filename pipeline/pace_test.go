package pipeline

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBudgetIsWhatAMasterDoesInAPartOfTheTimeout(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		cost time.Duration // per request
		want int
	}{
		{100 * time.Nanosecond, mostBudget},
		{4 * time.Microsecond, 12500},
		{50 * time.Microsecond, 1000},
		{time.Second, leastBudget},
	} {
		p := newPace(200 * time.Millisecond)
		for range 200 {
			p.answered(1000, 0, 1000*c.cost, now)
		}
		require.InEpsilon(t, c.want, p.budget(), 0.001, "%v a request", c.cost)
	}
	require.Equal(t, 1250, func() int { p := newPace(200 * time.Millisecond); return p.budget() }(), "before anything is known")
}

func TestWayThereAndBackIsNotTakenForWork(t *testing.T) {
	now := time.Now()
	p := newPace(200 * time.Millisecond)
	p.noteBase(20*time.Millisecond, now)
	for range 200 {
		p.answered(100, 0, 20*time.Millisecond+400*time.Microsecond, now)
	}
	require.InEpsilon(t, 12500, p.budget(), 0.001)
}

func TestWhatWasAheadIsPartOfTheWork(t *testing.T) {
	p := newPace(200 * time.Millisecond)
	for range 200 {
		p.answered(100, 900, 4*time.Millisecond, time.Now())
	}
	require.InEpsilon(t, 12500, p.budget(), 0.001)
}

func TestWindowFollowsFromTheWayAndTheWork(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name     string
		away     time.Duration
		meanSize int // requests a round, of 4 us each
		want     int
	}{
		{"near, alone", 40 * time.Microsecond, 1, 1},
		{"near, many", 40 * time.Microsecond, 1000, 1},
		{"a quarter of a millisecond away", 300 * time.Microsecond, 1, 4},
		{"a millisecond away", 1300 * time.Microsecond, 4, 12},
		{"a millisecond away, many", 1300 * time.Microsecond, 1000, 2},
		{"the way is nothing beside the work", 900 * time.Microsecond, 1000, 1},
		{"another continent", 150 * time.Millisecond, 1, mostWindow},
	} {
		p := newPace(200 * time.Millisecond)
		p.noteBase(c.away, now)
		p.cost, p.meanSize = float64(4*time.Microsecond), float64(c.meanSize)
		require.Equal(t, c.want, p.window(), c.name)
	}
}

func TestLeastTimeIsForgottenWhenTheWayHasBecomeLonger(t *testing.T) {
	now := time.Now()
	p := newPace(time.Second)
	require.Zero(t, p.roundTrip())
	p.noteBase(time.Millisecond, now)
	p.noteBase(2*time.Millisecond, now)
	require.Equal(t, time.Millisecond, p.roundTrip())
	for i := range 3 {
		p.noteBase(5*time.Millisecond, now.Add(time.Duration(i)*(basePeriod+1)))
	}
	require.Equal(t, 5*time.Millisecond, p.roundTrip())
	p.noteBase(time.Millisecond, now.Add(3*basePeriod))
	require.Equal(t, time.Millisecond, p.roundTrip(), "a shorter one is noticed at once")
}

func TestMasterIsSilentOnlyWhenItCouldHaveBeenHeard(t *testing.T) {
	const timeout = 200 * time.Millisecond
	sent := time.Now()
	at := func(d time.Duration) time.Time { return sent.Add(d) }
	for _, c := range []struct {
		name               string
		asked, looked, now time.Time
		until              time.Time
		silent             bool
	}{
		{"in time", at(100), time.Time{}, at(100), at(timeout), false},
		{"time is up: a last look", at(timeout), time.Time{}, at(timeout), at(timeout + lastLook), false},
		{"which was for something earlier", at(timeout), at(-1), at(timeout), at(timeout + lastLook), false},
		{"nothing was there", at(timeout + lastLook), sent, at(timeout + lastLook), time.Time{}, true},
		{"a little late", at(timeout + lastLook), sent, at(timeout + lastLook + overslept), time.Time{}, true},
		{"stopped for 50 ms", at(timeout), time.Time{}, at(timeout + 50*time.Millisecond), at(timeout + 100*time.Millisecond), false},
		{"stopped again in the last look", at(timeout + lastLook), sent, at(timeout + lastLook + time.Second), at(2*timeout + lastLook + time.Second), false},
	} {
		until, silent := lookAgain(timeout, sent, c.asked, c.looked, c.now)
		require.Equal(t, c.silent, silent, c.name)
		if !silent {
			require.Equal(t, c.until.Sub(sent), until.Sub(sent), c.name)
		}
	}
}
