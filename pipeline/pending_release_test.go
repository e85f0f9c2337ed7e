package pipeline

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
	"muxlock/pipeline/internal/conn"
	"muxlock/scripts"
)

// Pending releases must be sent whatever else goes on.

func TestPendingReleasesAreSentUnderLoad(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.started()
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
		for len(f.commands(scripts.Batch.SHA1)) < 2 { // it sends the release of the last call
			time.Sleep(time.Millisecond)
		}
		time.Sleep(10 * time.Millisecond)
		require.Equal(t, 2, b.up(), "the trial is under way")
		_, err := b.release("held", origin)
		require.NoError(t, err)
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

func TestAcquireInFlightOfAMasterThatFellBehindStaysInDoubt(t *testing.T) {
	const lease = 5 * time.Second
	for name, requests := range map[string]int{"behind": maxBacklog + 100, "not behind": 100} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b *bubble) {
				b.cfg.Timeout = 10 * time.Second
				b.started()
				f := b.fakes[2]
				f.hold(true)
				f.set(func() { f.refuse = true })
				out, err := b.p.Do(context.Background(), Request{Op: Acquire, Name: "a", Token: "t", TTL: lease})
				require.NoError(t, err)
				require.Equal(t, quorum.Won, out.Verdict)
				time.Sleep(10 * time.Millisecond)
				for i := range requests { // of locks that it cannot have
					b.p.Post(releaseOf(fmt.Sprint("name", i), conn.InRound(1<<40)))
				}
				time.Sleep(time.Second)
				b.mustAcquire("sets it aside")
				out, err = b.p.Do(context.Background(), Request{Op: Release, Name: "a", Token: "t", TTL: lease, Origin: out.Origin})
				require.NoError(t, err)
				require.Equal(t, quorum.Won, out.Verdict)
				time.Sleep(12 * time.Second)
				f.hold(false) // the old connection's bytes are executed: the lease starts now
				synctest.Wait()
				require.Contains(t, f.keys(), "a")
				f.set(func() { f.refuse = false })
				b.untilUp(3)
				time.Sleep(time.Second)
				require.NotContains(t, f.keys(), "a", "its release was forgotten")
			})
		})
	}
}

// An acquire and its release go out in one write, and only the acquire's bytes arrive.
func TestReleaseThatDiedWithItsAcquireIsNotForgotten(t *testing.T) {
	const lease = 5 * time.Second
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.cfg.Timeout = time.Second
		b.started()
		f := b.fakes[2]
		f.set(func() { f.delay = 100 * time.Millisecond })
		b.mustAcquire("keeps it busy")
		out, err := b.p.Do(context.Background(), Request{Op: Acquire, Name: "a", Token: "t", TTL: lease})
		require.NoError(t, err)
		_, err = b.p.Do(context.Background(), Request{Op: Release, Name: "a", Token: "t", TTL: lease, Origin: out.Origin})
		require.NoError(t, err)
		time.Sleep(150 * time.Millisecond)
		f.hold(true)
		f.set(func() {
			f.refuse = true
			f.hook = func(args []string) string {
				if args[0] == "EVALSHA" && args[1] == scripts.Release.SHA1 && args[3] == "a" {
					return ":0\r\n" // never arrived
				}
				return ""
			}
		})
		time.Sleep(2 * time.Second)
		require.Equal(t, 2, b.up())
		time.Sleep(2 * lease)
		f.hold(false)
		time.Sleep(time.Second)
		require.Contains(t, f.keys(), "a", "executed late")
		f.set(func() { f.refuse = false })
		b.untilUp(3)
		time.Sleep(time.Second)
		require.NotContains(t, f.keys(), "a", "its release was forgotten")
	})
}

func TestRepeatedAcquireIsStillFollowedByItsRelease(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.started()
		f := b.fakes[0]
		// Scripts were flushed, and another process has loaded some of them again.
		f.set(func() {
			f.delay = 20 * time.Millisecond
			delete(f.loaded, scripts.Batch.SHA1)
		})
		blocker := side(func() { b.mustAcquire("blocker") })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 1500*time.Microsecond)
		defer cancel()
		var callers sync.WaitGroup
		callers.Go(func() {
			_, err := b.acquire(ctx, "a")
			assert.ErrorIs(t, err, context.DeadlineExceeded)
		})
		for i := range conn.FoldFrom {
			callers.Go(func() { b.mustAcquire(fmt.Sprint("name", i)) })
		}
		callers.Wait()
		blocker()
		time.Sleep(5 * time.Second)
		for _, f := range b.fakes {
			require.NotContains(t, f.keys(), "a", f.address)
		}
	})
}

