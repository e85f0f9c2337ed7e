package scripts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReleasesThatAreRefusedAsAWholeAreTriedOneByOne(t *testing.T) {
	m := newMaster(t)
	for denied, want := range map[string]string{"-mget": "100", "-del": "e00"} {
		m.text("SET", "mine", "t", "PX", "100000")
		m.text("SET", "held", "another", "PX", "100000")
		whole := m.without(denied)
		votes, _, _ := strings.Cut(m.batch(entry{"mine", "t", "-"}, entry{"gone", "t", "-"}, entry{"held", "t", "-"}), "\n")
		require.Equal(t, want, votes, denied)
		m.hold(entry{name: "mine too", token: "t"})
		votes, _, _ = strings.Cut(m.batch(entry{"mine too", "t", "-"}), "\n")
		require.Equal(t, want[:1], votes, denied)
		whole()
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
