package groups

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func groupsOf(n int) (all []*group) {
	for i := range n {
		id := fmt.Sprint("group-", i)
		all = append(all, &group{id: id, hash: hash(id)})
	}
	return all
}

func TestNamesSpreadEvenlyOverGroups(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics")
	}
	const names = 40_000
	for _, form := range []string{"%d", "invoice:%d", "{tenant-%d}/lock", "a rather long name of a lock, with its number at the end: %08d"} {
		for _, n := range []int{2, 10, 100} {
			all, counts := groupsOf(n), make(map[string]int)
			for i := range names {
				counts[pick(all, hashed(fmt.Sprintf(form, i))).id]++
			}
			share := float64(names) / float64(n)
			for _, g := range all { // six standard deviations
				require.InDelta(t, share, counts[g.id], 6*math.Sqrt(share), "%s of %d groups, %q", g.id, n, form)
			}
		}
	}
}

func TestANewGroupTakesItsShareAndNothingElseMoves(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics")
	}
	const names = 40_000
	for _, n := range []int{1, 2, 10, 99} {
		all := groupsOf(n + 1)
		moved := 0
		for i := range names {
			name := fmt.Sprint("name", i)
			if before, after := pick(all[:n], name), pick(all, name); before != after {
				require.Same(t, all[n], after)
				moved++
			}
		}
		share := float64(names) / float64(n+1)
		require.InDelta(t, share, moved, 6*math.Sqrt(share), n)
	}
}

// All processes of all times must agree.
func TestNamesStayInTheirGroups(t *testing.T) {
	require.Equal(t, uint64(0xaf63dc4c8601ec8c), hash("a"), "FNV-1a")
	require.Equal(t, uint64(0xe220a8397b1dcdaf), mix(0x9e3779b97f4a7c15), "the first number of SplitMix64 with seed 0")
	all := groupsOf(10)
	var got string
	for _, name := range []string{"", "a", "b", "invoice:42", "invoice:43", "{tenant}/x", "{tenant}/y", "tenant", "\x00", "ü"} {
		got += pick(all, hashed(name)).id[len("group-"):]
	}
	require.Equal(t, "9761544483", got)
}

func TestATagDecidesOnTheGroup(t *testing.T) {
	for name, want := range map[string]string{
		"a": "a", "": "", "{t}": "t", "x{t}y": "t", "{t}{u}": "t", "{}": "{}", "{}{t}": "{}{t}", "{{t}}": "{t", "x{t": "x{t", "t}": "t}", "}{t}": "t", "{t}}": "t",
	} {
		require.Equal(t, want, hashed(name), name)
	}
}

func TestKeysOfANameLieInItsGroup(t *testing.T) {
	all := groupsOf(5)
	r := &router{prefix: "app:", all: all, now: all}
	for i := range 200 {
		name := fmt.Sprint("name ", i)
		one, _ := r.find("app:" + name)
		for _, slot := range []string{"0", "1", "63", ""} {
			of, _ := r.find("__muxlock__:slot:" + slot + ":app:" + name)
			require.Same(t, one, of)
			of, _ = r.find("__muxlock__:i:app:" + name)
			require.Same(t, one, of)
		}
	}
}
