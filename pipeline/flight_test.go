package pipeline

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/pace"
	"muxlock/scripts"
)

// all runs fn for n numbers side by side and waits for all.
func all(n int, fn func(i int)) {
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { fn(i) })
	}
	running.Wait()
}

func TestCallToAFarMasterWaitsForNoOther(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b *bubble) {
		b.startedAsMeasured() // a millisecond away
		all(6, func(i int) {
			time.Sleep(time.Duration(i) * 150 * time.Microsecond)
			start := time.Now()
			origin := b.mustAcquire(fmt.Sprint("name", i)).Origin
			assert.Equal(t, time.Millisecond, time.Since(start), "acquire %d", i)
			b.mustRelease(fmt.Sprint("name", i), origin)
			assert.Equal(t, 2*time.Millisecond, time.Since(start), "release %d", i)
		})
		time.Sleep(time.Millisecond) // the two slower masters of each call
		b.requireNoKeys()
		require.EqualValues(t, 12, b.p.Stats().Rounds)
	})
}

func TestReleaseNeverOvertakesItsAcquire(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.startedAsMeasured()
		b.fakes[2].set(func() { b.fakes[2].delay = 30 * time.Millisecond }) // most of it is under way there
		all(50, func(i int) {
			time.Sleep(time.Duration(i*37) * time.Microsecond)
			for k := range 10 {
				b.cycle(fmt.Sprint("name", i, " ", k))
			}
		})
		time.Sleep(time.Second)
		b.requireNoKeys()
		for _, f := range b.fakes {
			held := make(map[string]bool)
			for _, l := range f.commands("") {
				for _, e := range requestsOf(l.args) {
					require.NotEqual(t, e.op == Acquire, held[e.name], "%s: %v", f.address, e)
					held[e.name] = e.op == Acquire
				}
			}
		}
	})
}

// requestsOf returns the acquires and releases of locks of a test in a command.
func requestsOf(args []string) (found []batchEntry) {
	switch {
	case args[0] == "SET":
		found = []batchEntry{{op: Acquire, name: args[1], token: args[2]}}
	case args[0] == "EVALSHA" && args[1] == scripts.Batch.SHA1:
		found = batchEntries(args)
	case args[0] == "EVALSHA" && args[1] == scripts.Release.SHA1:
		found = []batchEntry{{op: Release, name: args[3], token: args[4]}}
	}
	kept := found[:0]
	for _, e := range found {
		if !strings.HasPrefix(e.name, ReservedPrefix) {
			kept = append(kept, e)
		}
	}
	return kept
}

func TestWindowBoundsWhatIsOnTheWay(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		for _, f := range b.fakes {
			f.delay = 20 * time.Millisecond
		}
		b.cfg.Timeout = time.Second
		b.startedAsMeasured()
		var most atomic.Int32
		all(200, func(i int) {
			time.Sleep(time.Duration(i) * 100 * time.Microsecond)
			b.mustAcquire(fmt.Sprint("name", i))
			b.p.mu.Lock()
			defer b.p.mu.Unlock()
			for _, m := range b.p.masters {
				assert.LessOrEqual(t, m.writes, m.window)
				most.Store(max(most.Load(), int32(m.writes)))
			}
		})
		require.EqualValues(t, pace.MostWindow, most.Load())
	})
}

func TestRoundLargerThanASlowMasterCanAnswerInTimeIsSentToItInPieces(t *testing.T) {
	overMasters(t, 5, func(t *testing.T, b *bubble) {
		slow := b.fakes[4]
		slow.set(func() { slow.cost = 100 * time.Microsecond }) // four times the timeout for a round of 4096
		rounds := make([]Origin, 2*mostInRound)
		all(len(rounds), func(i int) { rounds[i] = b.mustAcquire(fmt.Sprint("name", i)).Origin })
		most := 0
		for range 5000 {
			most = max(most, b.p.Stats().Masters[4].InFlight)
			time.Sleep(time.Millisecond)
		}
		require.LessOrEqual(t, most, int(float64(testTimeout/pace.BudgetPart)/pace.FirstCost)+conn.FoldMax)
		require.Len(t, slow.keys(), len(rounds))
		require.EqualValues(t, 5, b.up())
		require.Zero(t, b.p.Stats().Masters[4].SetAside)
		all(len(rounds), func(i int) {
			b.mustRelease(fmt.Sprint("name", i), rounds[i])
		})
		time.Sleep(5 * time.Second)
		b.requireNoKeys()
	})
}

