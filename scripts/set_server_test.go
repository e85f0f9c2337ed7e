package scripts

import (
	"fmt"
	"slices"
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

func TestBatchTakesASetWholeOrNotAtAll(t *testing.T) {
	m := newMaster(t)
	m.text("SET", "held", "other", "PX", "100000")
	m.text("SET", "mine", "t", "PX", "100000")
	require.Equal(t, "111"+"n0n"+"1"+"1"+"n0", m.batch(slices.Concat(
		set("&90000", "a", "b", "c"), set("&190000", "d", "held", "e"), []entry{{"mine", "t", "-"}}, set("&290000", "f"), set("&390000", "g", "c"))...))
	require.EqualValues(t, 5, m.number("DBSIZE"))
	m.requireTTL(90_000, "a")
	m.requireTTL(90_000, "c")
	m.requireTTL(290_000, "f")
	require.Equal(t, "token of c", m.text("GET", "c"))
	require.Empty(t, m.text(batchCommand(Batch.SHA1, set("&90000", "h", "i"))...))
}

func TestSetThatIsRefusedHalfwayLeavesNothing(t *testing.T) {
	m := newMaster(t)
	m.number("RPUSH", "list", "x")
	for _, names := range [][]string{{"list", "a"}, {"a", "list"}, {"a", "b", "list", "c"}} {
		votes := m.batch(set("&90000", names...)...)
		require.Equal(t, strings.Repeat("n", slices.Index(names, "list"))+"0"+strings.Repeat("n", len(names)-1-slices.Index(names, "list")), votes)
		require.EqualValues(t, 1, m.number("DBSIZE"))
	}
}

func TestSetThatFailsHalfwayLeavesNothing(t *testing.T) {
	m := newMaster(t)
	m.number("RPUSH", "list", "x")
	m.text("SET", "held", "another", "PX", "100000")
	for denied, want := range map[string]string{"-msetnx": "11", "-pexpire": "11", "-msetnx -set": "ee"} {
		m.text(append([]string{"ACL", "SETUSER", "limited", "reset", "on", "nopass", "~*", "+@all"}, strings.Fields(denied)...)...)
		m.text("AUTH", "limited", "any")
		votes, fault, _ := strings.Cut(m.batch(set("&90000", "a", "b")...), "\n")
		require.Equal(t, want, votes, denied)
		require.Equal(t, want == "ee", fault != "", fault)
		votes, _, _ = strings.Cut(m.batch(set("&90000", "c", "held")...), "\n")
		require.Equal(t, map[string]string{"11": "n0", "ee": "ee"}[want], votes)
		m.text("AUTH", "default", "")
		require.EqualValues(t, 2+strings.Count(want, "1"), m.number("DBSIZE"))
		if want == "11" {
			m.requireTTL(90_000, "a")
			m.requireTTL(90_000, "b")
		}
		m.number("DEL", "a", "b")
	}
}

func TestFullMasterTakesNoneOfASet(t *testing.T) {
	m := newMaster(t)
	m.text("CONFIG", "SET", "maxmemory", "1")
	defer m.text("CONFIG", "SET", "maxmemory", "0")
	votes, fault, _ := strings.Cut(m.batch(set("&90000", "a", "b")...), "\n")
	require.Equal(t, "ee", votes)
	require.Contains(t, fault, "OOM")
	require.EqualValues(t, 0, m.number("DBSIZE"))
}

func TestFencedAcquireTakesASetWholeOrNotAtAll(t *testing.T) {
	m := newMaster(t)
	for _, more := range [][]string{nil, {"msetex"}} {
		m.text("FLUSHALL")
		m.text("SET", fencedSet, "the set")
		m.text("SET", fencedMark, "the mark")
		m.text("SET", "held", "another", "PX", "100000")
		var registers []string
		for i := range 20 {
			registers = append(registers, fmt.Sprint(i), "5")
		}
		registers[2*10+1] = "text"
		m.number(append([]string{"HSET", fencedRegisters}, registers...)...)
		entries := slices.Concat(
			set("&90000", "a", "b"), set("&90000", "c", "held", "d"), set("&90000", "e", "f", "g"),
			[]entry{{"single", "t", "90000"}}, set("&90000", "h", "bad", "i"), set("&90000", "j", "k"))
		call := append(fencedCommand(FencedAcquire.SHA1, entries), more...)
		mark, answer, _ := strings.Cut(m.text(call...), "\n")
		require.Equal(t, "the mark", mark)
		words, fault, _ := strings.Cut(answer, "\n")
		require.Equal(t, "= = n 0 n = = = = e e e = =", words)
		require.Contains(t, fault, "register 10")
		for i, e := range entries {
			taken := strings.Fields(words)[i] == "="
			require.Equal(t, taken, e.name != "held" && m.exists(e.name), e.name)
			want := "1000000"
			if !taken {
				want = "5"
			}
			if i != 10 {
				require.Equal(t, want, m.text("HGET", fencedRegisters, fmt.Sprint(i)), "a refused set raises no register")
			}
			if taken {
				m.requireTTL(90_000, e.name)
			}
		}
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
	m.text("SET", fencedSet, "the set")
	m.text("SET", fencedMark, "the mark")
	m.number("HSET", fencedRegisters, "0", "1", "1", "1")
	m.text("ACL", "SETUSER", "limited", "reset", "on", "nopass", "~*", "+@all", "-msetnx", "-set")
	m.text("AUTH", "limited", "any")
	_, words, _ := strings.Cut(m.text(fencedCommand(FencedAcquire.SHA1, set("&90000", "a", "b"))...), "\n")
	words, fault, _ := strings.Cut(words, "\n")
	require.Equal(t, "e e", words)
	require.NotEmpty(t, fault)
	m.text("AUTH", "default", "")
	require.False(t, m.exists("a"))
	require.False(t, m.exists("b"))
}

func TestFencedEntryThatIsNotTriedNeedsNoRegister(t *testing.T) {
	m := newMaster(t)
	m.text("SET", fencedSet, "the set")
	m.text("SET", fencedMark, "the mark")
	m.text("SET", "held", "another", "PX", "90000")
	m.number("HSET", fencedRegisters, "1", "1")
	require.Equal(t, "the mark\nn 0", m.text(fencedCommand(FencedAcquire.SHA1, set("&90000", "a", "held"))...))
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
