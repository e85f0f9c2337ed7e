package pipeline

import (
	"context"
	"fmt"
	"math/bits"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
	"muxlock/pipeline/internal/conn"
)

func TestCallTakesOneRoundTripAndLeavesNothing(t *testing.T) {
	overMasters(t, 5, func(t *testing.T, b *bubble) {
		start := time.Now()
		b.cycle("a")
		require.Equal(t, 2*time.Millisecond, time.Since(start))
		before := clock.Now()
		require.Equal(t, before, b.mustAcquire("b").Sent, "an outcome names the time before the first byte was sent")
		b.p.Post(releaseOf("b", conn.OriginForeign))
		time.Sleep(testTimeout)
		b.requireNoKeys()
		b.requireBooksBalance()
	})
}

func TestNextRoundCollectsWhileMastersAreBusy(t *testing.T) {
	overMasters(t, 5, func(t *testing.T, b *bubble) {
		start := time.Now()
		var callers sync.WaitGroup
		for i := range 100 {
			callers.Go(func() { b.mustAcquire(fmt.Sprint("name", i)) })
		}
		callers.Wait()
		stats := b.p.Stats()
		require.EqualValues(t, 2, stats.Rounds, "the first caller's, and everybody else's")
		require.EqualValues(t, 100, stats.Requests)
		require.Equal(t, 99, stats.LargestRound)
		require.Equal(t, 2*time.Millisecond, time.Since(start))
	})
}

func TestQuorumthIdleMasterFormsTheNextRound(t *testing.T) {
	overMasters(t, 5, func(t *testing.T, b *bubble) {
		for i, f := range b.fakes {
			f.set(func() { f.delay = []time.Duration{1, 2, 3, 40, 40}[i] * time.Millisecond })
		}
		start := time.Now()
		first := side(func() {
			b.mustAcquire("first")
			assert.Equal(t, 3*time.Millisecond, time.Since(start))
		})
		time.Sleep(500 * time.Microsecond)
		b.mustAcquire("second")
		first()
		require.Equal(t, 6*time.Millisecond, time.Since(start), "sent at 3 ms, when the third master fell idle")
		require.Equal(t, 4*time.Millisecond, b.fakes[0].commands("second")[0].at.Sub(start))
	})
}

func TestHungMasterCostsACallNothing(t *testing.T) {
	overMasters(t, 5, func(t *testing.T, b *bubble) {
		b.fakes[4].set(func() { b.fakes[4].stalled = true })
		start := time.Now()
		for i := range 20 {
			b.cycle(fmt.Sprint("name", i))
		}
		require.Equal(t, 40*time.Millisecond, time.Since(start))
		require.Equal(t, 39, b.p.Stats().Masters[4].Backlog, "all but the round that it has not answered")

		time.Sleep(testTimeout)
		stats := b.p.Stats().Masters[4]
		require.False(t, stats.Up)
		require.EqualValues(t, 1, stats.SetAside)
		require.ErrorIs(t, stats.Cause, os.ErrDeadlineExceeded)
		require.Zero(t, stats.Backlog)
		b.cycle("while it is away")

		b.fakes[4].set(func() { b.fakes[4].stalled = false })
		b.untilUp(5)
		before := len(b.fakes[4].commands("back"))
		b.cycle("back")
		time.Sleep(5 * time.Second) // the second releases
		require.Equal(t, before+2, len(b.fakes[4].commands("back")))
		b.requireNoKeys()
		require.Zero(t, b.p.Stats().Masters[4].PendingReleases)
	})
}

func TestSilentAndRefusedDialsAreRetriedWithGrowingPauses(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		f := b.fakes[0]
		f.set(func() { f.refuse = true; f.dials = nil })
		f.cut()
		start := time.Now()
		b.cycle("meets the cut")
		time.Sleep(30 * time.Second)
		require.False(t, b.p.Stats().Masters[0].Up)
		pause, last := 25*time.Millisecond, start
		f.set(func() {
			for i, at := range f.dials {
				if i > 0 {
					gap := at.Sub(last)
					require.GreaterOrEqual(t, gap, pause/2, "dial %d", i)
					require.LessOrEqual(t, gap, pause/2+pause, "dial %d", i)
					pause = min(2*pause, redlock.LongestRedial)
				} else {
					pause *= 2
				}
				last = at
			}
			require.Greater(t, len(f.dials), 10)
			f.refuse, f.silent, f.dials = false, true, nil
		})
		time.Sleep(30 * time.Second)
		f.set(func() {
			require.Greater(t, len(f.dials), 5)
			require.Less(t, len(f.dials), 30)
			f.silent = false
		})
		b.untilUp(3)
	})
}