// A release that failed was not executed, whether its master is set aside for that or not.
func TestReleaseThatFailedIsSentAgain(t *testing.T) {
	for _, fault := range []string{"BUSY", "ERR"} {
		inBubble(t, 3, func(t *testing.T, b *bubble) {
			b.started()
			f := b.fakes[2]
			origin := b.mustAcquire("a").Origin
			time.Sleep(10 * time.Millisecond)
			f.set(func() {
				f.hook = func(args []string) string {
					if args[0] == "EVALSHA" {
						f.hook = nil
						return "-" + fault + " for a test\r\n"
					}
					return ""
				}
			})
			_, err := b.release("a", origin)
			require.NoError(t, err)
			time.Sleep(10 * time.Millisecond)
			require.Equal(t, []string{"a"}, f.keys())
			time.Sleep(time.Second)
			b.untilUp(3)
			b.requireNoKeys()
		})
	}
}

func TestInDoubtEndsWithTheDeadPeerTime(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.started()
		f := b.fakes[2]
		f.set(func() { f.stalled = true })
		b.cycle("a")
		time.Sleep(time.Second)
		f.set(func() { f.stalled = false })
		b.untilUp(3)
		time.Sleep(5 * time.Second)
		b.cycle("b")
		time.Sleep(5 * time.Second)
		b.p.mu.Lock()
		defer b.p.mu.Unlock()
		require.False(t, b.p.masters[2].pending.InDoubt(), "every later round is searched for releases that they concern")
		require.Zero(t, b.p.masters[2].pending.Len())
	})
}

func TestPendingReleasesOfAMasterThatStaysAwayAreForgottenWithTheirLeases(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.started()
		f := b.fakes[2]
		var rounds []Origin
		for i := range 1000 {
			out, err := b.p.Do(context.Background(), Request{Op: Acquire, Name: fmt.Sprint("name", i), Token: "t", TTL: time.Second})
			require.NoError(t, err)
			rounds = append(rounds, out.Origin)
		}
		f.set(func() { f.refuse = true })
		f.cut()
		b.cycle("meets the cut")
		for i, origin := range rounds {
			b.p.Post(Request{Op: Release, Name: fmt.Sprint("name", i), Token: "t", TTL: time.Second, Origin: origin})
		}
		time.Sleep(time.Minute)
		require.LessOrEqual(t, b.p.Stats().Masters[2].PendingReleases, 2)
	})
}

func TestManyPendingReleasesAreSentInSeveralCommands(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.started()
		f := b.fakes[2]
		const locks = 2*conn.FoldMax + 100
		var callers sync.WaitGroup
		rounds := make([]Origin, locks)
		for i := range locks {
			callers.Go(func() { rounds[i] = b.mustAcquire(fmt.Sprint("name", i)).Origin })
		}
		callers.Wait()
		time.Sleep(10 * time.Millisecond)
		f.set(func() { f.refuse = true })
		f.cut()
		b.untilUp(2)
		for i, origin := range rounds {
			b.p.Post(releaseOf(fmt.Sprint("name", i), origin))
		}
		time.Sleep(time.Second)
		require.Equal(t, locks, b.p.Stats().Masters[2].PendingReleases)
		f.set(func() { f.refuse = false })
		b.untilUp(3)
		require.Empty(t, f.keys(), "sent before it was admitted")
		require.EqualValues(t, locks, b.p.Stats().Masters[2].PendingDeleted)
		require.Equal(t, locks, b.p.Stats().Masters[2].PendingReleases, "the second releases")
		time.Sleep(3 * time.Second)
		require.Zero(t, b.p.Stats().Masters[2].PendingReleases)
	})
}

func TestPendingBatchThatIsNotAnsweredStartsOver(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.started()
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
		_, err := b.release("a", origin)
		require.NoError(t, err)
		time.Sleep(10 * time.Second)
		require.EqualValues(t, 3, lost.Load())
		require.Equal(t, 3, b.up())
		require.GreaterOrEqual(t, len(f.commands("a")), 1+3+2)
		b.requireNoKeys()
		require.Zero(t, b.p.Stats().Masters[2].PendingReleases)
	})
}

