package main

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/fencing"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/redistest"
)

const good = "all 3 masters are admitted members of one set\n"

// survey is what masters status shows.
func (s *set) survey(t *testing.T) (v survey) {
	t.Helper()
	code := s.document(t, &v, "masters status")
	require.Equal(t, v.OK, code == exitOK)
	return v
}

// repairs starts a masters repair that has to wait, and returns when it has said what for.
func (s *set) repairs(t *testing.T, what string) *job {
	t.Helper()
	j := s.start(t, "masters repair")
	j.log.await(t, what)
	return j
}

func TestRepairWaitsUntilAMasterThatLostItsDataVotes(t *testing.T) {
	t.Parallel()
	s := fenced(t, 3, "4s")
	restart(t, s.masters[0])
	require.Contains(t, s.survey(t).Masters[0].State, "lost its data: votes in 6s from when a client meets it", "by the set's MaxTTL, which the command line does not have")
	begun := time.Now()
	s.prints(t, 0, good, s.masters[0].Addr()+" votes in .*; Ctrl-C is safe, run it again then\n", "masters repair")
	require.GreaterOrEqual(t, time.Since(begun), 5*time.Second)
	require.NotContains(t, s.says(t, 0, "masters repair"), " votes in ", "nothing is left to wait for")
}

func TestRepairMayBeCutAndItsWaitGoesOn(t *testing.T) {
	t.Parallel()
	s := fenced(t, 3, "30s")
	restart(t, s.masters[1])
	begun := time.Now()
	j := s.repairs(t, " votes in ")
	requireLeft(t, begun, j.log.String(), `muxlock: `+s.masters[1].Addr()+` votes in (\w+); Ctrl-C is safe, run it again then\n$`)
	j.ends(t, exitSignal+int(syscall.SIGINT), syscall.SIGINT)
	require.True(t, strings.HasSuffix(j.log.String(), "\nmuxlock: interrupted: nothing is broken, run it again\n"), j.log)
	requireLeft(t, begun, s.survey(t).Masters[1].State, `votes in (\w+)$`)
}

// requireLeft requires a text of what is left of a wait that was begun after a time, with leases of
// at most 30 s.
func requireLeft(t *testing.T, begun time.Time, text, pattern string) {
	t.Helper()
	const wait = 31302 * time.Millisecond
	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	require.Len(t, match, 2, text)
	left, err := time.ParseDuration(match[1])
	require.NoError(t, err)
	require.GreaterOrEqual(t, left, wait-time.Since(begun))
	require.LessOrEqual(t, left, 32*time.Second, "whole seconds, rounded up")
}

func TestRepairAndWaitOfAMajorityNameTheRecoveryAndChangeNothing(t *testing.T) {
	t.Parallel()
	s := fenced(t, 3, "30s")
	for _, m := range s.masters[:2] {
		redistest.Command(t, m, "FLUSHALL")
	}
	for _, command := range []string{"masters repair", "masters status --wait"} {
		s.prints(t, exitRun, `lost its data, like a majority\n(.*\n)*what to do: muxlock masters init --recover --above FENCE.*\nlargest fence that the masters know: [1-9]`,
			"2 of 3 masters are not admitted members", command)
		require.Empty(t, redistest.Keys(t, s.masters[:2]...))
	}
	v := s.survey(t)
	require.False(t, v.OK)
	require.Contains(t, v.Masters[0].State, "like a majority")
	require.Equal(t, "admitted", v.Masters[2].State)

	redistest.Command(t, s.masters[2], "FLUSHALL")
	for _, command := range []string{"masters repair", "masters status --wait"} { // clients with fencing get no lock
		s.prints(t, exitRun, `not set up\n(.*\n)*.*if they were set up before: muxlock masters init --recover --above FENCE`, "^muxlock: 3 of 3 masters are not admitted members of one set\n$", command)
	}
}

