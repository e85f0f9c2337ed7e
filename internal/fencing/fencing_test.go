package fencing_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/fencing"
)

func TestFencesOfALeaseLieBetweenThoseOfItsNeighbours(t *testing.T) {
	require.Less(t, fencing.Fence(6, fencing.MaxHandOvers), fencing.Fence(7, 0))
	require.Less(t, fencing.Fence(7, 0), fencing.Fence(7, 1))
	require.Less(t, fencing.Fence(fencing.MaxToken, fencing.MaxHandOvers), uint64(1)<<53)
	for _, fence := range []uint64{0, 1, fencing.Fence(7, 0), fencing.Fence(7, 3), fencing.Fence(7, fencing.MaxHandOvers)} {
		require.Greater(t, fencing.Fence(fencing.TokenAbove(fence), 0), fence)
		require.LessOrEqual(t, fencing.Fence(fencing.TokenAbove(fence)-1, 0), fence)
	}
}

func TestFirstTokenGrowsFasterThanASetIsUsed(t *testing.T) {
	require.EqualValues(t, 16_000_000_000, fencing.FirstToken(1_000_000_000))
	require.Less(t, fencing.FirstToken(time.Date(2242, 1, 1, 0, 0, 0, 0, time.UTC).Unix()), uint64(fencing.MaxToken))
}

func TestRegisterOfANameNeverChanges(t *testing.T) {
	for name, register := range map[string]int{"": 3525, "a": 2348, "invoice:42": 2116} {
		require.Equal(t, register, fencing.Register(name), "processes of different versions share %q", name)
	}
	used := make(map[int]int)
	for i := range 100 * fencing.Registers {
		used[fencing.Register(fmt.Sprint("name ", i))]++
	}
	require.Len(t, used, fencing.Registers, "all are used")
}

func TestTokenIsTheLargestGrantAndCountsOnlyWhereAQuorumStoresIt(t *testing.T) {
	for _, c := range []struct {
		grants                  []uint64 // by master; 0: none
		token                   uint64
		granted, stored, raised uint64 // one bit per master
		counts                  bool
	}{
		{grants: []uint64{0, 0, 0}},
		{grants: []uint64{4, 4, 0}, token: 4, granted: 0b011, stored: 0b011, counts: true},
		{grants: []uint64{4, 4, 4}, token: 4, granted: 0b111, stored: 0b111, counts: true},
		{grants: []uint64{2, 1, 0}, token: 2, granted: 0b011, stored: 0b001},
		{grants: []uint64{2, 1, 0}, token: 2, granted: 0b011, stored: 0b001, raised: 0b010, counts: true},
		{grants: []uint64{2, 1, 0}, token: 2, granted: 0b011, stored: 0b001, raised: 0b100}, // the raised master's grant came after the decision
		{grants: []uint64{1, 2, 3}, token: 3, granted: 0b111, stored: 0b100, raised: 0b001, counts: true},
		{grants: []uint64{1, 2, 3}, token: 3, granted: 0b111, stored: 0b100},
	} {
		token, granted, stored := fencing.Decide(c.grants)
		require.Equal(t, c.token, token, c.grants)
		require.Equal(t, c.granted, granted, c.grants)
		require.Equal(t, c.stored, stored, c.grants)
		require.Equal(t, c.counts, fencing.Counts(granted, stored, c.raised, 2), c.grants)
	}
}

func TestDescriptionIsReadAsItWasWritten(t *testing.T) {
	s := fencing.NewSet("an id", time.Second, []string{"b", "a"}).Next([]string{"c", "a"})
	s.ID = "id"
	read, err := fencing.ParseSet(s.String())
	require.NoError(t, err)
	require.Equal(t, s, read)
	require.Equal(t, 1, read.Generation)
	require.NoError(t, read.Matches(time.Second, []string{"c", "a"}))
	words := strings.Split(s.String(), " ")
	older, err := fencing.ParseSet(strings.Replace(s.String(), "muxlock-set-2", "muxlock-set-1", 1))
	require.NoError(t, err)
	require.True(t, older.Older)
	require.ErrorContains(t, older.Matches(time.Second, []string{"c", "a"}), "set up by an earlier version")
	for i := range words[:5] {
		if i == 1 {
			continue // any word is an ID
		}
		changed := slices.Clone(words)
		changed[i] = "x"
		_, err := fencing.ParseSet(strings.Join(changed, " "))
		require.Error(t, err, changed)
	}
	for _, text := range []string{"", "x", strings.Join(words[:5], " ")} {
		_, err := fencing.ParseSet(text)
		require.Error(t, err, text)
	}
}

