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
		found     []admin.Member
		state, do string // of the first master found
		left      int
	}{
		{found: []admin.Member{votes("a", one), votes("b", one), votes("c", one)}, state: "admitted"},
		{found: []admin.Member{votes("a", one), votes("b", one)}, state: "admitted, but --masters names others", left: 2},
		{found: []admin.Member{{Address: "a"}, {Address: "b"}}, state: "not set up", do: recovery, left: 2},
		{found: []admin.Member{{Address: "a"}, votes("b", one), votes("c", one)}, state: "lost its data: votes in 32s from when a client meets it", do: restore, left: 1},
		{found: []admin.Member{at("a", one), votes("b", one), votes("c", one)}, state: "was restarted: votes in 32s from when a client meets it", do: restore, left: 1},
		{found: []admin.Member{waits("a", 23*time.Second+1), votes("b", one), votes("c", one)}, state: "lost its data: votes in 24s", do: restore, left: 1},
		{found: []admin.Member{waits("a", 0), votes("b", one), votes("c", one)}, state: "lost its data: its wait is over", do: restore, left: 1},
		{found: []admin.Member{waits("a", 0), down("b"), votes("c", one)}, state: "lost its data: needs 2 members that vote, 1 can be asked", do: bringBack, left: 2},
		{found: []admin.Member{waits("a", 0), votes("c", one)}, state: "lost its data: needs 2 members that vote, 1 can be asked", do: bringBack, left: 2},
		{found: []admin.Member{waits("a", 0), at("b", one), votes("c", one)}, state: "lost its data, like a majority", do: recovery, left: 2},
		{found: []admin.Member{at("a", one), at("b", one), at("c", one)}, state: "was restarted, like a majority", do: "muxlock masters repair --durable-masters; else " + recovery, left: 3},
		{found: []admin.Member{down("a"), votes("b", one), votes("c", one)}, state: "cannot be asked: hung", left: 1},
		{found: []admin.Member{votes("a", one), votes("b", two), at("d", fencing.Set{})}, state: "a replacement was cut", do: "run muxlock masters replace --for c --with d again", left: 2},
		{found: []admin.Member{votes("c", one), votes("a", two), votes("b", two)}, state: "is no master of the set", left: 3},
		{found: []admin.Member{at("a", begun), at("b", begun), at("c", begun)}, state: "setting up was cut", do: "run muxlock masters init again", left: 3},
		{found: []admin.Member{at("a", prepared), votes("b", one), votes("c", one)}, state: "setting up was cut", do: "run muxlock masters init again", left: 1},
		{found: []admin.Member{at("a", anew), votes("b", one), votes("c", one)}, state: "another set was begun there, or a recovery", do: restore, left: 1},
		{found: []admin.Member{at("a", older), at("b", older), at("c", older)}, state: "set up by an earlier version", do: "stop its engines, then " + recovery, left: 3},
		{found: []admin.Member{votes("b", one), votes("c", one), votes("a", other)}, state: "admitted", left: 1},
		{found: []admin.Member{votes("a", other), votes("b", one), votes("c", one)}, state: "admitted, but --masters names others", left: 3},
	} {
		s := surveyOf(c.found, 31302*time.Millisecond, false)
		require.Equal(t, c.left, s.left, c.state)
		require.Equal(t, c.state, s.Masters[0].State)
		require.Contains(t, s.Masters[0].Do, c.do)
		require.Equal(t, c.do == "", s.Masters[0].Do == "", c.state)
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
	e, err := engine.New(t.Context(), engine.Config{Masters: addrs, Fencing: true, MasterTimeout: 2 * time.Second})
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
