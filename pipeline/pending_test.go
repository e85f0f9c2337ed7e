package pipeline

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

func newPending() *pendingReleases { return &pendingReleases{deadPeer: 10 * time.Second} }

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
	p := newPending()
	p.add(lease("a", 1), at(0))
	due := p.take(at(0), 10)
	require.Equal(t, []string{"a"}, names(due))
	require.Empty(t, p.take(at(0), 10), "taken once")
	p.confirmed(due, at(1))
	require.Empty(t, p.take(at(10.9), 10), "before the dead-peer time")
	due = p.take(at(11), 10)
	require.Equal(t, []string{"a"}, names(due))
	p.confirmed(due, at(12))
	require.Empty(t, p.take(at(1e6), 10), "twice is enough")
	require.Zero(t, p.len())
}

func TestPendingReleaseThatIsNotAnsweredStartsOver(t *testing.T) {
	for _, answers := range []int{0, 1} {
		t.Run(fmt.Sprint("after ", answers, " answers"), func(t *testing.T) {
			p := newPending()
			p.add(lease("a", 1), at(0))
			due := p.take(at(0), 10)
			if answers == 1 {
				p.confirmed(due, at(0))
				due = p.take(at(10), 10)
			}
			require.Len(t, due, 1)
			p.unconfirmed(due)
			due = p.take(at(10), 10)
			require.Equal(t, []string{"a"}, names(due), "on the next connection, without waiting")
			p.confirmed(due, at(10))
			require.Empty(t, p.take(at(19), 10))
			require.Equal(t, []string{"a"}, names(p.take(at(20), 10)))
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
			p := newPending()
			p.died(5, 7)
			p.add(lease("a", c.round), at(0))
			require.Equal(t, 1, p.len())
			taken := p.take(at(30), 10) // the lease has run out
			require.Equal(t, c.forgotten, len(taken) == 0)
			require.Zero(t, p.len())
		})
	}
}

func TestPendingReleaseThatIsNotForgottenYetIsKept(t *testing.T) {
	p := newPending()
	p.add(lease("a", 1), at(0))
	require.Len(t, p.take(at(29.9), 10), 1)
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
			p := newPending()
			p.died(5, 7)
			p.admitted(at(2)) // in doubt until 12
			p.sent(lease("a", c.round), at(c.answered))
			require.Empty(t, p.take(at(11.9), 10))
			due := p.take(at(12), 10)
			require.Equal(t, c.repeated, len(due) == 1)
			p.confirmed(due, at(12))
			require.Zero(t, p.len(), "the last time")
		})
	}
}

func TestInDoubtLastsFromTheAdmissionForTheDeadPeerTime(t *testing.T) {
	p := newPending()
	p.died(5, 7)
	_, yes := p.isInDoubt(6, at(1e6))
	require.True(t, yes, "no connection since")
	p.admitted(at(100))
	until, yes := p.isInDoubt(6, at(109.9))
	require.True(t, yes)
	require.Equal(t, at(110), until)
	_, yes = p.isInDoubt(6, at(110))
	require.False(t, yes)

	p.died(9, 9)
	p.admitted(at(105))
	require.Len(t, p.inDoubt, 2)
	until, _ = p.isInDoubt(6, at(105))
	require.Equal(t, at(110), until, "a second admission does not put it off")
	p.prune(at(112))
	require.Len(t, p.inDoubt, 1, "those that ended are dropped")
}

func TestTakeIsLimitedAndBeginsWithWhatIsForgottenFirst(t *testing.T) {
	p := newPending()
	for i := range 5 {
		p.add(lease(fmt.Sprint("n", i), 1), at(float64(i)))
	}
	require.Equal(t, []string{"n0", "n1"}, names(p.take(at(5), 2)))
	require.Equal(t, []string{"n2", "n3"}, names(p.take(at(5), 2)))
	require.Equal(t, []string{"n4"}, names(p.take(at(5), 2)))
	require.Empty(t, p.take(at(5), 2))
}

func TestTakeForgetsAlsoBeyondItsLimit(t *testing.T) {
	p := newPending()
	p.add(lease("fresh", 1), at(20))
	p.add(lease("stale", 1), at(0))
	require.Equal(t, []string{"fresh"}, names(p.take(at(31), 1)))
	require.Zero(t, p.len())
}

// TestTakeLeavesTheOthersWhereTheyAre counts what moves: BenchmarkPendingReleases has the time.
func TestTakeLeavesTheOthersWhereTheyAre(t *testing.T) {
	const n, most = 100_000, 10
	p := newPending()
	for i := range n {
		q := lease("a", 1)
		q.TTL += time.Duration(i*7919%n) * time.Millisecond
		p.add(q, at(0))
	}
	before := slices.Clone(p.first)
	require.True(t, p.isDue(at(0)))
	require.Equal(t, before, p.first)
	require.Len(t, p.take(at(0), most), most)
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
		q := lease("a", 1)
		q.TTL += time.Duration(i*7919%n) * time.Millisecond
		p.add(q, now)
		if i%100 == 0 {
			p.prune(now)
		}
	}
	for p.len() > 0 {
		for p.isDue(now) {
			due := p.take(now, conn.FoldMax)
			sent += len(due)
			p.confirmed(due, now)
		}
		now = now.Add(p.deadPeer)
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
