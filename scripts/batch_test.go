package scripts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBatchAnswersEachEntry(t *testing.T) {
	m := newMaster(t)
	m.text("SET", "held", "other", "PX", "100000")
	m.text("SET", "mine", "t", "PX", "100000")
	m.text("SET", "mine too", "t", "PX", "100000")
	require.Equal(t, "100"+"10"+"100", m.batch(
		entry{"mine too", "t", "-"}, entry{"held", "t", "-"}, entry{"gone", "t", "-"},
		entry{"free", "t", "50000"}, entry{"held", "t", "50000"},
		entry{"mine", "t", "+500000"}, entry{"held", "t", "+500000"}, entry{"gone", "t", "+500000"},
	))
	require.Equal(t, "t", m.text("GET", "free"))
	m.requireTTL(50_000, "free")
	require.Equal(t, "other", m.text("GET", "held"))
	m.requireTTL(100_000, "held")
	m.requireTTL(500_000, "mine")
	require.False(t, m.exists("mine too"))
	require.False(t, m.exists("gone"))
}

func TestBatchAnswersNothingWhenAllEntriesSucceed(t *testing.T) {
	m := newMaster(t)
	m.text("SET", "old", "t", "PX", "100000")
	require.Empty(t, m.text(batchCommand(Batch.SHA1, []entry{{"old", "t", "-"}, {"a", "t", "50000"}, {"a", "t", "+60000"}})...))
}

func TestFailureAnywhereInABatchIsToldAtItsPlace(t *testing.T) {
	m := newMaster(t)
	for place := range 6 {
		m.text("FLUSHALL")
		var entries []entry
		for i := range 6 { // two releases, two acquires, two extends
			name := fmt.Sprint("k", i)
			if i/2 != 1 {
				m.text("SET", name, "t", "PX", "100000")
			}
			entries = append(entries, entry{name, "t", []string{"-", "1000", "+2000"}[i/2]})
		}
		m.text("SET", entries[place].name, "another", "PX", "100000")
		want := []byte("111111")
		want[place] = '0'
		require.Equal(t, string(want), m.batch(entries...))
	}
}

func TestEachEntryOfABatchHasItsOwnLease(t *testing.T) {
	m := newMaster(t)
	var take, extend []entry
	for i := range 26 { // as many as there are letters
		take = append(take, entry{fmt.Sprint("k", i), "t", fmt.Sprint(100_000 * (i + 1))})
		extend = append(extend, entry{fmt.Sprint("k", i), "t", fmt.Sprint("+", 100_000*(i+2))})
	}
	ones := strings.Repeat("1", 26)
	require.Equal(t, ones, m.batch(take...))
	for i, e := range take {
		m.requireTTL(int64(100_000*(i+1)), e.name)
	}
	require.Equal(t, ones, m.batch(extend...))
	for i, e := range take {
		m.requireTTL(int64(100_000*(i+2)), e.name)
	}
}

func TestLockIsHandedOverWithinABatch(t *testing.T) {
	m := newMaster(t)
	m.text("SET", "handed over", "old", "PX", "100000")
	require.Equal(t, "11", m.batch(entry{"handed over", "old", "-"}, entry{"handed over", "new", "50000"}))
	require.Equal(t, "new", m.text("GET", "handed over"))
}

func TestBatchKeepsTheOrderOfArrivalBehindTheReleases(t *testing.T) {
	m := newMaster(t)
	require.Equal(t, "0010101", m.batch(
		entry{"a", "t1", "-"}, entry{"a", "t1", "+90000"},
		entry{"a", "t1", "50000"}, entry{"a", "t2", "50000"}, entry{"a", "t1", "+90000"}, entry{"a", "t2", "+500000"}, entry{"b", "t2", "50000"}))
	require.Equal(t, "t1", m.text("GET", "a"))
	m.requireTTL(90_000, "a")
}