func TestEachFieldThatDiffersIsNamed(t *testing.T) {
	s := fencing.NewSet("id", time.Second, []string{"a", "b", "c"})
	s.Registers++
	err := s.Matches(time.Minute, []string{"a", "d"})
	mismatch := (*fencing.Mismatch)(nil)
	require.True(t, errors.As(err, &mismatch))
	require.Equal(t, []string{
		"MaxTTL: here 1m0s, at the masters 1s", "registers: here 4096, at the masters 4097",
		"number of masters: here 2, at the masters 3", "masters: here [a d], at the masters [a b c]",
	}, mismatch.Fields)
}

func TestMaxTTLIsCountedInMillisecondsAsLeasesAre(t *testing.T) {
	const maxTTL = 5*time.Second + 600*time.Microsecond
	s := fencing.NewSet("id", maxTTL, []string{"a"})
	read, err := fencing.ParseSet(s.String())
	require.NoError(t, err)
	for _, s := range []fencing.Set{s, read} {
		require.NoError(t, s.Matches(maxTTL, s.Members))
		require.NoError(t, s.Matches(5*time.Second, s.Members))
		require.Error(t, s.Matches(5*time.Second-1, s.Members))
		require.Error(t, s.Matches(maxTTL+time.Millisecond, s.Members))
	}
}

// A client is one client's admission of the member m, in seconds.
type client struct{ fencing.Admission[second] }

type second int

func (s second) Before(other second) bool { return s < other }

// mark is one of the member m.
func mark(nonce, run string) string {
	return fencing.Mark{Nonce: nonce, RunID: run, Member: "m"}.String()
}

func (c *client) met(run, mark string) { c.Met("m", run, mark, false) }

func (c *client) waitsUntil(t *testing.T, want second) {
	t.Helper()
	require.Equal(t, fencing.Wait, c.Next(want-1))
	require.Equal(t, fencing.Seed, c.Next(want))
	require.False(t, c.Admitted())
	_, from := c.Ticket()
	require.Equal(t, want, from)
}

func TestMasterWithItsMarkVotesAtOnceAndAnyOtherIsOpened(t *testing.T) {
	var c client
	c.met("run1", mark("n", "run1"))
	require.True(t, c.Admitted())
	require.Equal(t, fencing.Vote, c.Next(0))
	require.True(t, c.Counts(mark("n", "run1")))
	for what, other := range map[string]string{
		"none": "", "of an earlier process": mark("n", "run0"), "of another member": "n run1 other",
		"of an earlier version": "run1", "without a nonce": " run1 m",
	} {
		var c client
		c.met("run1", other)
		require.Equal(t, fencing.Open, c.Next(1000), what)
		require.False(t, c.Counts(other), what)
		c.Opened("ticket", 30)
		c.waitsUntil(t, 30)
	}
	require.False(t, c.Counts(mark("another", "run1")), "the data is another admission's")
	require.False(t, c.Counts(""))
}

func TestMarkThatWentAwayIsNotBelievedAgain(t *testing.T) {
	first, second := mark("1", "run"), mark("2", "run")
	var c client
	c.met("run", first)
	c.met("run", second) // another client has admitted it
	require.True(t, c.Counts(second))
	c.met("run", first) // SWAPDB, there and back
	require.Equal(t, fencing.Open, c.Next(0))
	c.met("run", second)
	require.Equal(t, fencing.Open, c.Next(0), "who knows what was granted under the other")
	c.met("run", mark("3", "run"))
	require.True(t, c.Admitted())
	c.met("run", "")
	c.met("run", mark("3", "run"))
	require.False(t, c.Admitted())

	for i := range 1000 {
		c.met("run", mark(fmt.Sprint("mark", i), "run"))
		require.True(t, c.Admitted())
		c.met("run", mark(fmt.Sprint("other", i), "run"))
		c.met("run", mark(fmt.Sprint("mark", i), "run"))
		require.False(t, c.Admitted(), "the newest are remembered")
	}
}

// The marks have 32 bytes each with the end of the line, but the last one. So 512 of them are remembered.
func TestOfTooManyMarksThatWentAwayTheOldestAreForgotten(t *testing.T) {
	for _, c := range []struct{ gone, longer, forgotten int }{{512, 0, 0}, {512, 1, 1}, {513, 0, 1}, {513, 5, 2}, {521, 0, 9}, {521, 27, 10}} {
		markOf := func(i int) string {
			long := 31
			if i == c.gone-1 {
				long += c.longer
			}
			nonce := fmt.Sprintf("nonce%03d", i)
			return mark(nonce+strings.Repeat("x", long-len(mark(nonce, "run"))), "run")
		}
		var a client
		for i := range c.gone + 1 {
			a.met("run", markOf(i))
		}
		for i := range c.gone {
			b := a
			b.met("run", markOf(i))
			require.Equal(t, i < c.forgotten, b.Admitted(), "%d of %+v", i, c)
		}
	}
}