func TestRepairEndsWhenAMajorityLosesItsDataMeanwhile(t *testing.T) {
	t.Parallel()
	s := fenced(t, 3, "30s")
	restart(t, s.masters[0])
	j := s.repairs(t, "\n")
	redistest.Command(t, s.masters[1], "FLUSHALL")
	j.ends(t, exitRun)
	require.Contains(t, j.log.String(), "\nmuxlock: 2 of 3 masters are not admitted members of one set\n")
}

func TestRepairNoticesAFlushOfAMasterThatHasVoted(t *testing.T) {
	t.Parallel()
	s := fenced(t, 5, "4s")
	restart(t, s.masters[0])
	j := s.repairs(t, "\n")
	redistest.Command(t, s.masters[1], "FLUSHALL")
	j.ends(t, 0)
	require.True(t, s.survey(t).OK)
}

func TestRepairDoesNotWaitForAMasterThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	s := fenced(t, 5, "4s")
	restart(t, s.masters[0])
	require.NoError(t, s.masters[4].Pause()) // paused, since another test could take a freed port
	s.prints(t, exitRun, s.masters[0].Addr()+`.* admitted\n(.*\n)*`+s.masters[4].Addr()+`.* cannot be asked`, "1 of 5 masters are not admitted members", "masters repair")
}

func TestRepairSaysWhyAMasterThatLostItsDataIsNotAdmitted(t *testing.T) {
	t.Parallel()
	s := fenced(t, 3, "4s")
	redistest.Command(t, s.masters[0], "FLUSHALL")
	redistest.Command(t, s.masters[0], "CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru")
	j := s.repairs(t, "\n")
	require.Regexp(t, s.masters[0].Addr()+".*evicts keys", j.log.String())
	redistest.Command(t, s.masters[0], "CONFIG", "SET", "maxmemory-policy", "noeviction")
	j.ends(t, 0)
}

// As by a set-up of other masters that named this one by mistake, and was cut: engines of the set admit no member of
// another one.
func TestRepairDoesNotWaitForAMasterOfASetThatWasBegun(t *testing.T) {
	t.Parallel()
	s := fenced(t, 3, "4s")
	redistest.Command(t, s.masters[0], "FLUSHALL")
	redistest.Command(t, s.masters[0], "SET", "__muxlock__:set", fencing.NewSet("another", 4*time.Second, []string{s.masters[0].Addr()}).String())
	s.prints(t, exitRun, "another set was begun there", "1 of 3 masters are not admitted members", "masters repair")
	redistest.Command(t, s.masters[0], "FLUSHALL") // as it says
	s.ok(t, "masters repair")
}

func TestRepairOfDurableMastersWaitsForNone(t *testing.T) {
	t.Parallel()
	s := fencedSetOf(t, redistest.MastersWith(t, 3, redisserver.Options{Args: []string{"--appendonly", "yes", "--appendfsync", "always"}}), "1h")
	restart(t, s.masters[0])
	require.Contains(t, s.survey(t).Masters[0].State, "was restarted: votes in 1h", "else")
	repair := func(code int, want string) {
		t.Helper()
		stdout, stderr, got := s.run(t, "masters repair --durable-masters")
		require.Equal(t, code, got, stderr)
		require.NotContains(t, stderr, " votes in ", "no wait is announced")
		require.Contains(t, stdout, want)
	}
	repair(0, good)

	for _, m := range s.masters {
		restart(t, m)
	}
	s.prints(t, exitRun, "what to do: where no restart loses data: muxlock masters repair --durable-masters; else muxlock masters init --recover", "", "masters repair")
	stdout, _, _ := s.run(t, "masters status --durable-masters")
	require.Equal(t, 3, strings.Count(stdout, "was restarted: votes once a client meets it\n"), stdout)
	repair(0, good)

	for _, m := range s.masters[:2] {
		redistest.Command(t, m, "FLUSHALL")
	}
	restart(t, s.masters[2])
	repair(exitRun, "lost its data, like a majority") // all the same
}
