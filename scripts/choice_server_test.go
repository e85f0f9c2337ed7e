package scripts

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBatchTakesTheFirstOfAChoiceThatIsFree(t *testing.T) {
	m := newMaster(t)
	m.text("SET", "held", "other", "PX", "100000")
	m.text("SET", "mine", "t", "PX", "100000")
	m.number("RPUSH", "list", "x")
	require.Equal(t, "1nn"+"01n"+"1"+"00"+"1"+"001", m.batch(slices.Concat(
		set("|90000", "a", "b", "c"), set("|190000", "held", "d", "e"), []entry{{"mine", "t", "-"}},
		set("|290000", "a", "held"), set("|390000", "f"), set("|490000", "a", "list", "g"))...))
	m.requireTTL(90_000, "a")
	m.requireTTL(190_000, "d")
	m.requireTTL(390_000, "f")
	m.requireTTL(490_000, "g")
	require.Equal(t, "token of d", m.text("GET", "d"))
	require.EqualValues(t, 6, m.number("DBSIZE"), "four of them, the held one and the list")
}

func TestChoiceThatFailsTakesNothing(t *testing.T) {
	m := newMaster(t)
	m.text("CONFIG", "SET", "maxmemory", "1")
	defer m.text("CONFIG", "SET", "maxmemory", "0")
	votes, fault, _ := strings.Cut(m.batch(set("|90000", "a", "b")...), "\n")
	require.Equal(t, "en", votes)
	require.Contains(t, fault, "OOM")
	require.EqualValues(t, 0, m.number("DBSIZE"))
}

func TestFencedAcquireTakesTheFirstOfAChoiceThatIsFree(t *testing.T) {
	m := newMaster(t)
	for _, more := range [][]string{nil, {"msetex"}} {
		m.text("FLUSHALL")
		m.text("SET", fencedSet, "the set")
		m.text("SET", fencedMark, "the mark")
		m.text("SET", "held", "another", "PX", "100000")
		m.text("SET", "held too", "another", "PX", "100000")
		m.number("HSET", fencedRegisters, "0", "5", "1", "5", "2", "5", "3", "2000000", "4", "5", "5", "text", "6", "5", "7", "5", "8", "5", "9", "5")
		entries := slices.Concat(set("|90000", "a", "b"), set("|190000", "held", "c", "d"), set("|290000", "bad", "e"), set("|390000", "held too"), set("&490000", "f", "g"))
		_, answer, _ := strings.Cut(m.text(append(fencedCommand(FencedAcquire.SHA1, entries), more...)...), "\n")
		words, fault, _ := strings.Cut(answer, "\n")
		require.Equal(t, "= n 0 2000001 n e n 0 = =", words)
		require.Contains(t, fault, "register 5")
		for i, e := range entries {
			free := strings.Contains("e n", strings.Fields(words)[i])
			require.Equal(t, !free, m.exists(e.name), e.name)
			if free && i != 5 {
				require.Equal(t, "5", m.text("HGET", fencedRegisters, string(rune('0'+i))), "what was not taken raises no register")
			}
		}
		m.requireTTL(90_000, "a")
		m.requireTTL(190_000, "c")
		m.requireTTL(490_000, "g")
	}
}

func TestFencedChoiceOfAnotherTypeTakesNothing(t *testing.T) {
	m := newMaster(t)
	m.text("SET", fencedSet, "the set")
	m.text("SET", fencedMark, "the mark")
	m.number("HSET", fencedRegisters, "0", "1", "1", "1", "2", "1")
	m.text("SET", "held", "another", "PX", "100000")
	m.number("RPUSH", "list", "x")
	_, words, _ := strings.Cut(m.text(fencedCommand(FencedAcquire.SHA1, set("|90000", "held", "list", "a"))...), "\n")
	require.Equal(t, "0 0 n", words)
	require.Equal(t, "another", m.text("GET", "held"))
	require.False(t, m.exists("a"))
}
