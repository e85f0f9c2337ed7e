package pipeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
)

// replicate makes the fake a replica of a server that has nothing, and promote a master again.
func (f *fake) replicate() {
	f.set(func() {
		f.replication = dataSet("slave", "data of another", "-1")
		f.received += "0175"
		clear(f.data)
	})
}

func (f *fake) promote(id string) { f.set(func() { f.replication = dataSet("master", id, "51") }) }

func TestMasterThatWasAReplicaMeanwhileMakesNoSecondHolder(t *testing.T) {
	for name, wait := range map[string]time.Duration{"between two checks": 0, "for a while": idlePeriod} {
		for _, durable := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", durable ", durable), func(t *testing.T) {
				inBubble(t, 3, func(t *testing.T, b *bubble) {
					var c changes
					b.cfg.Wait, b.cfg.MastersAreDurable, b.cfg.Changed = testWait, durable, c.add
					b.cfg.MastersAreNew = true
					b.started()
					b.mustAcquire("a")
					time.Sleep(time.Second + tickPeriod/2) // not at the instant of a check
					begin := time.Now()
					each(b.fakes[:2], (*fake).replicate)
					time.Sleep(wait)
					for i, f := range b.fakes[:2] {
						f.promote(fmt.Sprint("new", i))
					}
					time.Sleep(2 * tickPeriod)
					for i := range 20 {
						require.NotEqual(t, quorum.Won, b.try("a", fmt.Sprint("second", i)).Verdict)
						time.Sleep(100 * time.Millisecond)
					}
					require.Equal(t, 3, b.up())
					for i, f := range b.fakes[:2] {
						require.Empty(t, f.keys())
						require.GreaterOrEqual(t, b.votesFrom(i).Sub(begin), testWait)
						require.Less(t, b.votesFrom(i).Sub(begin), wait+testWait+4*time.Second)
					}
					got := c.take()
					require.Len(t, got, 4, "two set aside, two back")
					for _, change := range got {
						if wait > 0 && !change.up {
							require.EqualError(t, change.cause, "check: is a replica (role slave), not a master")
						} else {
							require.ErrorIs(t, change.cause, ErrRestarted)
							require.ErrorContains(t, change.cause, "was a replica meanwhile")
						}
					}
				})
			})
		}
	}
}

func TestMasterUnderLoadIsCheckedWithinATick(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		b.fakes[0].replicate()
		for i, end := 0, time.Now().Add(2*tickPeriod); time.Now().Before(end); i++ {
			b.cycle(fmt.Sprint("name", i))
		}
		require.Equal(t, 2, b.up())
		require.EqualError(t, b.p.Stats().Masters[0].Cause, "is a replica (role slave), not a master")
	})
}

// The check of an idle master was executed before, and is answered with the acquire.
func TestMasterThatWasAReplicaWhileACheckIsUnderWayMakesNoSecondHolder(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.cfg.Wait, b.cfg.MastersAreNew, b.cfg.Timeout = testWait, true, 2*time.Second
		b.started()
		b.mustAcquire("a")
		time.Sleep(idlePeriod - tickPeriod)
		unheard := func(on bool) {
			setAll(b.fakes[:2], func(f *fake) { f.unheard = on })
		}
		unheard(true)
		time.Sleep(3 * tickPeriod)
		for i, f := range b.fakes[:2] {
			checks := f.commands("stats")
			require.Less(t, time.Since(checks[len(checks)-1].at), 3*tickPeriod, "under way")
			f.replicate()
			f.promote(fmt.Sprint("new", i))
		}
		second := make(chan Outcome)
		go func() { second <- b.try("a", "second") }()
		time.Sleep(tickPeriod)
		unheard(false)
		require.NotEqual(t, quorum.Won, (<-second).Verdict)
		b.untilUp(3)
		require.NotZero(t, b.votesFrom(0))
		require.NotZero(t, b.votesFrom(1))
	})
}
