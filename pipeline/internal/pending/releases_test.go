package pending

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/pipeline/internal/conn"
)

// at is a moment, in seconds after the start of a test.
func at(seconds float64) time.Time {
	return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

func newPending() *Releases {
	r := New(10 * time.Second)
	return &r
}

func lease(name string, origin conn.Origin) *conn.Request {
	return leaseOf(conn.Release, name, origin)
}

func leaseOf(op conn.Op, name string, origin conn.Origin) *conn.Request {
	return &conn.Request{Op: op, Name: name, Token: "t", TTL: 30 * time.Second, Origin: origin}
}

func names(releases []*Release) (names []string) {
	for _, r := range releases {
		names = append(names, r.Name)
	}
	return names
}

func TestPendingReleaseThatIsNotAnsweredStartsOver(t *testing.T) {
	for _, answers := range []int{0, 1} {
		t.Run(fmt.Sprint("after ", answers, " answers"), func(t *testing.T) {
			p := newPending()
			p.Add(lease("a", conn.OriginForeign), at(0))
			due := p.Take(at(0), 10)
			if answers == 1 {
				p.Confirmed(due, at(0))
				due = p.Take(at(10), 10)
			}
			require.Len(t, due, 1)
			p.Unconfirmed(due)
			due = p.Take(at(10), 10)
			require.Equal(t, []string{"a"}, names(due), "on the next connection, without waiting")
			p.Confirmed(due, at(10))
			require.Empty(t, p.Take(at(19), 10))
			require.Equal(t, []string{"a"}, names(p.Take(at(20), 10)))
		})
	}
}

func TestPendingReleaseIsForgottenWithItsLeaseUnlessTheAcquireIsInDoubt(t *testing.T) {
	for _, c := range []struct {
		name      string
		op        conn.Op
		origin    conn.Origin
		forgotten bool
	}{
		{"answered before the connection died", conn.Release, conn.InRound(4), true},
		{"stood in line then, and may have asked again", conn.Pass, conn.InRound(4), false},
		{"first of those in flight", conn.Release, conn.InRound(5), false},
		{"last of those in flight", conn.Release, conn.InRound(7), false},
		{"formed later", conn.Release, conn.InRound(8), true},
		{"joined the line later", conn.Pass, conn.InRound(8), true},
		{"unknown round", conn.Release, conn.OriginUnknown, false},
		{"another's", conn.Pass, conn.OriginForeign, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPending()
			p.Died(5, 7)
			p.Add(leaseOf(c.op, "a", c.origin), at(0))
			require.Equal(t, 1, p.Len())
			taken := p.Take(at(30), 10) // the lease has run out
			require.Equal(t, c.forgotten, len(taken) == 0)
			require.Zero(t, p.Len())
		})
	}
}

func TestPendingReleaseThatIsNotForgottenYetIsKept(t *testing.T) {
	p := newPending()
	p.Add(lease("a", conn.OriginForeign), at(0))
	require.True(t, p.IsDue(at(29.9)))
	require.Len(t, p.Take(at(29.9), 10), 1)
	p.Add(lease("b", conn.OriginForeign), at(0))
	require.False(t, p.IsDue(at(30)), "forgotten by now")
}

func TestAnsweredReleaseIsRepeatedWhileItsAcquireIsInDoubt(t *testing.T) {
	for _, c := range []struct {
		name     string
		op       conn.Op
		origin   conn.Origin
		answered float64
		repeated bool
	}{
		{"in flight", conn.Release, conn.InRound(6), 5, true},
		{"in flight, answered at the last moment", conn.Release, conn.InRound(6), 11.9, true},
		{"in flight, answered after the dead-peer time", conn.Release, conn.InRound(6), 12, false},
		{"before", conn.Release, conn.InRound(4), 5, false},
		{"in line before", conn.Pass, conn.InRound(4), 5, true},
		{"another's", conn.Pass, conn.OriginForeign, 5, false},
		{"later", conn.Release, conn.InRound(8), 5, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPending()
			p.Died(5, 7)
			p.Admitted(at(2)) // in doubt until 12
			p.Sent(leaseOf(c.op, "a", c.origin), at(c.answered), false)
			require.Empty(t, p.Take(at(11.9), 10))
			due := p.Take(at(12), 10)
			require.Equal(t, c.repeated, len(due) == 1)
			p.Confirmed(due, at(12))
			require.Zero(t, p.Len(), "the last time")
		})
	}
}

func TestReleaseIsRepeatedADeadPeerTimeLaterIfTheCallerSaysSo(t *testing.T) {
	p := newPending()
	p.Sent(lease("a", conn.InRound(2)), at(5), true)
	require.Empty(t, p.Take(at(14.9), 10))
	require.Len(t, p.Take(at(15), 10), 1)
}

