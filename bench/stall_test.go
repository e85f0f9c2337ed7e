package bench

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
)

func TestStallsAreSeenForAsLongAsTheyLast(t *testing.T) {
	s := &stallWatch{period: stallPeriod, begin: clock.Now(), hist: NewHistogram(), peaks: Peaks{FromNs: int64(stallLeast)}}
	for range 90 {
		s.add(s.begin, 20*time.Microsecond)
	}
	s.add(s.begin.Add(time.Second), 95*time.Millisecond) // of 1 s: 95, 85, ... 5 ms too late
	sum := s.hist.Summary()
	require.EqualValues(t, 100, sum.Count)
	require.InEpsilon(t, 20e3, sum.P["90"], 0.01)
	require.InEpsilon(t, 85e6, sum.P["99"], 0.01)
	require.InEpsilon(t, 95e6, sum.Max, 0.01)
	require.Equal(t, []Peak{{int64(time.Second), 95e6}}, s.peaks.All, "once, whole, and when")
}

func TestProcessesWatchStallsInTurn(t *testing.T) {
	for procs, period := range map[int]time.Duration{1: 10 * time.Millisecond, 60: 600 * time.Millisecond, 1000: time.Second} {
		stop := make(chan struct{})
		close(stop)
		s := watchStalls(procs, 0, stop)
		require.Equal(t, period, s.period)
		<-s.done
	}
}

func TestStallWatchCountsItsWakeUpsAndItsOwnCost(t *testing.T) {
	begin := time.Now()
	stop := make(chan struct{})
	s := watchStalls(1, 0, stop)
	<-time.After(20 * stallPeriod)
	close(stop)
	<-s.done
	hist, cpu := s.hist, s.cpu
	n := hist.Summary().Count
	require.Positive(t, n)
	require.LessOrEqual(t, n, int64(time.Since(begin)/stallPeriod)+1, "one for each period, stalls included")
	require.Less(t, cpu, time.Since(begin))
}

func TestStallsOfAProcessThatJoinsAreOnTheClockOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where its thread sees none
		stop := make(chan struct{})
		close(stop)
		s := watchStalls(1, 2*time.Second, stop)
		s.add(clock.Now(), 5*time.Millisecond)
		<-s.done
		require.Equal(t, []Peak{{int64(2 * time.Second), 5e6}}, s.peaks.All)
	})
}
