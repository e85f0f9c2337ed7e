package main

import (
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
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
		{found: []admin.Member{waits("a", 0), votes("b", one), votes("c", one)}, state: "lost its data: its wait is over, votes once a client meets it", do: restore, left: 1},
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

func TestStatusWaitsForTheVotesOfMastersWithoutASet(t *testing.T) {
	t.Parallel()
	s := ownSet(t)
	s.env = append(s.env, "MUXLOCK_MAX_TTL=2s", "MUXLOCK_MASTER_TIMEOUT=1s") // MUXLOCK_NEW_MASTERS would have all vote
	begun := time.Now()
	restart(t, s.masters[0])
	stdout, stderr, code := s.run(t, "masters", "status", "--wait")
	require.Zero(t, code, stderr)
	require.GreaterOrEqual(t, time.Since(begun), 3*time.Second)
	require.Regexp(t, s.masters[0].Addr()+` .*votes; not set up for fencing\n`, stdout)
	require.Contains(t, stdout, "all 3 masters vote; they are not set up for fencing\n")
	require.NotContains(t, stdout+stderr, "init", "nothing is to be done")
	require.Regexp(t, `^muxlock: `+s.masters[0].Addr()+` votes in [1-4]s; `+s.masters[1].Addr()+` votes in .*; Ctrl-C is safe, run it again then\n`, stderr)
	stdout, _, code = s.run(t, "masters", "status")
	require.Equal(t, exitRun, code, "without --wait, it shows the set")
	require.Contains(t, stdout, "not set up\n")

	for _, m := range s.masters[1:] { // no quorum answers
		require.NoError(t, m.Pause())
	}
	wait := s.start(t, "masters", "status", "--wait", "-o", "json")
	wait.log.await(t, s.masters[1].Addr()+" cannot be asked")
	for _, m := range s.masters[1:] {
		require.NoError(t, m.Resume())
	}
	require.Zero(t, wait.code(t), wait.log)
	var doc survey
	require.NoError(t, json.Unmarshal([]byte(wait.out.String()), &doc))
	require.True(t, doc.OK)
}

func TestStatusWaitsUntilMastersOfASetAreAdmitted(t *testing.T) {
	t.Parallel()
	s := newFencedSet(t)
	restart(t, s.masters[1])
	wait := s.start(t, "masters", "status", "--wait")
	wait.log.await(t, "running clients with fencing admit masters")
	wait.log.await(t, s.masters[1].Addr()+" lost its data: votes in 6s from when a client meets it; Ctrl-C is safe")
	cfg := s.config()
	cfg.MastersAreNew, cfg.Fencing, cfg.TTL, cfg.MaxTTL = false, true, s.cfg.MaxTTL, s.cfg.MaxTTL
	client, err := engine.New(t.Context(), cfg)
	require.NoError(t, err)
	defer client.Close()
	begun := time.Now()
	require.Zero(t, wait.code(t), wait.log)
	require.GreaterOrEqual(t, time.Since(begun), shortWait-time.Second, "the client met it just before")
	require.Contains(t, wait.out.String(), "all 3 masters are admitted members of one set\n")
}

func TestStatusDoesNotWaitWhereThatDoesNotHelp(t *testing.T) {
	t.Parallel()
	servers, addrs := fencedMasters(t, 3, "30s")
	for _, m := range servers[:2] {
		redistest.Command(t, m, "FLUSHALL")
	}
	stdout, stderr, code := muxlock(t, "masters", "status", "--wait", "--masters", addrs)
	require.Equal(t, exitRun, code, stderr)
	require.Contains(t, stdout, "lost its data, like a majority")
	redistest.Command(t, servers[2], "FLUSHALL")
	stdout, stderr, code = muxlock(t, "masters", "status", "--wait", "--fencing", "--masters", addrs)
	require.Equal(t, exitRun, code, "clients with fencing get no lock")
	require.Contains(t, stdout, "not set up\n")
	require.Equal(t, "muxlock: 3 of 3 masters are not admitted members of one set\n", stderr)
}

func TestStatusMayBeInterruptedWhileItWaits(t *testing.T) {
	t.Parallel()
	s := ownSet(t)
	wait := s.start(t, "masters", "status", "--wait")
	wait.log.await(t, "; Ctrl-C is safe, run it again then")
	require.NoError(t, wait.Process.Signal(os.Interrupt))
	require.Equal(t, exitSignal+int(syscall.SIGINT), wait.code(t))
	require.Empty(t, wait.out.String())
	wait.log.await(t, "muxlock: interrupted: nothing is broken, run it again")
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
