package pipeline

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
)

// overNewMasters runs test with a started pipeline over three masters that have never
// granted a lock; after a restart they wait for testWait.
func overNewMasters(t *testing.T, test func(t *testing.T, b *bubble)) {
	t.Helper()
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.cfg.Wait, b.cfg.MastersAreNew = testWait, true
		b.started()
		test(t, b)
	})
}

// restarted restarts masters and waits until they are admitted again.
func (b *bubble) restarted(masters ...int) {
	b.Helper()
	for _, i := range masters {
		b.fakes[i].restart()
	}
	time.Sleep(2 * time.Second) // until the check, the pause and the probe
	require.Equal(b, len(b.fakes), b.up())
}

// try acquires with a token of its own and releases what was not won.
func (b *bubble) try(name, token string) Outcome {
	b.Helper()
	out := b.ask(Request{Op: Acquire, Name: name, Token: token, TTL: hour})
	if out.Verdict != quorum.Won {
		b.p.Post(Request{Op: Release, Name: name, Token: token, TTL: hour, Origin: out.Origin})
	}
	return out
}

func (b *bubble) votesFrom(master int) time.Time { return b.p.Stats().Masters[master].VotesFrom }

// firstInfo returns when f answered INFO first after its last restart.
func (f *fake) firstInfo(t *testing.T, since time.Time) time.Time {
	t.Helper()
	for _, l := range f.commands("INFO") {
		if len(l.args) == 1 && !l.at.Before(since) {
			return l.at
		}
	}
	require.Fail(t, "not probed")
	return time.Time{}
}

func TestMasterRestartedEmptyWithinALeaseMakesNoSecondHolder(t *testing.T) {
	overNewMasters(t, func(t *testing.T, b *bubble) {
		b.fakes[2].leave()
		b.cycle("meets the cut")
		origin := b.mustAcquire("a").Origin // on the first two
		b.fakes[2].comeBack()
		b.untilUp(3)
		b.restarted(1) // and forgets it: two of three would grant it again

		for i := range 5 {
			require.NotEqual(t, quorum.Won, b.try("a", fmt.Sprint("second", i)).Verdict)
			require.Empty(t, b.fakes[1].keys())
		}
		time.Sleep(time.Until(b.votesFrom(1)))
		b.p.Post(releaseOf("a", origin))
		time.Sleep(time.Second)
		require.Equal(t, quorum.Won, b.try("a", "third").Verdict)
	})
}

func TestWaitAfterARestartIsExact(t *testing.T) {
	overNewMasters(t, func(t *testing.T, b *bubble) {
		require.Zero(t, b.votesFrom(0))
		begin := time.Now()
		b.restarted(0)
		seen := b.fakes[0].firstInfo(t, begin)
		require.Equal(t, seen.Add(testWait), b.votesFrom(0))
		require.Zero(t, b.votesFrom(1))

		time.Sleep(time.Until(b.votesFrom(0)) - 1)
		b.mustAcquire("early")
		time.Sleep(time.Second)
		require.Empty(t, b.fakes[0].commands("early"))
		require.Zero(t, b.votesFrom(0))
		b.mustAcquire("late")
		time.Sleep(time.Second)
		require.Equal(t, []string{"late"}, b.fakes[0].keys())
	})
}

// A server that is not fit yet has been seen all the same.
func TestWaitCountsFromTheFirstInfoThoughTheProbeFailed(t *testing.T) {
	overNewMasters(t, func(t *testing.T, b *bubble) {
		f := b.fakes[0]
		f.set(func() { f.hook = answering("-OOM command not allowed\r\n", "EVALSHA") })
		begin := time.Now()
		f.restart()
		time.Sleep(testWait / 2)
		require.Equal(t, 2, b.up())
		f.set(func() { f.hook = nil })
		b.untilUp(3)
		require.Equal(t, f.firstInfo(t, begin).Add(testWait), b.votesFrom(0))
	})
}