func TestCausesAreThoseOfTheUnknownVotes(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.started()
		for i, f := range b.fakes {
			f.set(func() {
				f.delay = time.Duration(i+1) * time.Millisecond
				f.hook = func(args []string) string {
					if args[0] == "SET" && (args[1] == "bad on m0") == (i == 0) && args[1] != "blocker" {
						return "-NOPERM this name\r\n"
					}
					return ""
				}
			})
		}
		blocker := side(func() { b.mustAcquire("blocker") })
		synctest.Wait()
		other := side(func() { b.mustAcquire("bad on m0") })
		out, err := b.acquire(context.Background(), "bad on m1 and m2")
		require.NoError(t, err)
		blocker()
		other()
		require.Equal(t, quorum.NoQuorum, out.Verdict)
		require.Equal(t, quorum.Tally{Granted: 1, Unknown: 2}, out.Tally)
		var masters []string
		for _, c := range out.Causes {
			masters = append(masters, c.Master)
		}
		require.Equal(t, []string{"m1", "m2"}, masters)
	})
}

// Releases of a master that is behind are pending. Releases on the wire, or still waiting for it,
// come before repeats.
func TestAcquireIsNotRepeatedBehindItsPendingRelease(t *testing.T) {
	for _, others := range []int{0, 3 * conn.FoldMax} {
		inBubble(t, 3, func(t *testing.T, b *bubble) {
			b.cfg.Timeout = 40 * time.Millisecond
			b.native(allNative)
			b.started()
			m, f := b.p.masters[2], b.fakes[2]
			require.Less(t, m.pace.Budget(), conn.FoldMax, "a repeat waits for the pending releases on the wire")
			f.set(func() { f.data["name7"] = value{text: "another's", ends: time.Now().Add(hour)} })
			f.hold(true)
			outs := b.acquireTogether(numbered(20)...)
			b.p.mu.Lock()
			waits := len(m.unsent)
			m.behind = true
			m.pending.LeaveOut(b.p.seq + 1)
			b.p.mu.Unlock()
			require.Positive(t, waits)
			for i := range others {
				b.p.Post(releaseOf(fmt.Sprint("other", i), OriginForeign))
			}
			for i, name := range numbered(20) {
				b.p.Post(Request{Op: Release, Name: name, Token: fmt.Sprint("token ", i), TTL: hour, Origin: outs[i].Origin})
			}
			time.Sleep(20 * time.Millisecond)
			f.hold(false)
			time.Sleep(time.Second) // not yet the dead-peer time, after which they are sent once more
			require.Equal(t, []string{"name7"}, f.keys(), "%d others", others)
		})
	}
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
		require.NotEmpty(t, m.unsent)
		m.behind = true
		m.pending.LeaveOut(b.p.seq + 1)
		b.p.mu.Unlock()
		f.hold(false)
		time.Sleep(100 * time.Millisecond)
		b.p.mu.Lock()
		require.False(t, m.behind)
		b.p.mu.Unlock()
		later := b.mustAcquire("later").Origin
		time.Sleep(100 * time.Millisecond)
		f.set(func() { f.refuse = true })
		f.cut()
		b.untilUp(2)
		for name, origin := range map[string]Origin{"first": first, "second": second, "later": later} {
			_, err := b.release(name, origin)
			require.NoError(t, err)
		}
		require.Equal(t, 3, b.p.Stats().Masters[2].PendingReleases)
		f.set(func() { f.refuse = false })
		b.untilUp(3)
		b.requireNoKeys()
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
		f.set(func() { f.refuse = true })
		f.cut()
		b.untilUp(2)
		for name, origin := range map[string]Origin{"sent": sent, "unsent": unsent} {
			_, err := b.release(name, origin)
			require.NoError(t, err)
		}
		require.Equal(t, 1, b.p.Stats().Masters[2].PendingReleases)
		f.set(func() { f.refuse = false })
		b.untilUp(3)
		b.requireNoKeys()
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
		_, err := b.release("a", origin)
		require.NoError(t, err)
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
			f.set(func() { f.refuse = true })
			f.cut()
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
				out, err := b.release("a", OriginForeign)
				require.NoError(t, err)
				require.Equal(t, quorum.Won, out.Verdict)
				require.Equal(t, 1, b.p.Stats().Masters[2].PendingReleases)
				f.set(func() { f.refuse = false })
				b.untilUp(3)
				b.requireNoKeys()
			})
		})
	}
}