func TestErrorAtOneEntryDoesNotHideTheOthers(t *testing.T) {
	m := newMaster(t)
	m.number("RPUSH", "list", "x")
	m.text("SET", "mine", "t", "PX", "100000")
	got := m.batch(
		entry{"list", "t", "-"}, entry{"mine", "t", "-"},
		entry{"free", "t", "50000"}, entry{"list", "t", "+50000"}, entry{"list", "t", "50000"}, entry{"bad ttl", "t", "0"}, entry{"last", "t", "50000"})
	votes, fault, found := strings.Cut(got, "\n")
	require.True(t, found)
	require.Equal(t, "01"+"1e0e1", votes, "release and SET NX take a key of another type for another's")
	require.Contains(t, fault, "invalid expire time", "the last error's text")
	require.True(t, m.exists("free"))
	require.True(t, m.exists("list"))
	require.True(t, m.exists("last"))
	require.False(t, m.exists("mine"))
	require.False(t, m.exists("bad ttl"))

	votes, fault, _ = strings.Cut(m.batch(entry{"list", "t", "+1000"}, entry{"gone", "t", "+1000"}), "\n")
	require.Equal(t, "e0", votes)
	require.True(t, strings.HasPrefix(strings.TrimPrefix(fault, "-"), "WRONGTYPE "), fault)
}

func TestReleasesThatAreRefusedAsAWholeAreTriedOneByOne(t *testing.T) {
	m := newMaster(t)
	for denied, want := range map[string]string{"-mget": "100", "-del": "e00"} {
		m.text("SET", "mine", "t", "PX", "100000")
		m.text("SET", "held", "another", "PX", "100000")
		m.text("ACL", "SETUSER", "limited", "reset", "on", "nopass", "~*", "+@all", denied)
		m.text("AUTH", "limited", "any")
		votes, _, _ := strings.Cut(m.batch(entry{"mine", "t", "-"}, entry{"gone", "t", "-"}, entry{"held", "t", "-"}), "\n")
		require.Equal(t, want, votes, denied)
		m.text("AUTH", "default", "")
		require.True(t, m.exists("held"))
		require.Equal(t, denied == "-del", m.exists("mine"))
	}
}

func TestFullMasterRefusesAcquiresAndStillReleases(t *testing.T) {
	m := newMaster(t)
	m.text("SET", "mine", "t", "PX", "100000")
	m.text("SET", "mine too", "t", "PX", "100000")
	m.text("CONFIG", "SET", "maxmemory", "1")
	defer m.text("CONFIG", "SET", "maxmemory", "0")

	votes, fault, _ := strings.Cut(m.batch(entry{"gone", "t", "-"}, entry{"new", "t", "50000"}, entry{"mine", "t", "+500000"}), "\n")
	require.Equal(t, "0e1", votes)
	require.True(t, strings.HasPrefix(strings.TrimPrefix(fault, "-"), "OOM "), fault)
	require.False(t, m.exists("new"))
	require.Equal(t, "1", m.batch(entry{"mine", "t", "-"}))
	require.False(t, m.exists("mine"))
	require.EqualValues(t, 1, m.extend("mine too", "t", "500000"))
	require.EqualValues(t, 1, m.release("mine too", "t"))
}

func TestBatchTakesNamesAndTokensAsBytes(t *testing.T) {
	m := newMaster(t)
	var take, extend, release []entry
	for _, name := range oddNames {
		token := name + "\x00\xff"
		take = append(take, entry{name, token, "50000"})
		extend = append(extend, entry{name, token, "+500000"})
		release = append(release, entry{name, token, "-"})
	}
	ones := strings.Repeat("1", len(oddNames))
	require.Equal(t, ones, m.batch(take...))
	for _, e := range take {
		require.Equal(t, e.token, m.text("GET", e.name))
	}
	require.Equal(t, strings.Repeat("0", len(oddNames)), m.batch(take...))
	require.Equal(t, ones, m.batch(extend...))
	require.Equal(t, ones, m.batch(release...))
	require.EqualValues(t, 0, m.number("DBSIZE"))
}

func TestBatchTakesTheLargestFold(t *testing.T) {
	m := newMaster(t)
	for _, n := range []int{1, 8, 512} {
		var take, release []entry
		for i := range n {
			take = append(take, entry{fmt.Sprint("k", i), "t", "50000"})
			release = append(release, entry{fmt.Sprint("k", i), "t", "-"})
		}
		require.Equal(t, strings.Repeat("1", n), m.batch(take...))
		require.EqualValues(t, n, m.number("DBSIZE"))
		require.Equal(t, strings.Repeat("1", n), m.batch(release...))
		require.EqualValues(t, 0, m.number("DBSIZE"))
	}
}
