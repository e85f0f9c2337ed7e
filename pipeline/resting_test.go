package pipeline

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
)

// idleFrom returns a function that sleeps until connections are idle, and half way between two ticks: these may send a check.
func idleFrom(begin time.Time) func() {
	return func() {
		time.Sleep(2*redlock.LongestRedial + tickPeriod*3/2 - time.Since(begin)%tickPeriod)
	}
}

func TestIdleConnectionsThatEndAreNoEvent(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		var c changes
		b.cfg.Changed = c.add
		vote := func() {
			for _, m := range b.p.Stats().Masters {
				require.True(t, m.Up)
				require.NoError(t, m.Cause)
				require.Zero(t, m.SetAside)
			}
		}
		idle := idleFrom(time.Now())
		b.started()
		for range 3 {
			idle()
			each(b.fakes, (*fake).cut)
			synctest.Wait()
			require.Zero(t, b.up())
			vote()
			require.NoError(t, b.p.Ready(t.Context()))
			b.untilUp(3)
			synctest.Wait()
			for _, got := range c.take() {
				require.Equal(t, change{got.master, true, ErrReconnected}, got)
			}
			vote()
		}
		require.Len(t, b.fakes[0].dialTimes(), 4, "once each")
	})
}

func TestRoundWaitsForTheDialOfRestingMastersThatItNeeds(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		idle := idleFrom(time.Now())
		b.started()
		for range 20 {
			idle()
			each(b.fakes, (*fake).cut)
			synctest.Wait()
			begin := time.Now()
			b.cycle("a")
			require.Less(t, time.Since(begin), redlock.FirstRedial/2, "it wakes them")
		}
	})
}

func TestRoundDoesNotWaitForServersThatHaveStopped(t *testing.T) {
	for longest, stop := range map[time.Duration]func(*fake){
		redlock.FirstRedial / 2:          (*fake).leave,
		2*testTimeout + time.Millisecond: func(f *fake) { f.set(func() { f.silent = true; f.cutLocked() }) },
	} {
		inBubble(t, 3, func(t *testing.T, b *bubble) {
			var c changes
			b.cfg.Changed = c.add
			idle := idleFrom(time.Now())
			b.started()
			idle()
			each(b.fakes[:2], stop)
			synctest.Wait()
			begin := time.Now()
			require.Equal(t, quorum.NoQuorum, b.tryAcquire("a").Verdict)
			require.Less(t, time.Since(begin), longest)
			time.Sleep(2 * time.Second)
			require.Len(t, c.take(), 2, "now they are away")
			for _, m := range b.p.Stats().Masters[:2] {
				require.False(t, m.Up)
				require.EqualValues(t, 1, m.SetAside)
			}
		})
	}
}
