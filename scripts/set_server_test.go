package scripts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/limits"
)

// set returns entries of one set.
func set(lease string, names ...string) (entries []entry) {
	for _, name := range names {
		entries = append(entries, entry{name, "token of " + name, lease + "#" + names[0]})
	}
	return entries
}

func TestSetThatFailsHalfwayLeavesNothing(t *testing.T) {
	m := newMaster(t)
	m.number("RPUSH", "list", "x")
	m.text("SET", "held", "another", "PX", "100000")
	for denied, want := range map[string]string{"-msetnx": "11", "-pexpire": "11", "-msetnx -set": "ee"} {
		whole := m.without(strings.Fields(denied)...)
		votes, fault, _ := strings.Cut(m.batch(set("&90000", "a", "b")...), "\n")
		require.Equal(t, want, votes, denied)
		require.Equal(t, want == "ee", fault != "", fault)
		votes, _, _ = strings.Cut(m.batch(set("&90000", "c", "held")...), "\n")
		require.Equal(t, map[string]string{"11": "n0", "ee": "ee"}[want], votes)
		whole()
		require.EqualValues(t, 2+strings.Count(want, "1"), m.number("DBSIZE"))
		if want == "11" {
			m.requireTTL(90_000, "a")
			m.requireTTL(90_000, "b")
		}
		m.number("DEL", "a", "b")
	}
}

func TestFullMasterTakesNoneOfASetOrChoice(t *testing.T) {
	m := newMaster(t)
	m.text("CONFIG", "SET", "maxmemory", "1")
	defer m.text("CONFIG", "SET", "maxmemory", "0")
	for how, want := range map[string]string{"&90000": "ee", "|90000": "en"} {
		votes, fault, _ := strings.Cut(m.batch(set(how, "a", "b")...), "\n")
		require.Equal(t, want, votes)
		require.Contains(t, fault, "OOM")
		require.EqualValues(t, 0, m.number("DBSIZE"))
	}
}

func TestFencedSetThatIsRefusedHalfwayLeavesNothing(t *testing.T) {
	m := newMaster(t)
	m.text("SET", fencedSet, "the set")
	m.text("SET", fencedMark, "the mark")
	m.number("HSET", fencedRegisters, "0", "1", "1", "1", "2", "1", "3", "1")
	m.number("RPUSH", "list", "x")
	_, words, _ := strings.Cut(m.text(fencedCommand(FencedAcquire.SHA1, append(set("&90000", "a", "list", "b"), set("&90000", "c")...))...), "\n")
	require.Equal(t, "n 0 n =", words)
	require.False(t, m.exists("a"))
	require.False(t, m.exists("b"))
	m.requireTTL(90_000, "c")
}

func TestFencedSetThatFailsLeavesNothingAndSaysWhy(t *testing.T) {
	m := newMaster(t)
	m.member("1", "1")
	whole := m.without("-msetnx", "-set")
	_, words, _ := strings.Cut(m.text(fencedCommand(FencedAcquire.SHA1, set("&90000", "a", "b"))...), "\n")
	words, fault, _ := strings.Cut(words, "\n")
	require.Equal(t, "e e", words)
	require.NotEmpty(t, fault)
	whole()
	require.False(t, m.exists("a"))
	require.False(t, m.exists("b"))
}

func TestTheLargestSet(t *testing.T) {
	m := newMaster(t)
	var names []string
	for i := range limits.SetNames {
		names = append(names, fmt.Sprint("k", i))
	}
	require.Equal(t, strings.Repeat("1", limits.SetNames), m.batch(set("&90000", names...)...))
	require.EqualValues(t, limits.SetNames, m.number("DBSIZE"))
	others := make([]string, limits.SetNames-1)
	for i := range others {
		others[i] = fmt.Sprint("other", i)
	}
	require.Equal(t, strings.Repeat("n", limits.SetNames-1)+"0", m.batch(set("&90000", append(others, "k7")...)...))
}