func TestSlowMasterTakesAllWaitingRoundsInOneWrite(t *testing.T) {
	overMasters(t, 5, func(t *testing.T, b *bubble) {
		slow := b.fakes[4]
		slow.set(func() { slow.delay = 20500 * time.Microsecond })
		start := time.Now()
		for i := range 30 {
			b.mustAcquire(fmt.Sprint("name", i))
		}
		require.Equal(t, 30*time.Millisecond, time.Since(start))
		time.Sleep(testTimeout)
		at := make(map[time.Duration]int)
		for i := range 30 {
			at[slow.commands(fmt.Sprint("name", i))[0].at.Sub(start)]++
		}
		require.Equal(t, map[time.Duration]int{20500 * time.Microsecond: 1, 41 * time.Millisecond: 20, 61500 * time.Microsecond: 9}, at)
		require.EqualValues(t, 5, b.up())
	})
}

func TestThreeOfFiveHungIsNoQuorumWithinTwiceTheTimeout(t *testing.T) {
	overMasters(t, 5, func(t *testing.T, b *bubble) {
		setAll(b.fakes[2:], func(f *fake) { f.stalled = true })
		start := time.Now()
		var callers sync.WaitGroup
		for i := range 20 {
			callers.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				began := time.Now()
				name := fmt.Sprint("name", i)
				out := b.tryAcquire(name)
				assert.Equal(t, quorum.NoQuorum, out.Verdict)
				assert.LessOrEqual(t, time.Since(began), 2*testTimeout)
				assert.Len(t, out.Causes, 3)
				for _, c := range out.Causes {
					assert.ErrorIs(t, c, os.ErrDeadlineExceeded)
					assert.Contains(t, []string{"m2", "m3", "m4"}, c.Master)
				}
				b.p.Post(releaseOf(name, out.Origin))
			})
		}
		callers.Wait()
		require.LessOrEqual(t, time.Since(start), 400*time.Millisecond)
		for _, f := range b.fakes[2:] {
			f.set(func() { f.stalled = false }) // and executes what it was sent
		}
		b.untilUp(5)
		time.Sleep(5 * time.Second)
		b.requireNoKeys()
		b.requireNothingPending()
	})
}

func TestFullQueueRefusesAcquiresAndTakesExtendsAndReleases(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.cfg.Queue = 10
		b.started()
		held := b.mustAcquire("held").Origin
		setAll(b.fakes, func(f *fake) { f.stalled = true })
		var callers sync.WaitGroup
		for i := range 11 { // one on the wire, ten queued
			callers.Go(func() { b.mustAcquire(fmt.Sprint("name", i)) })
			synctest.Wait()
		}
		_, err := b.acquire(context.Background(), "too many")
		require.ErrorIs(t, err, ErrOverloaded)
		require.True(t, b.p.Full())
		callers.Go(func() {
			out := b.ask(Request{Op: Extend, Name: "held", Token: "token of held", TTL: hour})
			assert.Equal(t, quorum.Denied, out.Verdict, "its release goes first")
		})
		callers.Go(func() {
			assert.Equal(t, quorum.Won, b.mustRelease("held", held).Verdict)
		})
		synctest.Wait()
		stats := b.p.Stats()
		require.EqualValues(t, 1, stats.Overloaded)
		require.Equal(t, 12, stats.Queued)
		setAll(b.fakes, func(f *fake) { f.stalled = false })
		callers.Wait()
		for _, f := range b.fakes {
			require.Empty(t, f.commands("too many"))
		}
		b.cycle("room again")
	})
}

// A notified keeps the notifications of a receiver, in order.
type notified chan any

func (h notified) Decided(out Outcome) { h <- out.Verdict }

func (h notified) Counted(granted, _ uint64) { h <- bits.OnesCount64(granted) }

func (h notified) Over() bool { return false }

func TestReceiverIsNotifiedOfTheVerdictAndThenOfTheCount(t *testing.T) {
	overMasters(t, 5, func(t *testing.T, b *bubble) {
		b.mustAcquire("a")
		time.Sleep(time.Millisecond) // all five have it
		late := b.fakes[4]
		late.set(func() { late.delay = 20 * time.Millisecond })
		start := time.Now()
		h := make(notified, 3)
		extend := Request{Op: Extend, Name: "a", Token: "token of a", TTL: hour}
		require.NoError(t, b.p.Start(extend, h))
		require.Equal(t, quorum.Won, <-h)
		require.Equal(t, time.Millisecond, time.Since(start))
		require.Equal(t, 5, <-h)
		require.Equal(t, 20*time.Millisecond, time.Since(start))

		b.fakes[0].set(func() { delete(b.fakes[0].data, "a") })
		late.set(func() { late.stalled = true })
		require.NoError(t, b.p.Start(extend, h))
		require.Equal(t, quorum.Won, <-h)
		require.Equal(t, 3, <-h, "one has lost it, one is silent")
		late.set(func() { late.stalled = false })
		b.p.Close()
		require.ErrorIs(t, b.p.Start(extend, h), ErrClosed)
		require.Empty(t, h)
	})
}
