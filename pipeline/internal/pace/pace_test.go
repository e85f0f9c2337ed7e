package pace

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/pipeline/internal/conn"
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
		{time.Second, LeastBudget},
	} {
		p := New(200 * time.Millisecond)
		for range 200 {
			p.Answered(1000, 0, 1000*c.cost, now)
		}
		require.InEpsilon(t, c.want, p.Budget(), 0.001, "%v a request", c.cost)
	}
	require.Equal(t, 1250, func() int { p := New(200 * time.Millisecond); return p.Budget() }(), "before anything is known")
}

func TestWayThereAndBackIsNotTakenForWork(t *testing.T) {
	now := time.Now()
	p := New(200 * time.Millisecond)
	p.NoteBase(20*time.Millisecond, now)
	for range 200 {
		p.Answered(100, 0, 20*time.Millisecond+400*time.Microsecond, now)
	}
	require.InEpsilon(t, 12500, p.Budget(), 0.001)
}

func TestWhatWasAheadIsPartOfTheWork(t *testing.T) {
	p := New(200 * time.Millisecond)
	for range 200 {
		p.Answered(100, 900, 4*time.Millisecond, time.Now())
	}
	require.InEpsilon(t, 12500, p.Budget(), 0.001)
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
		{"as near as is near", near, 1, 1},
		{"a multiple of the time between writes", 2 * spacing, 1, 3},
		{"a little farther", 2*spacing + 1, 1, 4},
		{"as far as a quarter of a round", time.Millisecond, 1000, 2},
		{"another continent", 150 * time.Millisecond, 1, MostWindow},
	} {
		p := New(200 * time.Millisecond)
		p.NoteBase(c.away, now)
		p.cost, p.meanSize = float64(4*time.Microsecond), float64(c.meanSize)
		require.Equal(t, c.want, p.Window(), c.name)
	}
}

func TestLeastTimeIsForgottenWhenTheWayHasBecomeLonger(t *testing.T) {
	now := time.Now()
	p := New(time.Second)
	require.Zero(t, p.RoundTrip())
	p.NoteBase(time.Millisecond, now)
	p.NoteBase(2*time.Millisecond, now)
	require.Equal(t, time.Millisecond, p.RoundTrip())
	for i := range 3 {
		p.NoteBase(5*time.Millisecond, now.Add(time.Duration(i)*(basePeriod+1)))
	}
	require.Equal(t, 5*time.Millisecond, p.RoundTrip())
	p.NoteBase(time.Millisecond, now.Add(3*basePeriod))
	require.Equal(t, time.Millisecond, p.RoundTrip(), "a shorter one is noticed at once")
}

func TestLeastTimeIsRememberedForHalfAMinute(t *testing.T) {
	now := time.Now()
	p := New(time.Second)
	p.NoteBase(time.Millisecond, now)
	for range 5 {
		p.NoteBase(5*time.Millisecond, now.Add(30*time.Second))
	}
	require.Equal(t, time.Millisecond, p.RoundTrip())
	p.NoteBase(9*time.Millisecond, now.Add(31*time.Second))
	p.NoteBase(6*time.Millisecond, now.Add(32*time.Second))
	require.Equal(t, time.Millisecond, p.RoundTrip(), "that of the last period, while it is less")
	p.NoteBase(7*time.Millisecond, now.Add(62*time.Second))
	require.Equal(t, 6*time.Millisecond, p.RoundTrip())
}

func TestFewRequestsTellTheWayManyTheCostAndAllTheSizeOfARound(t *testing.T) {
	p := New(200 * time.Millisecond)
	p.Answered(conn.FoldFrom, 0, time.Millisecond, time.Now())
	p.Answered(manyRequests-1, 0, time.Millisecond, time.Now())
	require.Zero(t, p.RoundTrip())
	require.Equal(t, FirstCost, p.cost)
	require.Equal(t, 1+(15-1.)/8, p.meanSize)
	p.Answered(manyRequests, 0, 8*time.Microsecond, time.Now())
	require.Equal(t, FirstCost+(500-FirstCost)/8, p.cost)
	p.Answered(conn.FoldFrom-1, 0, time.Millisecond, time.Now())
	require.Equal(t, time.Millisecond, p.RoundTrip())
}
