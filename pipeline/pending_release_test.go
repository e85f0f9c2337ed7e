package pipeline

import (
	"fmt"
	"slices"
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
)

// Pending releases must be sent whatever else goes on.

func TestPendingReleasesAreSentUnderLoad(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		late := b.fakes[2]
		late.hold(true)
		out := b.mustAcquire("a")
		b.p.Post(releaseOf("a", out.Origin))
		time.Sleep(time.Second)
		require.Equal(t, 3, b.up())
		late.hold(false) // executes the acquire after its release
		synctest.Wait()
		require.Equal(t, []string{"a"}, late.keys())
		late.set(func() { late.delay = 5 * time.Millisecond }) // so there is always a round that waits for it
		for i, end := 0, time.Now().Add(5*time.Second); time.Now().Before(end); i++ {
			b.cycle(fmt.Sprint("name", i))
		}
		require.NotContains(t, late.keys(), "a", "five seconds later")
	})
}

func TestReleaseThatBecomesPendingDuringTheTrialIsSentBeforeAdmission(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.cfg.Timeout = time.Second
		b.started()
		f := b.fakes[2]
		origin := b.mustAcquire("held").Origin
		time.Sleep(10 * time.Millisecond)
		before := f.connections()
		f.cut()
		f.set(func() { f.delay = 50 * time.Millisecond })
		b.cycle("meets the cut")
		onTrial := func(arg string) bool { return strings.HasPrefix(arg, ReservedPrefix+"trial:") }
		for !slices.ContainsFunc(f.since(before), func(l logged) bool { return slices.ContainsFunc(l.args, onTrial) }) {
			time.Sleep(time.Millisecond)
		}
		require.Equal(t, 2, b.up(), "the trial is under way")
		b.mustRelease("held", origin)
		// This call waits for a second idle master: this one, once it is admitted.
		b.fakes[1].set(func() { b.fakes[1].delay = 600 * time.Millisecond })
		first := side(func() { b.mustAcquire("first") })
		time.Sleep(10 * time.Millisecond)
		b.mustAcquire("second")
		first()
		time.Sleep(time.Second)
		position := make(map[string]int)
		for i, l := range f.since(before) {
			for _, arg := range l.args {
				if _, seen := position[arg]; !seen {
					position[arg] = i
				}
			}
		}
		require.Contains(t, position, "held")
		require.Contains(t, position, "second")
		require.Less(t, position["held"], position["second"])
	})
}

// A release that failed was not executed, whether its master is set aside for that or not.
func TestReleaseThatFailedIsSentAgain(t *testing.T) {
	for _, fault := range []string{"BUSY", "ERR"} {
		overMasters(t, 3, func(t *testing.T, b *bubble) {
			f := b.fakes[2]
			origin := b.mustAcquire("a").Origin
			time.Sleep(10 * time.Millisecond)
			f.answer(func(args []string) string {
				if args[0] == "EVALSHA" {
					f.hook = nil
					return "-" + fault + " for a test\r\n"
				}
				return ""
			})
			b.mustRelease("a", origin)
			time.Sleep(10 * time.Millisecond)
			require.Equal(t, []string{"a"}, f.keys())
			time.Sleep(time.Second)
			b.untilUp(3)
			b.requireNoKeys()
		})
	}
}

func TestManyPendingReleasesAreSentInSeveralCommands(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		f := b.fakes[2]
		const locks = 2*conn.FoldMax + 100
		var callers sync.WaitGroup
		rounds := make([]Origin, locks)
		for i := range locks {
			callers.Go(func() { rounds[i] = b.mustAcquire(fmt.Sprint("name", i)).Origin })
		}
		callers.Wait()
		time.Sleep(10 * time.Millisecond)
		f.leave()
		b.untilUp(2)
		for i, origin := range rounds {
			b.p.Post(releaseOf(fmt.Sprint("name", i), origin))
		}
		time.Sleep(time.Second)
		require.Equal(t, locks, b.p.Stats().Masters[2].PendingReleases)
		f.comeBack()
		b.untilUp(3)
		require.Empty(t, f.keys(), "sent before it was admitted")
		require.EqualValues(t, locks, b.p.Stats().Masters[2].PendingDeleted)
		require.Equal(t, locks, b.p.Stats().Masters[2].PendingReleases, "the second releases")
		time.Sleep(3 * time.Second)
		require.Zero(t, b.p.Stats().Masters[2].PendingReleases)
	})
}