func TestExtendAndReleaseReachAWaitingMasterAndCount(t *testing.T) {
	overNewMasters(t, func(t *testing.T, b *bubble) {
		b.restarted(0)
		f := b.fakes[0]
		held := func() { f.data["a"] = value{"token of a", time.Now().Add(time.Minute)} }
		b.mustAcquire("a") // on the other two
		time.Sleep(time.Second)
		require.Empty(t, f.keys())
		f.set(held)
		b.fakes[2].leave()

		out := b.ask(Request{Op: Extend, Name: "a", Token: "token of a", TTL: 2 * hour})
		require.Equal(t, quorum.Won, out.Verdict, "%+v", out)
		require.Equal(t, 2*hour, time.Until(f.data["a"].ends).Round(time.Second))
		require.Equal(t, quorum.Won, b.mustRelease("a", out.Origin).Verdict)
		require.Empty(t, f.keys())
		require.NotZero(t, b.votesFrom(0))
	})
}

func TestRestartedMajorityIsNoQuorumWithTheCauseUntilTheWaitEnds(t *testing.T) {
	overNewMasters(t, func(t *testing.T, b *bubble) {
		b.restarted(0, 1)
		out := b.try("a", "first")
		require.Equal(t, quorum.NoQuorum, out.Verdict)
		require.Len(t, out.Causes, 2)
		for i, cause := range out.Causes {
			require.Equal(t, fmt.Sprint("m", i), cause.Master)
			require.ErrorIs(t, cause, ErrRestarted)
			require.Regexp(t, `^m\d: restarted: no vote for another \d(\.\d)?s, until every lease it may have forgotten has run out$`, cause.Error())
		}
		last := max(time.Until(b.votesFrom(0)), time.Until(b.votesFrom(1)))
		end := time.Now().Add(last)
		tries := 0
		for b.try("a", fmt.Sprint("try", tries)).Verdict != quorum.Won {
			tries++
			time.Sleep(25 * time.Millisecond)
		}
		require.Greater(t, tries, 100)
		require.LessOrEqual(t, time.Since(end), 50*time.Millisecond)
		require.False(t, time.Now().Before(end.Add(-time.Second))) // the other one suffices
	})
}

func TestNewMastersAreTrustedOnlyByNewAndOnlyOnce(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.cfg.Wait, b.cfg.MastersAreNew = testWait, true
		b.fakes[2].refuse = true
		b.started()
		b.cycle("at once")
		b.fakes[2].comeBack()
		b.untilUp(3)
		require.Zero(t, b.votesFrom(0))
		require.NotZero(t, b.votesFrom(2), "others may have used it before we met it")
		b.restarted(0)
		require.NotZero(t, b.votesFrom(0))
	})
}

func TestMastersWhoseAddressesAreSwappedComeBackAndWait(t *testing.T) {
	overNewMasters(t, func(t *testing.T, b *bubble) {
		one, other := b.fakes[0], b.fakes[1]
		one.set(func() { other.set(func() { one.runID, other.runID = other.runID, one.runID }) })
		one.cut()
		other.cut()
		time.Sleep(2 * time.Second)
		b.untilUp(3)
		require.NotZero(t, b.votesFrom(0))
		require.NotZero(t, b.votesFrom(1))
	})
}

func TestRoundThatNobodyIsSentIsDecidedAndForgotten(t *testing.T) {
	for away := range 3 { // the others are up, and wait
		inBubble(t, 3, func(t *testing.T, b *bubble) {
			b.cfg.Wait = hour
			b.started()
			b.fakes[away].leave()
			synctest.Wait()
			require.Equal(t, 2, b.up())
			for range 3 {
				out := b.tryAcquire("a")
				require.Equal(t, quorum.NoQuorum, out.Verdict)
				require.NotEmpty(t, out.Causes)
			}
		})
	}
}

func TestNameThatIsFreeOnlyWithAMasterThatWaitsWakesNobody(t *testing.T) {
	overNewMasters(t, func(t *testing.T, b *bubble) {
		hold("a", b.fakes[:1], 2*testWait)
		b.restarted(2)
		a := b.await("a", time.Second)
		a.requireWaiting(time.Until(b.votesFrom(2)) - time.Second)
		a.requireWokenWithin(b.votesFrom(2), time.Second)
	})
}
