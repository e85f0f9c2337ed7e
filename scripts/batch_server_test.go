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
	require.Equal(t, "100"+"100", m.batch(
		entry{"mine too", "t", "-"}, entry{"held", "t", "-"}, entry{"gone", "t", "-"},
		entry{"mine", "t", "500000"}, entry{"held", "t", "500000"}, entry{"gone", "t", "500000"},
	))
	require.Equal(t, "other", m.text("GET", "held"))
	m.requireTTL(100_000, "held")
	m.requireTTL(500_000, "mine")
	require.False(t, m.exists("mine too"))
	require.False(t, m.exists("gone"))
}

func TestBatchAnswersNothingWhenAllEntriesSucceed(t *testing.T) {
	m := newMaster(t)
	entries := []entry{{"a", "t", "-"}, {"b", "t", "60000"}}
	m.hold(entries...)
	require.Empty(t, m.text(batchCommand(Batch.SHA1, entries)...))
}

func TestFailureAnywhereInABatchIsToldAtItsPlace(t *testing.T) {
	m := newMaster(t)
	for place := range 6 {
		var entries []entry
		for i := range 6 { // three releases, three extends
			entries = append(entries, entry{fmt.Sprint("k", i), "t", []string{"-", "60000"}[i/3]})
		}
		m.hold(entries...)
		m.text("SET", entries[place].name, "another", "PX", "100000")
		want := []byte("111111")
		want[place] = '0'
		require.Equal(t, string(want), m.batch(entries...))
	}
}

func TestEachEntryOfABatchHasItsOwnLease(t *testing.T) {
	m := newMaster(t)
	var extend []entry
	for i := range 26 {
		extend = append(extend, entry{fmt.Sprint("k", i), "t", fmt.Sprint(100_000 * (i + 1))})
	}
	m.hold(extend...)
	require.Equal(t, strings.Repeat("1", 26), m.batch(extend...))
	for i, e := range extend {
		m.requireTTL(int64(100_000*(i+1)), e.name)
	}
}

func TestBatchKeepsTheOrderOfItsRuns(t *testing.T) {
	m := newMaster(t)
	m.hold(entry{name: "a", token: "t"}, entry{name: "b", token: "t"})
	require.Equal(t, "101"+"10"+"1", m.batch(
		entry{"a", "t", "90000"}, entry{"a", "u", "90000"}, entry{"a", "t", "190000"},
		entry{"a", "t", "-"}, entry{"a", "u", "-"},
		entry{"b", "t", "90000"}))
	require.Equal(t, "10", m.batch(entry{"b", "t", "-"}, entry{"b", "t", "90000"}))
}

func TestKeyOfAnotherTypeIsAnothersAndHidesNothing(t *testing.T) {
	m := newMaster(t)
	m.number("RPUSH", "list", "x")
	m.hold(entry{name: "mine", token: "t"}, entry{name: "last", token: "t"})
	require.Equal(t, "01"+"001", m.batch(
		entry{"list", "t", "-"}, entry{"mine", "t", "-"},
		entry{"list", "t", "90000"}, entry{"gone", "t", "90000"}, entry{"last", "t", "90000"}), "a key of another type is another's")
	require.True(t, m.exists("list"))
	m.requireTTL(90_000, "last")
	require.False(t, m.exists("mine"))
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
		m.hold(entry{name: "mine too", token: "t"})
		votes, _, _ = strings.Cut(m.batch(entry{"mine too", "t", "-"}), "\n")
		require.Equal(t, want[:1], votes, denied)
		m.text("AUTH", "default", "")
		require.Equal(t, denied == "-del", m.exists("mine too"))
		require.True(t, m.exists("held"))
		require.Equal(t, denied == "-del", m.exists("mine"))
	}
}

func TestFullMasterStillExtendsAndReleases(t *testing.T) {
	m := newMaster(t)
	m.hold(entry{name: "mine", token: "t"}, entry{name: "mine too", token: "t"})
	m.text("CONFIG", "SET", "maxmemory", "1")
	defer m.text("CONFIG", "SET", "maxmemory", "0")
	require.ErrorContains(t, m.do("SET", "new", "t", "NX", "PX", "1000").Error(), "OOM")
	require.Equal(t, "01", m.batch(entry{"gone", "t", "-"}, entry{"mine", "t", "500000"}))
	require.Equal(t, "1", m.batch(entry{"mine", "t", "-"}))
	require.False(t, m.exists("mine"))
	require.EqualValues(t, 1, m.extend("mine too", "t", "500000"))
	require.EqualValues(t, 1, m.release("mine too", "t"))
}

func TestBatchTakesNamesAndTokensAsBytes(t *testing.T) {
	m := newMaster(t)
	var extend, release []entry
	for _, name := range oddNames {
		token := name + "\x00\xff"
		extend = append(extend, entry{name, token, "500000"})
		release = append(release, entry{name, token, "-"})
	}
	m.hold(extend...)
	ones := strings.Repeat("1", len(oddNames))
	require.Equal(t, ones, m.batch(extend...))
	for _, e := range extend {
		m.requireTTL(500_000, e.name)
	}
	require.Equal(t, ones, m.batch(release...))
	require.EqualValues(t, 0, m.number("DBSIZE"))
}

func TestBatchTakesTheLargestFold(t *testing.T) {
	m := newMaster(t)
	for _, n := range []int{1, 8, 512} {
		var extend, release []entry
		for i := range n {
			extend = append(extend, entry{fmt.Sprint("k", i), "t", "90000"})
			release = append(release, entry{fmt.Sprint("k", i), "t", "-"})
		}
		m.hold(extend...)
		require.Equal(t, strings.Repeat("1", n), m.batch(extend...))
		require.Equal(t, strings.Repeat("1", n), m.batch(release...))
		require.EqualValues(t, 0, m.number("DBSIZE"))
	}
}