func TestPendingBatchThatIsNotAnsweredStartsOver(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		f := b.fakes[2]
		origin := b.mustAcquire("a").Origin
		time.Sleep(10 * time.Millisecond)
		var lost atomic.Int32
		f.set(func() {
			f.hook = func(args []string) string {
				if args[0] == "EVALSHA" && slices.Contains(args, "a") && lost.Load() < 3 {
					lost.Add(1)
					f.cutLocked()
				}
				return ""
			}
			f.cutLocked()
		})
		b.cycle("meets the cut")
		b.mustRelease("a", origin)
		time.Sleep(10 * time.Second)
		require.EqualValues(t, 3, lost.Load())
		require.Equal(t, 3, b.up())
		require.GreaterOrEqual(t, len(f.commands("a")), 1+3+2)
		b.requireNoKeys()
		require.Zero(t, b.p.Stats().Masters[2].PendingReleases)
	})
}

// requireReleased has a master leave, releases locks meanwhile, and asserts how many releases are pending for the master and
// that no lock is left after it came back.
func (b *bubble) requireReleased(away, pending int, locks map[string]Origin) {
	b.Helper()
	b.fakes[away].leave()
	b.untilUp(len(b.fakes) - 1)
	for name, origin := range locks {
		b.mustRelease(name, origin)
	}
	require.Equal(b, pending, b.p.Stats().Masters[away].PendingReleases)
	b.fakes[away].comeBack()
	b.untilUp(len(b.fakes))
	b.requireNoKeys()
}

// A master that has caught up is asked in all rounds again, so it needs the releases of later locks.
func TestLockTakenAfterAMasterCaughtUpIsReleasedThere(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.cfg.Timeout = time.Second
		b.started()
		m, f := b.p.masters[2], b.fakes[2]
		f.hold(true)
		first, second := b.mustAcquire("first").Origin, b.mustAcquire("second").Origin
		b.p.mu.Lock()
		assert.NotEmpty(t, m.unsent)
		m.behind = true
		m.pending.LeaveOut(b.p.seq + 1)
		b.p.mu.Unlock()
		f.hold(false)
		time.Sleep(100 * time.Millisecond)
		b.p.mu.Lock()
		assert.False(t, m.behind)
		b.p.mu.Unlock()
		later := b.mustAcquire("later").Origin
		time.Sleep(100 * time.Millisecond)
		b.requireReleased(2, 3, map[string]Origin{"first": first, "second": second, "later": later})
	})
}

// A round that waits whole for a master which goes away is one that left the master out.
func TestLockWhoseAcquireWasNeverSentIsNotReleasedThere(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.cfg.Timeout = time.Second
		b.started()
		f := b.fakes[2]
		f.hold(true)
		sent, unsent := b.mustAcquire("sent").Origin, b.mustAcquire("unsent").Origin
		b.requireReleased(2, 1, map[string]Origin{"sent": sent, "unsent": unsent})
	})
}

// A release that waits for a master is sent on the next connection if this one ends.
func TestReleaseThatWaitsWhenTheConnectionEndsIsSentOnTheNext(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.cfg.Timeout = time.Second
		b.started()
		f := b.fakes[2]
		origin := b.mustAcquire("a").Origin
		time.Sleep(10 * time.Millisecond)
		f.hold(true)
		b.mustAcquire("in front")
		b.mustRelease("a", origin)
		require.NotZero(t, b.p.Stats().Masters[2].Backlog)
		f.cut()
		b.untilUp(2)
		b.untilUp(3)
		require.Empty(t, f.keys())
	})
}

// Another process acquired the lock: it may be on a master that this pipeline never asked anything.
func TestReleaseOfAnotherProcessesLockIsPendingAtAMasterThatWasNeverAsked(t *testing.T) {
	for name, away := range map[string]func(t *testing.T, b *bubble, f *fake){
		"away since New": func(_ *testing.T, b *bubble, f *fake) {
			f.refuse = true
			b.started()
		},
		"away before the first round": func(_ *testing.T, b *bubble, f *fake) {
			b.started()
			f.leave()
			b.untilUp(2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b *bubble) {
				for _, f := range b.fakes {
					f.data["a"] = value{"token of a", time.Now().Add(hour)}
				}
				f := b.fakes[2]
				away(t, b, f)
				require.Equal(t, quorum.Won, b.mustRelease("a", OriginForeign).Verdict)
				require.Equal(t, 1, b.p.Stats().Masters[2].PendingReleases)
				f.comeBack()
				b.untilUp(3)
				b.requireNoKeys()
			})
		})
	}
}
