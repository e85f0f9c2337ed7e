package scripts

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sharedCommand encodes entries as shared.lua takes them, with fencing if there is a description.
func sharedCommand(sha, description string, entries []entry) []string {
	var names, intents, tokens []string
	for _, e := range entries {
		names, intents, tokens = append(names, e.name), append(intents, "intent of "+e.name), append(tokens, e.token)
	}
	keys := append(names, intents...)
	if description != "" {
		keys = append(keys, fencedSet, fencedMark)
	}
	return slices.Concat([]string{"EVALSHA", sha, strconv.Itoa(len(keys))}, keys, []string{description}, tokens, runsOf(entries))
}

func (m testMaster) shared(entries ...entry) string {
	m.t.Helper()
	return votesOf(m.text(sharedCommand(Shared.SHA1, "", entries)...), len(entries))
}

func TestReadersAreLetInTogetherAndWritersAreNot(t *testing.T) {
	m := newMaster(t)
	require.Equal(t, "111", m.shared(entry{"a", "~t1", "90000"}, entry{"a", "~t2", "190000"}, entry{"b", "~t1", "90000"}))
	require.Empty(t, m.text(sharedCommand(Shared.SHA1, "", []entry{{"a", "~t3", "90000"}, {"a", "~t1", "+90000"}})...))
	m.requireTTL(190_000, "a")
	require.Error(t, m.do("SET", "a", "writer", "NX", "PX", "1000").Error(), "refused")
	require.EqualValues(t, 0, m.number("MSETNX", "free", "writer", "b", "writer"))
	require.Equal(t, "n0", m.batch(set("&90000", "free", "a")...))
	require.EqualValues(t, 3, m.number("ZCARD", "a"))
	m.text("SET", "held", "writer", "PX", "100000")
	require.Equal(t, "01", m.shared(entry{"held", "~t", "90000"}, entry{"c", "~t", "90000"}))
	require.Equal(t, "writer", m.text("GET", "held"))
	m.requireTTL(100_000, "held")
}

func TestNameOfReadersExpiresWithTheLastOfThem(t *testing.T) {
	m := newMaster(t)
	require.Equal(t, "111", m.shared(entry{"a", "~t1", "90000"}, entry{"a", "~t2", "290000"}, entry{"a", "~t3", "190000"}))
	m.requireTTL(290_000, "a")
	require.Equal(t, "1", m.batch(entry{"a", "~t2", "s-"}))
	m.requireTTL(190_000, "a")
	require.Equal(t, "1", m.shared(entry{"a", "~t1", "+390000"}))
	m.requireTTL(390_000, "a")
	require.Equal(t, "1", m.shared(entry{"a", "~t1", "+100000"}), "never shorter")
	m.requireTTL(390_000, "a")
	require.Equal(t, "101", m.batch(entry{"a", "~t1", "s-"}, entry{"a", "~t2", "s-"}, entry{"a", "~t3", "s-"}))
	require.False(t, m.exists("a"))
}

func TestReaderThatRanOutIsNeitherExtendedNorInTheWay(t *testing.T) {
	m := newMaster(t)
	require.Equal(t, "11", m.shared(entry{"a", "~short", "1"}, entry{"a", "~long", "90000"}))
	time.Sleep(3 * time.Millisecond) // until it has run out
	require.Equal(t, "01", m.shared(entry{"a", "~short", "+90000"}, entry{"a", "~other", "90000"}))
	require.EqualValues(t, 2, m.number("ZCARD", "a"), "a new reader removes it")
	require.Equal(t, "0", m.shared(entry{"b", "~gone", "+90000"}), "an extend creates nothing")
	require.False(t, m.exists("b"))
	m.text("SET", "c", "t", "PX", "90000")
	require.Equal(t, "0", m.shared(entry{"c", "~t", "+190000"}), "nor does it extend a writer")
	m.requireTTL(90_000, "c")
}

func TestReleaseOfReadersTakesOutItsOwnTokenOnly(t *testing.T) {
	m := newMaster(t)
	require.Equal(t, "111", m.shared(entry{"a", "~t1", "90000"}, entry{"a", "~t2", "90000"}, entry{"lone", "~t", "90000"}))
	m.text("SET", "held", "t", "PX", "90000")
	m.number("RPUSH", "list", "~t")
	require.Equal(t, "00000"+"11", m.batch(
		entry{"a", "~other", "s-"}, entry{"held", "~t", "s-"}, entry{"list", "~t", "s-"}, entry{"gone", "~t", "s-"}, entry{"lone", "~other", "s-"},
		entry{"held", "t", "-"}, entry{"lone", "~t", "s-"}))
	require.False(t, m.exists("lone"))
	require.Equal(t, "0e", strings.SplitN(m.batch(entry{"a", "~t1", "-"}, entry{"a", "~t1", "90000"}), "\n", 2)[0], "a writer's does nothing to readers")
	require.EqualValues(t, 2, m.number("ZCARD", "a"))
}

