package pipeline

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/redlock"
	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/wakeup"
)

func TestWithoutAQuorumThatPushesAwaitPolls(t *testing.T) {
	for _, command := range []string{"CLIENT TRACKING", "CLIENT CACHING", "PTTL"} {
		t.Run(command, func(t *testing.T) {
			overMasters(t, 5, func(t *testing.T, b *bubble) {
				hold("a", b.fakes, hour)
				setAll(b.fakes[:2], func(f *fake) { f.hook = refusing(command) })
				a := b.await("a", time.Second)
				a.requireWaiting(time.Minute)
				free("a", b.fakes[2:])
				a.requireWokenWithin(time.Now(), 0)

				hold("b", b.fakes, hour)
				for _, f := range b.fakes[2:3] {
					f.set(func() { f.hook = refusing(command) })
					f.cut()
				}
				b.untilUp(5)
				var notVoting []time.Duration
				for range 30 {
					start := time.Now()
					a := b.await("b", time.Second)
					a.requireWokenWithin(start.Add(500*time.Millisecond), time.Second+2*time.Millisecond) // from the answer to a read on
					notVoting = append(notVoting, a.at.Sub(start))
				}
				require.Greater(t, slices.Max(notVoting)-slices.Min(notVoting), 500*time.Millisecond, "jitter: %v", notVoting)

				if command != "PTTL" {
					start := time.Now()
					hold("c", b.fakes, 70*time.Millisecond)
					b.await("c", time.Second).requireWoken(start.Add(70 * time.Millisecond))
					b.await("c", hour).requireWokenWithin(time.Now(), 5*time.Millisecond) // absent
				}
				b.requireNothingAwaited()
			})
		})
	}
}

// Each refusal by an ACL is an entry of the server's ACL LOG.
func TestTrackingThatWasRefusedIsNotAskedForAtEachConnection(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		f := b.fakes[0]
		setAll(b.fakes, func(f *fake) { f.hook = refusing("CLIENT TRACKING") })
		hold("a", b.fakes, 3*hour)
		wait := func() {
			a := b.await("a", hour)
			a.requireWaiting(time.Second)
			a.cancel()
		}
		connections := f.connections()
		for range 5 {
			wait()
			time.Sleep(2*wakeup.KeepTracking + time.Second)
		}
		require.Len(t, f.commands("TRACKING"), 1)
		require.Equal(t, connections+1+5, f.connections())

		setAll(b.fakes, func(f *fake) { f.hook = nil })
		time.Sleep(hour)
		wait()
		require.Equal(t, 3, b.tracking(), "it is asked for again")
	})
}

// Two waiters that take turns keep the subscription alive. What was read for the first is old when
// the second comes back.
func TestNewWaiterReadsAgainWhatNobodyWouldPush(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		setAll(b.fakes, func(f *fake) { f.hook = refusing("CLIENT TRACKING") })
		hold("a", b.fakes, 100*time.Millisecond)
		first := b.await("a", 10*time.Second)
		first.requireWaiting(10 * time.Millisecond)
		setAll(b.fakes, func(f *fake) { f.extendLocked("a", "token of a", fmt.Sprint(hour.Milliseconds())) })
		second := b.await("a", 10*time.Second)
		second.requireWaiting(time.Second)
		first.requireWaiting(0)
		second.requireWokenWithin(time.Now(), 15*time.Second)
	})
}

func TestReleaseWhileConnectionsAreLostIsNotMissed(t *testing.T) {
	for _, fault := range []string{"cut", "restart", "hang", "refuse"} {
		t.Run(fault, func(t *testing.T) {
			overMasters(t, 5, func(t *testing.T, b *bubble) {
				hold("a", b.fakes, hour)
				a := b.await("a", hour)
				a.requireWaiting(time.Minute)
				start := time.Now()
				for _, f := range b.fakes {
					switch fault {
					case "cut":
						f.cut()
					case "restart":
						f.restart()
					case "hang":
						f.hold(true)
					case "refuse":
						f.leave()
					}
					f.set(func() { clear(f.tracked); f.releaseLocked("a", "token of a") })
				}
				if fault == "refuse" {
					a.requireWaiting(time.Minute)
					for _, f := range b.fakes {
						require.Less(t, len(f.dials), 150, "pauses grow")
						f.comeBack()
					}
					start = time.Now()
				}
				a.requireWokenWithin(start, conn.IdlePing+testTimeout+3*redlock.LongestRedial/2)
				each(b.fakes, func(f *fake) { f.hold(false) })
				b.untilUp(5)
			})
		})
	}
}

func TestReadThatIsNeverAnsweredEndsItsConnection(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		hold("a", b.fakes, hour)
		for _, f := range b.fakes {
			f.answer(func(args []string) string {
				if args[0] == "PTTL" {
					for _, c := range f.conns {
						c.mute = true
					}
					f.hook = nil
				}
				return ""
			})
		}
		start := time.Now()
		a := b.await("a", hour)
		a.requireWaiting(100 * time.Millisecond)
		require.Equal(t, 2, b.fakes[0].connections())
		free("a", b.fakes)
		a.requireWokenWithin(start, 2*conn.IdlePing)
		b.untilUp(3)
	})
}

func TestLostConnectionIsReplacedWhenSomebodyWaits(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		b.await("a", hour).requireWokenWithin(time.Now(), 5*time.Millisecond)
		require.Equal(t, 3, b.tracking())
		time.Sleep(wakeup.KeepTracking / 2)
		each(b.fakes, (*fake).cut)
		b.untilUp(3)
		time.Sleep(time.Minute)
		require.Zero(t, b.tracking())
		require.Equal(t, 3, b.fakes[0].connections(), "one for votes, one lost, and one again for votes")
		b.await("a", hour).requireWokenWithin(time.Now(), 5*time.Millisecond)
		require.Equal(t, 3, b.tracking())
	})
}

func TestMasterThatIsNotFitIsReadAgainLater(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		hold("a", b.fakes, hour)
		setAll(b.fakes, func(f *fake) { f.hook = answering("-LOADING Redis is loading the dataset in memory\r\n", "PTTL") })
		a := b.await("a", hour)
		a.requireWaiting(time.Minute)
		require.Less(t, b.fakes[0].connections(), 150, "pauses grow")
		setAll(b.fakes, func(f *fake) { f.hook = nil; f.releaseLocked("a", "token of a") })
		a.requireWokenWithin(time.Now(), 2*redlock.LongestRedial)
	})
}