func TestDataThatWasLostIsNotBelievedByItsMark(t *testing.T) {
	var c client
	c.met("run", mark("1", "run"))
	c.Lost()
	c.Met("m", "run", mark("1", "run"), true)
	require.Equal(t, fencing.Open, c.Next(0))
	c.Opened("ticket", 30)
	c.met("run", mark("1", "run"))
	require.False(t, c.Admitted(), "that of the lost data has come back")
	c.Lost()
	require.Equal(t, fencing.Open, c.Next(1000), "opened again")
	c.met("run", mark("2", "run"))
	require.True(t, c.Admitted(), "by another client, since")
}

func TestMasterThatForgotNothingKeepsItsOwnMarkOnly(t *testing.T) {
	for own, want := range map[string]fencing.Step{
		mark("1", "run1"): fencing.Keep, "": fencing.Open, "1 run1 other": fencing.Open, "run1": fencing.Open,
	} {
		var c client
		c.Met("m", "run2", own, true)
		require.Equal(t, want, c.Next(0), own)
	}
	var c client
	c.met("run1", mark("1", "run1"))
	c.Met("m", "run2", mark("1", "run1"), true) // the same client
	require.Equal(t, fencing.Keep, c.Next(0))
	require.Equal(t, mark("1", "run1"), c.Kept())
	require.False(t, c.Admitted())
	c.Met("m", "run2", "", true)
	require.Equal(t, fencing.Open, c.Next(0), "it is gone, as by a flush")
	c.Met("m", "run2", mark("1", "run1"), true)
	require.Equal(t, fencing.Keep, c.Next(0))
	c.Renewed(mark("2", "run2"), false)
	require.Equal(t, fencing.Open, c.Next(0), "or a look finds what another client has done")
	c.Met("m", "run2", mark("1", "run1"), true)
	c.Renewed(mark("2", "run2"), true)
	require.True(t, c.Counts(mark("2", "run2")))
}

func TestWaitGoesOnForAsLongAsTheTicketIsTheSame(t *testing.T) {
	var c client
	c.met("run1", "")
	require.Equal(t, fencing.Open, c.Next(1000), "not opened yet")
	c.Opened("ticket", 30)
	c.met("run1", "") // another connection
	c.Opened("ticket", 40)
	c.waitsUntil(t, 30)
	c.Opened("ticket", 20) // as another process knows
	c.waitsUntil(t, 20)
	c.Opened("another", 50) // it was flushed
	c.waitsUntil(t, 50)
	c.met("run2", "")
	require.Equal(t, fencing.Open, c.Next(1000), "another server")
	c.Opened("another", 60) // restored from a snapshot
	c.waitsUntil(t, 60)
	c.Lost()
	require.Equal(t, fencing.Open, c.Next(1000))
}

// SWAPDB brings an old ticket back: it was voted under the mark meanwhile.
func TestTicketOfBeforeTheMasterVotedIsForgotten(t *testing.T) {
	var c client
	c.met("run", "")
	c.Opened("ticket", 30)
	c.met("run", mark("1", "run"))
	c.met("run", "")
	require.Equal(t, fencing.Open, c.Next(1000))
	c.Opened("ticket", 90)
	c.waitsUntil(t, 90)
}

func TestMasterThatIsSeededVotesIfItStillHadTheTicket(t *testing.T) {
	var c client
	c.met("run1", "")
	c.Opened("ticket", 30)
	c.Seeded("of before", true)
	c.waitsUntil(t, 30)
	c.Seeded("ticket", false)
	require.Equal(t, fencing.Open, c.Next(1000), "opened again first")
	c.Opened("another", 80)
	c.Seeded("another", true)
	require.True(t, c.Counts("another"))
}

// What opens a master takes its mark away, whatever was known of it.
func TestMasterThatIsOpenedDoesNotVoteUntilItIsAdmittedAgain(t *testing.T) {
	own := mark("1", "run")
	var c client
	c.met("run", own)
	c.Opened("ticket", 30)
	require.False(t, c.Counts(own))
	c.waitsUntil(t, 30)
	c.met("run", own)
	require.False(t, c.Admitted(), "that mark went away")
	c.waitsUntil(t, 30)

	c = client{}
	c.Met("m", "run2", own, true)
	require.Equal(t, fencing.Keep, c.Next(0))
	c.Opened("ticket", 30)
	c.waitsUntil(t, 30)
}

func TestRegistersOfSoManyShareOneWithEveryQuorum(t *testing.T) {
	for n := 1; n <= 9; n++ {
		quorum := n/2 + 1
		require.Equal(t, n-quorum+1, fencing.Peers(n, quorum))
		require.Greater(t, quorum+fencing.Peers(n, quorum), n)
	}
	require.True(t, fencing.Enough(0b10110, 5, 3))
	require.False(t, fencing.Enough(0b10010, 5, 3))
	into := []uint64{1, 5, 0}
	fencing.Merge(into, []uint64{2, 4})
	require.Equal(t, []uint64{2, 5, 0}, into)
}