func TestLoneReaderKeepsItsLeaseWhenASecondOneComes(t *testing.T) {
	m := newMaster(t)
	require.Equal(t, "1", m.shared(entry{"a", "~lone", "190000"}))
	require.Equal(t, "~lone", m.text("GET", "a"))
	require.Equal(t, "1", m.shared(entry{"a", "~lone", "+200000"}))
	m.requireTTL(200_000, "a")
	ends := m.number("PEXPIRETIME", "a")
	require.Equal(t, "1", m.shared(entry{"a", "~second", "90000"}))
	require.EqualValues(t, 2, m.number("ZCARD", "a"))
	score, err := m.do("ZSCORE", "a", "~lone").AsFloat64()
	require.NoError(t, err)
	require.GreaterOrEqual(t, score, float64(ends), "never shorter")
	require.Less(t, score, float64(ends+5000))
	require.Equal(t, "1", m.batch(entry{"a", "~second", "s-"}))
	m.requireTTL(200_000, "a")
	m.text("SET", "for ever", "~t")
	require.Equal(t, "0", m.shared(entry{"for ever", "~second", "90000"}), "no reader's")
}

func TestIntentOfAWriterKeepsReadersOutForItsTime(t *testing.T) {
	m := newMaster(t)
	m.text("SET", "held", "writer", "PX", "100000")
	m.number("RPUSH", "list", "x")
	require.Equal(t, "000", m.shared(entry{"free", "", "!500"}, entry{"held", "", "!500"}, entry{"list", "", "!500"}), "there are no readers")
	require.EqualValues(t, 2, m.number("DBSIZE"))
	require.Equal(t, "11", m.shared(entry{"a", "~t", "90000"}, entry{"a", "", "!90000"}))
	require.Equal(t, "n1", m.shared(entry{"a", "~other", "90000"}, entry{"a", "~t", "+190000"}), "who reads goes on")
	m.requireTTL(90_000, "intent of a")
	require.Equal(t, "1", m.batch(entry{"a", "~t", "s-"}))
	require.Equal(t, "n", m.shared(entry{"a", "~other", "90000"}))
	require.Equal(t, "OK", m.text("SET", "a", "writer", "NX", "PX", "90000"), "an intent is not in a writer's way")
	require.Equal(t, "1", m.batch(entry{"intent of a", "1", "-"}))
}

func TestReaderThatIsRefusedHalfwayLeavesEverythingAsItWas(t *testing.T) {
	m := newMaster(t)
	for denied, readers := range map[string]int{
		"-set": 0, "-pttl": 1, "-zadd": 1, "-zrange": 1, "-pexpireat": 1, "-zremrangebyscore": 2, "-zrange ": 2, "-pexpireat ": 2,
	} {
		m.text("FLUSHALL")
		for i := range readers {
			require.Equal(t, "1", m.shared(entry{"a", "~" + strconv.Itoa(i), "90000"}))
		}
		m.text("ACL", "SETUSER", "limited", "reset", "on", "nopass", "~*", "+@all", strings.TrimSpace(denied))
		m.text("AUTH", "limited", "any")
		votes, fault, _ := strings.Cut(m.shared(entry{"a", "~t", "50000"}), "\n")
		m.text("AUTH", "default", "")
		require.Equal(t, "e", votes, denied)
		require.NotEmpty(t, fault)
		require.EqualValues(t, min(readers, 1), m.number("DBSIZE"), denied)
		switch readers {
		case 1:
			require.Equal(t, "~0", m.text("GET", "a"), denied)
			m.requireTTL(90_000, "a")
		case 2:
			require.EqualValues(t, 2, m.number("ZCARD", "a"), denied)
			m.requireTTL(90_000, "a")
		}
	}
}

func TestReadersOfAnAdmittedMemberOfTheSetAlone(t *testing.T) {
	m := newMaster(t)
	entries := []entry{{"a", "~t1", "90000"}, {"a", "~t1", "+90000"}}
	for _, there := range [][2]string{{"", ""}, {"the set", ""}, {"another", "the mark"}} {
		m.text("FLUSHALL")
		for i, key := range []string{fencedSet, fencedMark} {
			if there[i] != "" {
				m.text("SET", key, there[i])
			}
		}
		require.ErrorContains(t, m.do(sharedCommand(Shared.SHA1, "the set", entries)...).Error(), "MUXLOCKSET")
		require.False(t, m.exists("a"))
	}
	m.text("SET", fencedSet, "the set")
	m.text("SET", fencedMark, "the mark")
	require.Equal(t, "the mark\n", m.text(sharedCommand(Shared.SHA1, "the set", entries)...))
	require.Equal(t, "the mark\n0", m.text(sharedCommand(Shared.SHA1, "the set", []entry{{"a", "~t2", "+90000"}})...))
	require.False(t, m.exists(fencedRegisters))
}

func TestReadersTakeNamesAndTokensAsBytes(t *testing.T) {
	m := newMaster(t)
	var in, out []entry
	for _, name := range oddNames {
		in, out = append(in, entry{name, name + "\x00\xff", "90000"}), append(out, entry{name, name + "\x00\xff", "s-"})
	}
	ones := strings.Repeat("1", len(oddNames))
	require.Equal(t, ones, m.shared(in...))
	require.Equal(t, ones, m.batch(out...))
	require.EqualValues(t, 0, m.number("DBSIZE"))
}

func TestInspectShowsReadersThatHaveNotRunOut(t *testing.T) {
	m := newMaster(t)
	require.Equal(t, "111", m.shared(entry{"a", "~long", "90000"}, entry{"a", "~short", "50000"}, entry{"a", "~gone", "1"}))
	time.Sleep(3 * time.Millisecond) // until it has run out
	words := strings.Split(m.text("EVALSHA", Inspect.SHA1, "3", "a", "line", "fenced line", "512"), "\n")
	require.Equal(t, []string{"2", "~short", "~long"}, words[3:])
}