func TestMasterThatFallsTooFarBehindIsSkippedAndCatchesUp(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector takes gigabytes for so many goroutines")
	}
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		slow := b.fakes[2]
		held := b.mustAcquire("held before").Origin
		slow.set(func() { slow.cost = time.Millisecond })
		const calls = maxBacklog + 2*mostInRound
		rounds := make([]Origin, calls)
		all(calls, func(i int) { rounds[i] = b.mustAcquire(fmt.Sprint("name", i)).Origin })
		stats := b.p.Stats().Masters[2]
		require.True(t, stats.Up)
		require.EqualValues(t, 1, stats.Behind)
		require.LessOrEqual(t, stats.Backlog, maxBacklog+mostInRound)
		b.mustRelease("held before", held)
		all(calls, func(i int) {
			b.mustRelease(fmt.Sprint("name", i), rounds[i])
		})
		require.Zero(t, b.p.Stats().Masters[2].SetAside)
		slow.set(func() { slow.cost = 0 })
		time.Sleep(10 * time.Second)
		b.requireNoKeys()
		b.cycle("with all three")
		time.Sleep(10 * time.Millisecond)
		require.Len(t, slow.commands("with all three"), 2)
		require.Zero(t, b.p.Stats().Masters[2].PendingReleases)
	})
}

// denies makes a fake's ACL forbid names with a prefix.
func (f *fake) denies(prefix string) {
	const answer = "-NOPERM this user has no permissions to access one of the keys used as arguments\r\n"
	f.answer(func(args []string) string {
		for _, e := range requestsOf(args) {
			if strings.HasPrefix(e.name, prefix) {
				return answer
			}
		}
		return ""
	})
}

func TestDeniedNameFailsForItsCallerAlone(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		each(b.fakes, func(f *fake) { f.denies("denied") })
		all(60, func(i int) {
			if i%20 != 7 {
				b.cycle(fmt.Sprint("name", i))
				return
			}
			name := fmt.Sprint("denied", i)
			out := b.tryAcquire(name)
			assert.Equal(t, quorum.NoQuorum, out.Verdict)
			assert.ErrorIs(t, out.Denied, ErrDenied)
			assert.ErrorContains(t, out.Denied, "NOPERM this user has no permissions to access")
			b.p.Post(releaseOf(name, out.Origin)) // as the engine does
		})
		time.Sleep(time.Second)
		b.requireNoKeys()
		for _, m := range b.p.Stats().Masters {
			require.Zero(t, m.SetAside)
			require.Zero(t, m.PendingReleases)
			require.EqualValues(t, 3, m.ReleasesDenied)
		}
	})
}

// A release that could not be sent is sent later, among others, when its name is denied.
func TestPendingReleaseOfADeniedNameIsDroppedAndOthersAreSent(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		rounds := make([]Origin, 20)
		name := func(i int) string { return []string{"name", "denied"}[i%2] + fmt.Sprint(i) }
		for i := range rounds {
			rounds[i] = b.mustAcquire(name(i)).Origin
		}
		time.Sleep(testTimeout)
		f := b.fakes[0]
		f.leave()
		for i := range rounds {
			b.mustRelease(name(i), rounds[i])
		}
		f.denies("denied")
		f.comeBack()
		b.untilUp(3)
		time.Sleep(5 * time.Second)
		require.Len(t, f.keys(), 10, "those that nobody may delete")
		stats := b.p.Stats().Masters[0]
		require.EqualValues(t, 10, stats.ReleasesDenied)
		require.EqualValues(t, 10, stats.PendingDeleted)
		require.Zero(t, stats.PendingReleases)
	})
}

func TestCallOfAnAbandonedAcquireMakesRoomAtOnce(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.cfg.Queue = 10
		b.started()
		setAll(b.fakes, func(f *fake) { f.stalled = true })
		wait := side(func() { b.cycle("under way") })
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		leave := side(func() {
			all(10, func(i int) {
				_, err := b.acquire(ctx, fmt.Sprint("leaves", i))
				assert.ErrorIs(t, err, context.Canceled)
			})
		})
		synctest.Wait()
		require.True(t, b.p.Full())
		cancel()
		leave()
		require.False(t, b.p.Full())
		require.Zero(t, b.p.Stats().Queued)
		setAll(b.fakes, func(f *fake) { f.stalled = false })
		wait()
	})
}

func TestRenewalsGoBeforeTheAcquiresThatWait(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		b.mustAcquire("kept")
		b.cost(80 * time.Microsecond)
		burst := side(func() { all(5_000, func(i int) { b.mustAcquire(fmt.Sprint("name", i)) }) })
		time.Sleep(time.Millisecond)
		start := time.Now()
		require.Equal(t, quorum.Won, b.ask(Request{Op: Extend, Name: "kept", Token: "token of kept", TTL: 2 * hour}).Verdict)
		require.Positive(t, b.p.Stats().Queued, "acquires still wait")
		require.Less(t, time.Since(start), 2*testTimeout)
		burst()
	})
}
