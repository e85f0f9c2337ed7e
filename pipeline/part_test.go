package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
	"muxlock/internal/resp"
	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/membership"
)

func TestLateMasterIsNotSentObsoleteRequests(t *testing.T) {
	overMasters(t, 5, func(t *testing.T, b *bubble) {
		late := b.fakes[4]
		before := b.mustAcquire("held before").Origin
		b.mustAcquire("held on")
		time.Sleep(time.Millisecond) // all five have answered
		late.set(func() { late.delay = 50 * time.Millisecond })

		b.cycle("first on its way") // its acquire is in flight, so its release must follow
		for i := range 10 {
			b.cycle(fmt.Sprint("gone", i))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Microsecond)
		defer cancel()
		_, err := b.acquire(ctx, "abandoned")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, quorum.Won, b.mustRelease("held before", before).Verdict)
		b.mustAcquire("taken meanwhile")
		time.Sleep(200 * time.Millisecond)

		require.ElementsMatch(t, []string{"held on", "taken meanwhile"}, late.keys())
		for i := range 10 {
			require.Empty(t, late.commands(fmt.Sprint("gone", i)))
		}
		require.Empty(t, late.commands("abandoned"))
		require.Len(t, late.commands("first on its way"), 2)
		require.Len(t, late.commands("held before"), 2)
		require.Zero(t, b.p.Stats().Masters[4].PendingReleases)
		require.Zero(t, b.p.Stats().Masters[4].SetAside)
	})
}

// A late master that was not asked for a lock does not have it. That confirms the release, if another master is silent.
func TestLateMasterConfirmsTheReleaseOfALockItWasNotAskedFor(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		silent, late := b.fakes[1], b.fakes[2]
		late.set(func() { late.delay = 50 * time.Millisecond })
		b.cycle("first on its way")
		b.cycle("gone")
		origin := b.mustAcquire("name").Origin
		silent.set(func() { silent.delay = 5 * testTimeout })
		require.Equal(t, quorum.Won, b.mustRelease("name", origin).Verdict)
		require.Empty(t, late.commands("name"))
	})
}

// What was sent in part may be at the master, so its releases must follow.
func TestReleaseOfWhatWasSentInPartIsNotObsolete(t *testing.T) {
	sent := partIn(7, Request{Op: Acquire, Name: "a", Token: "token of a"}, Request{Op: Acquire, Name: "b", Token: "token of b"})
	sent.next = 1
	rest, _ := compact(sent.r.masters[0], []part{
		sent,
		partIn(8, releaseOf("a", conn.InRound(7)), Request{Op: Acquire, Name: "c", Token: "token of c"}),
		partIn(9, releaseOf("b", conn.InRound(7)), releaseOf("c", conn.InRound(8))),
	})
	require.Len(t, rest, 3)
	require.Len(t, rest[0].Entries, 2)
	require.Equal(t, []Request{releaseOf("a", conn.InRound(7))}, rest[1].Entries)
	require.Equal(t, []Request{releaseOf("b", conn.InRound(7))}, rest[2].Entries)
}

func TestNothingIsLostOnAMasterThatComesAndGoesLate(t *testing.T) {
	inLateBubble(t, 100, func(b *bubble, random *rand.Rand, number uint64) {
		name := fmt.Sprint("name ", number)
		ctx, cancel := context.WithTimeout(b.Context(), time.Duration(random.IntN(20_000))*time.Microsecond)
		out, err := b.acquire(ctx, name)
		cancel()
		if err != nil {
			return // the pipeline releases it
		}
		if random.IntN(4) == 0 {
			time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
		}
		b.mustRelease(name, out.Origin)
	})
}

func TestVotesOfAPartReachTheirEntries(t *testing.T) {
	for _, n := range []int{3, conn.FoldFrom + 2} { // plain and folded
		entries := make([]Request, 2*n)
		for i := range entries {
			entries[i] = Request{Op: Extend, Name: fmt.Sprint(i), Token: fmt.Sprint("token", i), TTL: time.Second}
		}
		r, calls := newRound(1, entries...)
		r.begin(1)
		whole := r.whole()
		p := whole.without(r.masters[0], func(q *Request) error {
			if place := slices.Index(entries, *q); place%2 == 0 {
				return errObsolete
			}
			return nil
		})
		require.Equal(t, n >= conn.FoldFrom, p.Batch.Commands() < n)
		require.Len(t, p.Entries, n)
		for i, c := range calls {
			require.Equal(t, i%2 == 0, c.woken(), "entry %d", i)
		}
		require.Equal(t, []MasterError{{Master: "m0", Err: errObsolete}}, calls[0].out.Causes)
		for i := range p.Entries {
			require.Equal(t, fmt.Sprint(2*i+1), p.Entries[i].Name)
			p.voteLocked(r.masters[0], i, granted)
			require.True(t, calls[2*i+1].woken())
			require.Equal(t, quorum.Won, calls[2*i+1].out.Verdict)
		}
	}
}

// The tokens of a part and of its repeats count for their own entries only.
func TestGrantsOfAPartReachTheirEntries(t *testing.T) {
	const n = 12
	entries := make([]Request, n)
	for i := range entries {
		entries[i] = Request{Op: Acquire, Name: fmt.Sprint(i), Token: fmt.Sprint("token", i), TTL: time.Second, Fence: 1}
	}
	r, calls := newRound(1, entries...)
	r.fenced = true
	m := r.masters[0]
	mark := membership.NewMark("run", m.address)
	m.p.set = membership.NewSet("a set")
	m.member.admission.Met(m.address, "run", mark, false)
	r.begin(1)
	whole := part{r: r, Load: r.in(0, "", m.p.set.Description())}
	odd := whole.without(m, func(q *Request) error {
		if place := slices.Index(entries, *q); place%2 == 0 {
			return errObsolete
		}
		return nil
	})
	answer := func(words string) []resp.Reply { return []resp.Reply{{Kind: resp.Text, Text: mark + "\n" + words}} }
	again := odd.repeat(m, []int{0}, false, map[string]bool{"token5": true})
	require.Len(t, again.Entries, n/2-1)
	a := again.read(m, 0, answer("101 103 = 109 0"))
	require.NoError(t, a.unfit)
	for i, c := range calls {
		require.True(t, c.woken(), "entry %d", i)
		want := map[int]uint64{1: 101, 3: 103, 7: 1, 9: 109}[i]
		require.Equal(t, want, c.out.Fence, "entry %d", i)
		require.Equal(t, want > 0, c.out.Verdict == quorum.Won, "entry %d", i)
	}
	require.EqualValues(t, 104, m.p.set.Propose("3"), "what a master that missed it stores, too")
	require.Equal(t, quorum.Denied, calls[11].out.Verdict)
	require.Equal(t, quorum.NoQuorum, calls[5].out.Verdict, "its release was sent")
}
