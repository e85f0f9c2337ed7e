package pipeline

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/line"
	"muxlock/internal/quorum"
	"muxlock/internal/testing/await"
	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/membership"
	"muxlock/scripts"
)

func TestFencedMasterIsReportedWhenItIsKnownHowLongItWaitsAndWhenItVotes(t *testing.T) {
	overFencedMasters(t, 3, func(t *testing.T, b *fencedBubble) {
		time.Sleep(time.Minute)
		require.Empty(t, b.changes.take(), "all have voted since New")
		b.servers[0].Restart()
		time.Sleep(5 * time.Second)
		got := b.changes.take()
		require.Len(t, got, 2)
		require.Equal(t, []bool{false, true}, []bool{got[0].up, got[1].up})
		require.ErrorIs(t, got[1].cause, ErrRestarted)
		require.ErrorContains(t, got[1].cause, "no vote for another")
		for b.admitted() != 0b111 {
			require.Empty(t, b.changes.take())
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Minute)
		require.Equal(t, []change{{"m0", true, nil}}, b.changes.take())
	})
}

// One process admits a master, and each that tries reads the registers of all others. So they do not try at the moment at which
// the wait ends for all of them.
func TestProcessesDoNotAdmitAMasterAtTheSameMoment(t *testing.T) {
	overFencedMasters(t, 3, func(t *testing.T, b *fencedBubble) {
		const times = 10
		atOnce := 0
		asked := func() int {
			b.mu.Lock()
			defer b.mu.Unlock()
			return len(b.log)
		}
		for range times {
			b.servers[0].Restart()
			await.True(t, func() bool { return !b.p.Stats().Masters[0].VotesFrom.IsZero() })
			time.Sleep(time.Until(b.p.Stats().Masters[0].VotesFrom) - 1)
			before := asked()
			time.Sleep(time.Millisecond)
			if asked() > before {
				atOnce++
			}
			await.Within(t, time.Minute, func() bool { return b.admitted() == 0b111 })
			time.Sleep(time.Minute)
		}
		require.Less(t, atOnce, times/2, "a tick may be just then")
	})
}

func TestMasterThatWaitsAndAMajorityThatIsLostAreAskedSeldom(t *testing.T) {
	for lost, period := range map[int]time.Duration{1: idlePeriod, 2: stuckPeriod} {
		inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
			b.setup.Wait = time.Minute
			b.started()
			for i := range lost {
				b.servers[i].Restart()
			}
			time.Sleep(5 * time.Second)
			if lost == 2 { // none can restore another
				time.Sleep(b.setup.Wait)
			}
			asked := func() (n int) {
				b.mu.Lock()
				defer b.mu.Unlock()
				for _, s := range b.log {
					if s.master == 0 {
						n++
					}
				}
				return n
			}
			const checked = 40 * time.Second
			before := asked()
			time.Sleep(checked)
			require.InDelta(t, 3*checked/period+2*checked/idlePeriod, asked()-before, 10, "%d lost", lost)
		})
	}
}

func TestSetIsTakenFromAQuorumOfItsMembersOnly(t *testing.T) {
	for shown, ok := range map[int]bool{1: false, 2: true} {
		inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
			require.NoError(t, Init(t.Context(), b.setup))
			for i := shown; i < 3; i++ {
				b.servers[i].Restart()
			}
			p, err := New(t.Context(), Config{
				Masters: b.setup.Masters, Timeout: testTimeout, Queue: 1000, Wait: testWait, MaxTTL: b.setup.MaxTTL, Fencing: true,
			})
			if b.p = p; !ok {
				require.ErrorContains(t, err, "1 of 3 masters show that they are members of the set, 2 are needed")
				return
			}
			require.NoError(t, err)
			require.EqualValues(t, 0b011, b.admitted())
		})
	}
}

// The answer that the script is missing comes after the release was sent.
func TestFencedAcquireIsNotRepeatedBehindItsRelease(t *testing.T) {
	overFencedMasters(t, 3, func(t *testing.T, b *fencedBubble) {
		var missing atomic.Bool
		missing.Store(true)
		b.answer(2, func(words []string) any {
			if (sent{2, words}).calls(scripts.FencedAcquire) && missing.Swap(false) {
				return errors.New("NOSCRIPT No matching script. Please use EVAL.")
			}
			return nil
		})
		b.p.mu.Lock()
		for _, m := range b.p.masters {
			m.window = 2 // as of one that is far
		}
		b.p.mu.Unlock()
		released := b.count(2, scripts.Release)
		b.links[2].HoldReplies(true)
		require.Equal(t, quorum.Won, b.ask(Acquire, "a").Verdict)
		require.Equal(t, quorum.Won, b.ask(Release, "a").Verdict)
		synctest.Wait()
		require.Equal(t, released+1, b.count(2, scripts.Release), "sent, and executed")
		b.links[2].HoldReplies(false)
		time.Sleep(time.Second)
		require.Empty(t, b.servers[2].Value("a"))
		require.Equal(t, 1, b.count(2, scripts.FencedAcquire))

		missing.Store(true)
		require.Equal(t, quorum.Won, b.ask(Acquire, "b").Verdict)
		time.Sleep(time.Second)
		require.NotEmpty(t, b.servers[2].Value("b"), "one that is not released is repeated")
	})
}

// An answer under another mark is of other data: it does not count, and the master is looked at.
func TestAnswerUnderAnotherMarkIsNoVoteAndSetsTheMasterAside(t *testing.T) {
	for _, q := range []Request{{Op: Acquire}, {Op: Extend}, {Op: Wait}, {Op: Acquire, Shared: true}, {Op: Extend, Shared: true}} {
		inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
			require.True(t, b.started().Lines(t.Context()))
			ask := func(op Op) Outcome {
				out := outcomeOf(t, b.p, Request{Op: op, Name: "a", Token: "t", TTL: testWait, Origin: OriginForeign, Shared: q.Shared, Line: &Line{Request: line.Request{Version: 1}}})
				return out
			}
			if q.Op == Extend {
				require.Equal(t, quorum.Won, ask(Acquire).Verdict)
			}
			time.Sleep(20 * time.Millisecond) // all masters have answered

			for i := range 2 { // a copy's: it admits the member's process, too
				b.servers[i].Set(conn.MarkKey, membership.NewMark(b.p.masters[i].server.RunID, b.p.masters[i].address))
			}
			out := ask(q.Op)
			require.Equal(t, quorum.NoQuorum, out.Verdict, "%+v", q)
			require.Len(t, out.Causes, 2)
			for _, cause := range out.Causes {
				require.ErrorContains(t, cause, conn.NotMember)
			}
			synctest.Wait()
			for i, m := range b.p.Stats().Masters {
				require.Equal(t, i < 2, m.SetAside == 1, "%d: %+v", i, m)
			}
			time.Sleep(2 * time.Second)
			require.EqualValues(t, 0b111, b.admitted(), "whoever did it: it is a mark of the member's process")
			require.Equal(t, quorum.Won, ask(Extend).Verdict)
		})
	}
}