func TestInDoubtLastsFromTheAdmissionForTheDeadPeerTime(t *testing.T) {
	p := newPending()
	p.Died(5, 7)
	_, yes := p.isInDoubt(lease("a", conn.InRound(6)), at(1e6))
	require.True(t, yes, "no connection since")
	p.Admitted(at(100))
	until, yes := p.isInDoubt(lease("a", conn.InRound(6)), at(109.9))
	require.True(t, yes)
	require.Equal(t, at(110), until)
	_, yes = p.isInDoubt(lease("a", conn.InRound(6)), at(110))
	require.False(t, yes)

	p.Died(9, 9)
	p.Admitted(at(105))
	require.Len(t, p.inDoubt, 2)
	until, _ = p.isInDoubt(lease("a", conn.InRound(6)), at(105))
	require.Equal(t, at(110), until, "a second admission does not put it off")
	p.Prune(at(112))
	require.Len(t, p.inDoubt, 1, "those that ended are dropped")
}

func TestTakeIsLimitedAndBeginsWithWhatIsForgottenFirst(t *testing.T) {
	p := newPending()
	for i := range 5 {
		p.Add(lease(fmt.Sprint("n", i), conn.OriginForeign), at(float64(i)))
	}
	require.Equal(t, []string{"n0", "n1"}, names(p.Take(at(5), 2)))
	require.Equal(t, []string{"n2", "n3"}, names(p.Take(at(5), 2)))
	require.Equal(t, []string{"n4"}, names(p.Take(at(5), 2)))
	require.Empty(t, p.Take(at(5), 2))
}

// TestTakeLeavesTheOthersWhereTheyAre counts what moves: BenchmarkPendingReleases has the time.
func TestTakeLeavesTheOthersWhereTheyAre(t *testing.T) {
	const n, most = 100_000, 10
	p := newPending()
	for i := range n {
		q := lease("a", conn.OriginForeign)
		q.TTL += time.Duration(i*7919%n) * time.Millisecond
		p.Add(q, at(0))
	}
	before := slices.Clone(p.first)
	require.True(t, p.IsDue(at(0)))
	require.Equal(t, before, p.first)
	require.Len(t, p.Take(at(0), most), most)
	moved := 0
	for i := range p.first {
		if p.first[i] != before[i] {
			moved++
		}
	}
	require.LessOrEqual(t, moved, most*bits.Len(n))
}

func TestAllPendingReleasesAreSentTwice(t *testing.T) { requireAllAreSentTwice(t, 10_000) }

// requireAllAreSentTwice adds n releases with leases of many lengths, as to a master that
// is away, and takes them as a pendingBatch does.
func requireAllAreSentTwice(t require.TestingT, n int) {
	p := newPending()
	sent, now := 0, at(0)
	for i := range n {
		q := lease("a", conn.OriginForeign)
		q.TTL += time.Duration(i*7919%n) * time.Millisecond
		p.Add(q, now)
		if i%100 == 0 {
			p.Prune(now)
		}
	}
	for p.Len() > 0 {
		for p.IsDue(now) {
			due := p.Take(now, conn.FoldMax)
			sent += len(due)
			p.Confirmed(due, now)
		}
		now = now.Add(p.deadPeer)
	}
	require.Equal(t, 2*n, sent)
	require.Nil(t, p.first, "the memory of a long absence is freed")
}

func BenchmarkPendingReleases(b *testing.B) {
	for _, n := range []int{1000, 400_000} {
		b.Run(fmt.Sprint("releases=", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				requireAllAreSentTwice(b, n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/release")
		})
	}
}

func TestMasterIsLeftOutFromTheEarliestRoundOn(t *testing.T) {
	p := newPending()
	require.False(t, p.MustRelease(conn.InRound(1)), "it was not asked for anything yet")
	p.TakeIn()
	p.LeaveOut(5)
	p.LeaveOut(7)
	require.False(t, p.MustRelease(conn.InRound(5)))
	require.True(t, p.MustRelease(conn.InRound(4)))
	p.LeaveOut(3)
	require.False(t, p.MustRelease(conn.InRound(4)))
	require.True(t, p.MustRelease(conn.InRound(2)))
}

func TestAnsweredReleaseIsNotRepeatedBeforeItIsKnownWhen(t *testing.T) {
	p := newPending()
	require.False(t, p.InDoubt())
	p.Died(1, 3)
	require.True(t, p.InDoubt())
	p.Sent(lease("a", conn.InRound(2)), at(0), false)
	require.Zero(t, p.Len())
}

func TestTakeIsLimitedForReleasesThatAreSentAgain(t *testing.T) {
	p := newPending()
	for i := range 3 {
		p.Add(lease(fmt.Sprint("n", i), conn.OriginForeign), at(0))
	}
	p.Confirmed(p.Take(at(0), 3), at(0))
	require.Len(t, p.Take(at(11), 2), 2)
	require.Len(t, p.Take(at(11), 2), 1)
}
