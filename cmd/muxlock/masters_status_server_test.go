package main

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/fencing"
)

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
	s := ownSet(t).with("MUXLOCK_MAX_TTL=2s", "MUXLOCK_MASTER_TIMEOUT=1s") // MUXLOCK_NEW_MASTERS would have all vote
	begun := time.Now()
	restart(t, s.masters[0])
	stdout, stderr, code := s.run(t, "masters status --wait")
	require.Zero(t, code, stderr)
	require.GreaterOrEqual(t, time.Since(begun), 2*time.Second)
	require.Regexp(t, s.masters[0].Addr()+` .*votes; not set up for fencing\n`, stdout)
	require.Contains(t, stdout, "all 3 masters vote; they are not set up for fencing\n")
	require.NotContains(t, stdout+stderr, "init", "nothing is to be done")
	require.Regexp(t, `^muxlock: `+s.masters[0].Addr()+` votes in [1-4]s; `+s.masters[1].Addr()+` votes in .*; Ctrl-C is safe, run it again then\n`, stderr)
	stdout, _, code = s.run(t, "masters status")
	require.Equal(t, exitRun, code, "without --wait, it shows the set")
	require.Contains(t, stdout, "not set up\n")

	for _, m := range s.masters[1:] { // no quorum answers
		require.NoError(t, m.Pause())
	}
	wait := s.start(t, "masters status --wait -o json")
	wait.log.await(t, s.masters[1].Addr()+" cannot be asked")
	for _, m := range s.masters[1:] {
		require.NoError(t, m.Resume())
	}
	wait.ends(t, 0)
	require.Contains(t, wait.out.String(), `"ok": true`)
}

func TestStatusWaitsUntilMastersOfASetAreAdmitted(t *testing.T) {
	t.Parallel()
	s := fenced(t, 3, "4s")
	restart(t, s.masters[1])
	wait := s.start(t, "masters status --wait")
	wait.log.await(t, "running clients with fencing admit masters")
	wait.log.await(t, s.masters[1].Addr()+" lost its data: votes in 6s from when a client meets it; Ctrl-C is safe")
	cfg := s.config()
	cfg.MastersAreNew, cfg.Fencing, cfg.TTL, cfg.MaxTTL = false, true, 4*time.Second, 4*time.Second
	client, err := engine.New(t.Context(), cfg)
	require.NoError(t, err)
	defer client.Close()
	begun := time.Now()
	wait.ends(t, 0)
	require.GreaterOrEqual(t, time.Since(begun), shortWait-time.Second, "the client met it just before")
	require.Contains(t, wait.out.String(), good)
}

func TestStatusShowsTheLargestFenceThatAnyMasterKnows(t *testing.T) {
	t.Parallel()
	s := ownSet(t)
	require.Zero(t, s.survey(t).LargestFence)
	s.ok(t, "masters init")
	before := s.survey(t).LargestFence
	fence, err := strconv.ParseUint(strings.TrimSpace(s.ok(t, "exec --new-masters=false --fencing name -- sh -c", "echo $MUXLOCK_FENCE")), 10, 64)
	require.NoError(t, err)
	largest := s.survey(t).LargestFence
	require.Greater(t, largest, before)
	require.GreaterOrEqual(t, largest, fence)
	require.Contains(t, s.ok(t, "masters status"), "largest fence that the masters know: "+strconv.FormatUint(largest, 10))
}
