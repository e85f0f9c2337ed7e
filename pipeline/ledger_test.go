package pipeline

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// at is a moment, in seconds after the start of a test.
func at(seconds float64) time.Time {
	return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

func newLedger() *ledger { return &ledger{deadPeer: 10 * time.Second} }

func lease(name string, round uint64) *Request {
	return &Request{Op: Release, Name: name, Token: "t", TTL: 30 * time.Second, Round: round}
}

func names(releases []*pendingRelease) (names []string) {
	for _, r := range releases {
		names = append(names, r.name)
	}
	return names
}

func TestPendingReleaseIsDueAtOnceAndSentTwice(t *testing.T) {
	l := newLedger()
	l.add(lease("a", 1), at(0))
	due := l.take(at(0), 10)
	require.Equal(t, []string{"a"}, names(due))
	require.Empty(t, l.take(at(0), 10), "taken once")
	l.confirmed(due, at(1))
	require.Empty(t, l.take(at(10.9), 10), "before the dead-peer time")
	due = l.take(at(11), 10)
	require.Equal(t, []string{"a"}, names(due))
	l.confirmed(due, at(12))
	require.Empty(t, l.take(at(1e6), 10), "twice is enough")
	require.Zero(t, l.len())
}

func TestPendingReleaseThatIsNotAnsweredStartsOver(t *testing.T) {
	for _, answers := range []int{0, 1} {
		t.Run(fmt.Sprint("after ", answers, " answers"), func(t *testing.T) {
			l := newLedger()
			l.add(lease("a", 1), at(0))
			due := l.take(at(0), 10)
			if answers == 1 {
				l.confirmed(due, at(0))
				due = l.take(at(10), 10)
			}
			require.Len(t, due, 1)
			l.unconfirmed(due)
			due = l.take(at(10), 10)
			require.Equal(t, []string{"a"}, names(due), "on the next connection, without waiting")
			l.confirmed(due, at(10))
			require.Empty(t, l.take(at(19), 10))
			require.Equal(t, []string{"a"}, names(l.take(at(20), 10)))
		})
	}
}

func TestPendingReleaseIsForgottenWithItsLeaseUnlessTheAcquireIsInDoubt(t *testing.T) {
	for _, c := range []struct {
		name      string
		round     uint64
		forgotten bool
	}{
		{"answered before the connection died", 4, true},
		{"first of those in flight", 5, false},
		{"last of those in flight", 7, false},
		{"formed later", 8, true},
		{"unknown round", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLedger()
			l.died(5, 7)
			l.add(lease("a", c.round), at(0))
			require.Equal(t, 1, l.len())
			taken := l.take(at(30), 10) // the lease has run out
			require.Equal(t, c.forgotten, len(taken) == 0)
			require.Zero(t, l.len())
		})
	}
}

func TestPendingReleaseThatIsNotForgottenYetIsKept(t *testing.T) {
	l := newLedger()
	l.add(lease("a", 1), at(0))
	require.Len(t, l.take(at(29.9), 10), 1)
}

func TestAnsweredReleaseIsRepeatedWhileItsAcquireIsInDoubt(t *testing.T) {
	for _, c := range []struct {
		name     string
		round    uint64
		answered float64
		repeated bool
	}{
		{"in flight", 6, 5, true},
		{"in flight, answered at the last moment", 6, 11.9, true},
		{"in flight, answered after the dead-peer time", 6, 12, false},
		{"before", 4, 5, false},
		{"later", 8, 5, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLedger()
			l.died(5, 7)
			l.admitted(at(2)) // in doubt until 12
			l.sent(lease("a", c.round), at(c.answered))
			require.Empty(t, l.take(at(11.9), 10))
			due := l.take(at(12), 10)
			require.Equal(t, c.repeated, len(due) == 1)
			l.confirmed(due, at(12))
			require.Zero(t, l.len(), "the last time")
		})
	}
}

func TestDoubtLastsFromTheAdmissionForTheDeadPeerTime(t *testing.T) {
	l := newLedger()
	l.died(5, 7)
	_, yes := l.isInDoubt(6, at(1e6))
	require.True(t, yes, "no connection since")
	l.admitted(at(100))
	until, yes := l.isInDoubt(6, at(109.9))
	require.True(t, yes)
	require.Equal(t, at(110), until)
	_, yes = l.isInDoubt(6, at(110))
	require.False(t, yes)

	l.died(9, 9)
	l.admitted(at(105))
	require.Len(t, l.inDoubt, 2)
	until, _ = l.isInDoubt(6, at(105))
	require.Equal(t, at(110), until, "a second admission does not put it off")
	l.prune(at(112))
	require.Len(t, l.inDoubt, 1, "those that ended are dropped")
}

func TestTakeIsLimitedAndBeginsWithWhatIsForgottenFirst(t *testing.T) {
	l := newLedger()
	for i := range 5 {
		l.add(lease(fmt.Sprint("n", i), 1), at(float64(i)))
	}
	require.Equal(t, []string{"n0", "n1"}, names(l.take(at(5), 2)))
	require.Equal(t, []string{"n2", "n3"}, names(l.take(at(5), 2)))
	require.Equal(t, []string{"n4"}, names(l.take(at(5), 2)))
	require.Empty(t, l.take(at(5), 2))
}

func TestTakeForgetsAlsoBeyondItsLimit(t *testing.T) {
	l := newLedger()
	l.add(lease("fresh", 1), at(20))
	l.add(lease("stale", 1), at(0))
	require.Equal(t, []string{"fresh"}, names(l.take(at(31), 1)))
	require.Zero(t, l.len())
}

// TestTakeLeavesTheOthersWhereTheyAre counts what moves: BenchmarkPendingReleases has the time.
func TestTakeLeavesTheOthersWhereTheyAre(t *testing.T) {
	const n, most = 100_000, 10
	l := newLedger()
	for i := range n {
		q := lease("a", 1)
		q.TTL += time.Duration(i*7919%n) * time.Millisecond
		l.add(q, at(0))
	}
	before := slices.Clone(l.first)
	require.True(t, l.isDue(at(0)))
	require.Equal(t, before, l.first)
	require.Len(t, l.take(at(0), most), most)
	moved := 0
	for i := range l.first {
		if l.first[i] != before[i] {
			moved++
		}
	}
	require.LessOrEqual(t, moved, most*bits.Len(n))
}

func TestAllPendingReleasesAreSentTwice(t *testing.T) { requireAllAreSentTwice(t, 10_000) }

// requireAllAreSentTwice adds n releases with leases of many lengths, as to a master that
// is away, and takes them as a payment does.
func requireAllAreSentTwice(t require.TestingT, n int) {
	l := newLedger()
	sent, now := 0, at(0)
	for i := range n {
		q := lease("a", 1)
		q.TTL += time.Duration(i*7919%n) * time.Millisecond
		l.add(q, now)
		if i%100 == 0 {
			l.prune(now)
		}
	}
	for l.len() > 0 {
		for l.isDue(now) {
			due := l.take(now, foldMax)
			sent += len(due)
			l.confirmed(due, now)
		}
		now = now.Add(l.deadPeer)
	}
	require.Equal(t, 2*n, sent)
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
