package clock

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAlarmsRingInTheirOrderAndNotBeforeTheirTime(t *testing.T) {
	a := NewAlarms()
	require.NotNil(t, a)
	stop := make(chan struct{})
	var mu sync.Mutex
	var early int
	var late []time.Duration
	var sleepers sync.WaitGroup
	for i := range 50 {
		sleepers.Go(func() {
			one := NewAlarm()
			for n := range 20 {
				d := time.Duration(1+(i*7+n*13)%40) * 50 * time.Microsecond
				start := time.Now()
				a.Sleep(d, one, stop)
				over := time.Since(start) - d
				mu.Lock()
				if over < 0 {
					early++
				}
				late = append(late, over)
				mu.Unlock()
			}
		})
	}
	sleepers.Wait()
	slices.Sort(late)
	t.Logf("late by %v at the median, %v at the 99th percentile", late[len(late)/2], late[len(late)*99/100])
	require.Zero(t, early)
	require.Len(t, late, 1000)
	a.Close()
}

func TestSleepersOfAlarmsLeaveWhenTheRunStops(t *testing.T) {
	a := NewAlarms()
	stop := make(chan struct{})
	var sleepers sync.WaitGroup
	for range 10 {
		sleepers.Go(func() { a.Sleep(time.Hour, NewAlarm(), stop) })
	}
	close(stop)
	sleepers.Wait()
	a.Close()
}

func TestWhoSleepsAgainAfterTheEndIsNotRungTwice(t *testing.T) {
	a, one, stop := NewAlarms(), NewAlarm(), make(chan struct{})
	close(stop)
	for range 3 { // a hold that the end cut short, the pause after it, ...
		a.Sleep(time.Microsecond, one, stop)
	}
	a.mu.Lock()
	require.Empty(t, a.heap)
	a.mu.Unlock()
	a.Close()
}

func TestSleepersInABubbleUseItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAlarms()
		defer a.Close()
		start := time.Now()
		a.Sleep(time.Hour, NewAlarm(), nil)
		require.Equal(t, time.Hour, time.Since(start))
	})
}

func TestASleepEndsAlsoWhereThePollerIsNotAsked(t *testing.T) {
	a, one := &Alarms{fd: -1}, NewAlarm() // nobody rings
	for range 3 {
		start := time.Now()
		a.Sleep(time.Millisecond, one, nil)
		require.GreaterOrEqual(t, time.Since(start), time.Millisecond)
		require.Empty(t, a.heap)
	}
}
