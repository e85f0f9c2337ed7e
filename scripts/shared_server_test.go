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

// of returns the token of a reader with a short name.
func of(name string) string { return fmt.Sprintf("~%-24s@", name) }

// shared calls shared.lua with entries, without fencing.
func (m testMaster) shared(entries ...entry) string {
	m.t.Helper()
	var names, intents, tokens []string
	for _, e := range entries {
		names, intents, tokens = append(names, e.name), append(intents, "intent of "+e.name), append(tokens, e.token)
	}
	call := slices.Concat([]string{"EVALSHA", Shared.SHA1, strconv.Itoa(2 * len(entries))}, names, intents, []string{""}, tokens, runsOf(entries))
	return votesOf(m.text(call...), len(entries))
}

func TestReaderThatRanOutIsNeitherExtendedNorInTheWay(t *testing.T) {
	m := newMaster(t)
	require.Equal(t, "11", m.shared(entry{"a", of("short"), "100"}, entry{"a", of("long"), "90000"}))
	time.Sleep(105 * time.Millisecond) // until it has run out
	require.Equal(t, "01", m.shared(entry{"a", of("short"), "+90000"}, entry{"a", of("other"), "90000"}))
	require.EqualValues(t, 2, m.number("ZCARD", "a"), "a new reader removes it")
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
	m.without("-mget")
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
		whole := m.without(strings.TrimSpace(denied))
		votes, fault, _ := strings.Cut(m.shared(entry{"a", of("t"), "50000"}), "\n")
		whole()
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
