package scripts

import (
	"fmt"
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

// of returns the token of a reader with a short name.
func of(name string) string { return fmt.Sprintf("~%-24s@", name) }

func (m testMaster) shared(entries ...entry) string {
	m.t.Helper()
	return votesOf(m.text(sharedCommand(Shared.SHA1, "", entries)...), len(entries))
}

func TestReadersAreLetInTogetherAndWritersAreNot(t *testing.T) {
	m := newMaster(t)
	require.Equal(t, "111", m.shared(entry{"a", of("t1"), "90000"}, entry{"a", of("t2"), "190000"}, entry{"b", of("t1"), "90000"}))
	require.Empty(t, m.text(sharedCommand(Shared.SHA1, "", []entry{{"a", of("t3"), "90000"}, {"a", of("t1"), "+90000"}})...))
	m.requireTTL(190_000, "a")
	require.Error(t, m.do("SET", "a", "writer", "NX", "PX", "1000").Error(), "refused")
	require.EqualValues(t, 0, m.number("MSETNX", "free", "writer", "b", "writer"))
	require.Equal(t, "n0", m.batch(set("&90000", "free", "a")...))
	require.EqualValues(t, 3, m.number("ZCARD", "a"))
	m.text("SET", "held", "writer", "PX", "100000")
	require.Equal(t, "01", m.shared(entry{"held", of("t"), "90000"}, entry{"c", of("t"), "90000"}))
	require.Equal(t, "writer", m.text("GET", "held"))
	m.requireTTL(100_000, "held")
}

func TestNameOfReadersExpiresWithTheLastOfThem(t *testing.T) {
	m := newMaster(t)
	require.Equal(t, "111", m.shared(entry{"a", of("t1"), "90000"}, entry{"a", of("t2"), "290000"}, entry{"a", of("t3"), "190000"}))
	m.requireTTL(290_000, "a")
	require.Equal(t, "1", m.batch(entry{"a", of("t2"), "s-"}))
	m.requireTTL(190_000, "a")
	require.Equal(t, "1", m.shared(entry{"a", of("t1"), "+390000"}))
	m.requireTTL(390_000, "a")
	require.Equal(t, "1", m.shared(entry{"a", of("t1"), "+100000"}), "never shorter")
	m.requireTTL(390_000, "a")
	require.Equal(t, "101", m.batch(entry{"a", of("t1"), "s-"}, entry{"a", of("t2"), "s-"}, entry{"a", of("t3"), "s-"}))
	require.False(t, m.exists("a"))
}

func TestReaderThatRanOutIsNeitherExtendedNorInTheWay(t *testing.T) {
	m := newMaster(t)
	require.Equal(t, "11", m.shared(entry{"a", of("short"), "100"}, entry{"a", of("long"), "90000"}))
	time.Sleep(105 * time.Millisecond) // until it has run out
	require.Equal(t, "01", m.shared(entry{"a", of("short"), "+90000"}, entry{"a", of("other"), "90000"}))
	require.EqualValues(t, 2, m.number("ZCARD", "a"), "a new reader removes it")
	require.Equal(t, "0", m.shared(entry{"b", of("gone"), "+90000"}), "an extend creates nothing")
	require.False(t, m.exists("b"))
	m.text("SET", "c", "t", "PX", "90000")
	require.Equal(t, "0", m.shared(entry{"c", of("t"), "+190000"}), "nor does it extend a writer")
	m.requireTTL(90_000, "c")
}

func TestReleaseOfReadersTakesOutItsOwnTokenOnly(t *testing.T) {
	m := newMaster(t)
	require.Equal(t, "111", m.shared(entry{"a", of("t1"), "90000"}, entry{"a", of("t2"), "90000"}, entry{"lone", of("t"), "90000"}))
	m.text("SET", "held", "t", "PX", "90000")
	m.number("RPUSH", "list", "~t")
	require.Equal(t, "00000"+"11", m.batch(
		entry{"a", of("other"), "s-"}, entry{"held", of("t"), "s-"}, entry{"list", of("t"), "s-"}, entry{"gone", of("t"), "s-"}, entry{"lone", of("other"), "s-"},
		entry{"held", "t", "-"}, entry{"lone", of("t"), "s-"}))
	require.False(t, m.exists("lone"))
	require.Equal(t, "00", m.batch(entry{"a", of("t1"), "-"}, entry{"a", of("t1"), "90000"}), "a writer's does nothing to readers")
	require.EqualValues(t, 2, m.number("ZCARD", "a"))
}

func TestLoneReaderKeepsItsLeaseWhenASecondOneComes(t *testing.T) {
	m := newMaster(t)
	require.Equal(t, "1", m.shared(entry{"a", of("lone"), "190000"}))
	require.Equal(t, of("lone"), m.text("GET", "a"))
	require.Equal(t, "1", m.shared(entry{"a", of("lone"), "+200000"}))
	m.requireTTL(200_000, "a")
	ends := m.number("PEXPIRETIME", "a")
	require.Equal(t, "1", m.shared(entry{"a", of("second"), "90000"}))
	require.EqualValues(t, 2, m.number("ZCARD", "a"))
	score, err := m.do("ZSCORE", "a", of("lone")).AsFloat64()
	require.NoError(t, err)
	require.GreaterOrEqual(t, score, float64(ends), "never shorter")
	require.Less(t, score, float64(ends+5000))
	require.Equal(t, "1", m.batch(entry{"a", of("second"), "s-"}))
	m.requireTTL(200_000, "a")
	m.text("SET", "another's", "~ is not enough")
	require.Equal(t, "0", m.shared(entry{"another's", of("second"), "90000"}))
	m.text("SET", "for ever", of("t"))
	require.Equal(t, "0", m.shared(entry{"for ever", of("second"), "90000"}), "no reader's")
}

func TestIntentOfAWriterKeepsReadersOutForItsTime(t *testing.T) {
	m := newMaster(t)
	m.text("SET", "held", "writer", "PX", "100000")
	m.number("RPUSH", "list", "x")
	require.Equal(t, "000", m.shared(entry{"free", "", "!500"}, entry{"held", "", "!500"}, entry{"list", "", "!500"}), "there are no readers")
	require.EqualValues(t, 2, m.number("DBSIZE"))
	require.Equal(t, "11", m.shared(entry{"a", of("t"), "90000"}, entry{"a", "first", "!500"}))
	require.Equal(t, "101", m.shared(entry{"a", "second", "!90000"}, entry{"a", "second", "!0"}, entry{"a", "second", "!90000"}), "it is the first one's still")
	require.Equal(t, "n1", m.shared(entry{"a", of("other"), "90000"}, entry{"a", of("t"), "+190000"}), "who reads goes on")
	m.requireTTL(90_000, "intent of a")
	require.Equal(t, "1", m.batch(entry{"a", of("t"), "s-"}))
	require.Equal(t, "n", m.shared(entry{"a", of("other"), "90000"}))
	require.Equal(t, "OK", m.text("SET", "a", "writer", "NX", "PX", "90000"), "an intent is not in a writer's way")
	require.Equal(t, "1", m.shared(entry{"a", "first", "!0"}))

	require.Equal(t, "11", m.shared(entry{"b", of("t"), "90000"}, entry{"b", "writer", "!90000"}))
	m.text("ACL", "SETUSER", "limited", "reset", "on", "nopass", "~*", "+@all", "-mget")
	m.text("AUTH", "limited", "any")
	require.Equal(t, "n1", m.shared(entry{"b", of("other"), "90000"}, entry{"c", of("t"), "90000"}), "without a right to MGET")
	require.Equal(t, "10", m.shared(entry{"b", "writer", "!0"}, entry{"c", "writer", "!0"}), "the writer waits no more; there was none")
	require.Equal(t, "1", m.shared(entry{"b", of("other"), "90000"}))
}

func TestReaderThatIsRefusedHalfwayLeavesEverythingAsItWas(t *testing.T) {
	m := newMaster(t)
	for denied, readers := range map[string]int{
		"-set": 0, "-pttl": 1, "-zadd": 1, "-zrange": 1, "-pexpireat": 1, "-zremrangebyscore": 2, "-zrange ": 2, "-pexpireat ": 2,
	} {
		m.text("FLUSHALL")
		for i := range readers {
			require.Equal(t, "1", m.shared(entry{"a", of(strconv.Itoa(i)), "90000"}))
		}
		m.text("ACL", "SETUSER", "limited", "reset", "on", "nopass", "~*", "+@all", strings.TrimSpace(denied))
		m.text("AUTH", "limited", "any")
		votes, fault, _ := strings.Cut(m.shared(entry{"a", of("t"), "50000"}), "\n")
		m.text("AUTH", "default", "")
		require.Equal(t, "e", votes, denied)
		require.NotEmpty(t, fault)
		require.EqualValues(t, min(readers, 1), m.number("DBSIZE"), denied)
		switch readers {
		case 1:
			require.Equal(t, of("0"), m.text("GET", "a"), denied)
			m.requireTTL(90_000, "a")
		case 2:
			require.EqualValues(t, 2, m.number("ZCARD", "a"), denied)
			m.requireTTL(90_000, "a")
		}
	}
}

func TestReadersOfAnAdmittedMemberOfTheSetAlone(t *testing.T) {
	m := newMaster(t)
	entries := []entry{{"a", of("t1"), "90000"}, {"a", of("t1"), "+90000"}}
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
	require.Equal(t, "the mark\n0", m.text(sharedCommand(Shared.SHA1, "the set", []entry{{"a", of("t2"), "+90000"}})...))
	require.False(t, m.exists(fencedRegisters))
}

func TestReadersTakeNamesAndTokensAsBytes(t *testing.T) {
	m := newMaster(t)
	var in, out []entry
	for _, name := range oddNames {
		in, out = append(in, entry{name, of("t") + name + "\x00\xff", "90000"}), append(out, entry{name, of("t") + name + "\x00\xff", "s-"})
	}
	ones := strings.Repeat("1", len(oddNames))
	require.Equal(t, ones, m.shared(in...))
	require.Equal(t, ones, m.batch(out...))
	require.EqualValues(t, 0, m.number("DBSIZE"))
}

func TestInspectShowsReadersThatHaveNotRunOut(t *testing.T) {
	m := newMaster(t)
	require.Equal(t, "111", m.shared(entry{"a", of("long"), "90000"}, entry{"a", of("short"), "50000"}, entry{"a", of("gone"), "1"}))
	time.Sleep(3 * time.Millisecond) // until it has run out
	words := strings.Split(m.text("EVALSHA", Inspect.SHA1, "3", "a", "line", "fenced line", longest), "\n")
	require.Equal(t, []string{"2", of("short"), of("long")}, words[3:])
}
