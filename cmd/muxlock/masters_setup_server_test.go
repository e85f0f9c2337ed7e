package main

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
)

func TestMastersAreSetUpLockedOnReplacedAndRecovered(t *testing.T) {
	t.Parallel()
	servers := redistest.Masters(t, 4)
	all := redistest.Addrs(servers)
	on := func(addrs []string) *set {
		return &set{env: []string{"MUXLOCK_MASTERS=" + strings.Join(addrs, ","), "MUXLOCK_MAX_TTL=4s"}}
	}
	three, after := on(all[:3]), on(all[1:])
	const exec, init, replace = "exec --fencing --ttl 4s --master-timeout 2s name -- sh -c", "masters init --master-timeout 3900ms ", "masters replace --all-clients-fence --with "
	refused := func(s *set, want, line string) {
		t.Helper()
		stdout, stderr, code := s.run(t, line)
		require.Equal(t, exitRun, code, stderr)
		require.Empty(t, stdout)
		require.Contains(t, stderr, want)
	}
	fence := func(s *set) uint64 {
		t.Helper()
		n, err := strconv.ParseUint(strings.TrimSpace(s.ok(t, exec, "echo $MUXLOCK_FENCE")), 10, 64)
		require.NoError(t, err)
		return n
	}

	v := three.survey(t)
	require.False(t, v.OK)
	require.Contains(t, v.Masters[2].State, "not set up")
	require.Contains(t, three.says(t, exitOurs, exec, "true"), "muxlock masters init")
	refused(on([]string{all[0], nowhere}), "every master must be up: 127.0.0.1:1: ", init)
	require.Contains(t, three.ok(t, init+"--new-masters"), good)
	begun := time.Now()
	require.Contains(t, three.ok(t, init), good)
	require.Less(t, time.Since(begun), shortWait, "nothing is left to wait for")
	refused(three, "muxlock: masters are set up otherwise: 127.0.0.1:", init+"--max-ttl 5s")
	refused(three, "--max-ttl: here 5s, at the masters 4s", init+"--max-ttl 5s")
	v = three.survey(t)
	require.True(t, v.OK)
	require.Equal(t, member{all[0], v.Masters[0].Set, 2, 4 * time.Second, v.Masters[0].Members, true, "admitted", ""}, v.Masters[0])
	require.ElementsMatch(t, all[:3], v.Masters[0].Members)

	first := fence(three)

	for range 2 { // it may be run again
		require.Contains(t, three.ok(t, replace+all[3]+" --for "+all[0]), "configure all clients with "+all[3]+" in the place of "+all[0])
	}
	refused(three, "none of the masters", replace+all[3]+" --for "+nowhere)
	require.Contains(t, three.says(t, exitOurs, exec, "true"), "masters: here")
	v = after.survey(t)
	require.False(t, v.OK)
	require.Equal(t, 3, v.Masters[0].Generation)
	require.Contains(t, v.Masters[2].State, "lost its data: votes in 6s from when a client meets it")
	require.Contains(t, after.ok(t, "masters repair"), good)
	require.Greater(t, fence(after), first)

	for _, s := range servers[1:3] {
		redistest.Command(t, s, "FLUSHALL")
	}
	require.Contains(t, after.survey(t).Masters[1].Do, "muxlock masters init --recover")
	refused(after, "(--recover --above FENCE)", init)
	require.Contains(t, after.says(t, 0, init+"--recover --above 123456789"), "s left: ")
	require.Greater(t, fence(after), uint64(123456789))
}

func TestInitMayBeCutAndRunAgain(t *testing.T) {
	t.Parallel()
	s := ownSet(t).with("MUXLOCK_NEW_MASTERS=false")
	j := s.start(t, "masters init")
	j.log.await(t, "\n")
	j.ends(t, exitSignal+int(syscall.SIGINT), syscall.SIGINT)
	require.Regexp(t, `^muxlock: (30|29|28)s left: .*; Ctrl-C is safe.*\nmuxlock: interrupted: nothing is broken, run it again\n$`, j.log.String())
	require.False(t, s.survey(t).OK)
	s.ok(t, "masters init --new-masters")
}

func TestInitOfNewMastersAnnouncesNoWait(t *testing.T) {
	t.Parallel()
	s := ownSet(t)
	require.NoError(t, s.masters[2].Pause())
	defer s.masters[2].Resume()
	stderr := s.says(t, exitRun, "masters init")
	require.Contains(t, stderr, "every master must be up")
	require.NotContains(t, stderr, "left")
}
