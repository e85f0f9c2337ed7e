package main

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/fencing"
	"muxlock/internal/testing/redistest"
)

// members is what status shows of each master.
func members(t *testing.T, addrs []string) (ok bool, list []member) {
	t.Helper()
	stdout, stderr, code := muxlock(t, "masters", "status", "--masters", strings.Join(addrs, ","), "-o", "json")
	var doc struct {
		OK      bool
		Masters []member
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &doc), stderr)
	require.Equal(t, doc.OK, code == exitOK, stderr)
	return doc.OK, doc.Masters
}

func TestStatusSaysWhyAMasterDoesNotVoteAndWhatToDo(t *testing.T) {
	abc := []string{"a", "b", "c"}
	begun := fencing.NewSet("one", time.Second, abc)
	prepared := begun.Next(abc)
	one := prepared.Next(abc)
	two := one.Next([]string{"a", "b", "d"})
	anew := fencing.NewSet("anew", time.Second, abc)
	other := fencing.NewSet("other", time.Second, []string{"a"}).Next([]string{"a"}).Next([]string{"a"})
	older := one
	older.Older = true
	at := func(address string, set fencing.Set) admin.Member {
		return admin.Member{Address: address, Set: admin.Set(set)}
	}
	votes := func(address string, set fencing.Set) admin.Member {
		return admin.Member{Address: address, Set: admin.Set(set), Admitted: true}
	}
	down := func(address string) admin.Member {
		return admin.Member{Address: address, Err: errors.New("hung")}
	}
	waits := func(address string, left time.Duration) admin.Member {
		return admin.Member{Address: address, Waits: true, Left: left}
	}
	const restore, recovery = "muxlock masters repair", "muxlock masters init --recover --above FENCE"
	for _, c := range []struct {
		found    []admin.Member
		want, do string // of the first
		left     int
	}{
		{[]admin.Member{votes("a", one), votes("b", one), votes("c", one)}, "admitted", "", 0},
		{[]admin.Member{votes("a", one), votes("b", one)}, "admitted, but --masters names others", "", 2},
		{[]admin.Member{{Address: "a"}, {Address: "b"}}, "not set up", recovery, 2},
		{[]admin.Member{{Address: "a"}, votes("b", one), votes("c", one)}, "lost its data: votes in 32s from when a client meets it", restore, 1},
		{[]admin.Member{at("a", one), votes("b", one), votes("c", one)}, "was restarted: votes in 32s from when a client meets it", restore, 1},
		{[]admin.Member{waits("a", 23*time.Second+1), votes("b", one), votes("c", one)}, "lost its data: votes in 24s", restore, 1},
		{[]admin.Member{waits("a", 0), votes("b", one), votes("c", one)}, "lost its data: its wait is over", restore, 1},
		{[]admin.Member{waits("a", 0), down("b"), votes("c", one)}, "lost its data: needs 2 members that vote, 1 can be asked", restore, 2},
		{[]admin.Member{waits("a", 0), votes("c", one)}, "lost its data: needs 2 members that vote, 1 can be asked", restore, 2},
		{[]admin.Member{waits("a", 0), at("b", one), votes("c", one)}, "lost its data, like too many", recovery, 2},
		{[]admin.Member{at("a", one), at("b", one), at("c", one)}, "was restarted, like too many", "MastersAreDurable; else " + recovery, 3},
		{[]admin.Member{down("a"), votes("b", one), votes("c", one)}, "cannot be asked: hung", "", 1},
		{[]admin.Member{votes("a", one), votes("b", two), at("d", fencing.Set{})}, "a replacement was cut", "run muxlock masters replace --for c --with d again", 2},
		{[]admin.Member{votes("c", one), votes("a", two), votes("b", two)}, "is no master of the set", "", 3},
		{[]admin.Member{at("a", begun), at("b", begun), at("c", begun)}, "setting up was cut", "run muxlock masters init again", 3},
		{[]admin.Member{at("a", prepared), votes("b", one), votes("c", one)}, "setting up was cut", "run muxlock masters init again", 1},
		{[]admin.Member{at("a", anew), votes("b", one), votes("c", one)}, "lost its data: votes in 32s from when a client meets it", restore, 1}, // a recovery that was cut
		{[]admin.Member{at("a", older), at("b", older), at("c", older)}, "set up by an earlier version", "stop its engines, then " + recovery, 3},
		{[]admin.Member{votes("b", one), votes("c", one), votes("a", other)}, "admitted", "", 1},
		{[]admin.Member{votes("a", other), votes("b", one), votes("c", one)}, "admitted, but --masters names others", "", 3},
	} {
		s := surveyOf(c.found, 31302*time.Millisecond)
		require.Equal(t, c.left, s.left, c.want)
		require.Equal(t, c.want, s.Masters[0].State)
		require.Contains(t, s.Masters[0].Do, c.do)
		require.Equal(t, c.do == "", s.Masters[0].Do == "", c.want)
	}
}

func TestStatusShowsTheLargestFenceThatAnyMasterKnows(t *testing.T) {
	t.Parallel()
	addrs := redistest.Addrs(redistest.Masters(t, 3))
	line := strings.Join(addrs, ",")
	largest := func() uint64 {
		stdout, stderr, _ := muxlock(t, "masters", "status", "--masters", line, "-o", "json")
		var doc struct {
			LargestFence uint64 `json:"largest_fence"`
		}
		require.NoError(t, json.Unmarshal([]byte(stdout), &doc), stderr)
		return doc.LargestFence
	}
	require.Zero(t, largest())
	_, stderr, code := muxlock(t, "masters", "init", "--new-masters", "--masters", line)
	require.Zero(t, code, stderr)
	before := largest()
	e, err := engine.New(t.Context(), engine.Config{Masters: addrs, Fencing: true})
	require.NoError(t, err)
	defer e.Close()
	lock, err := e.Acquire(t.Context(), "x", 0)
	require.NoError(t, err)
	require.NoError(t, lock.Release(t.Context()))
	require.Greater(t, largest(), before)
	require.GreaterOrEqual(t, largest(), lock.Fence())
	stdout, _, _ := muxlock(t, "masters", "status", "--masters", line)
	require.Contains(t, stdout, "largest fence that the masters know: "+strconv.FormatUint(largest(), 10))
}
