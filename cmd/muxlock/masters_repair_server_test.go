package main

import (
	"bufio"
	"os"
	"os/exec"
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

// fencedMasters starts masters, sets them up for fencing, and returns them with their addresses.
func fencedMasters(t *testing.T, n int, maxTTL string) ([]*redisserver.Server, string) {
	t.Helper()
	servers := redistest.Masters(t, n)
	addrs := strings.Join(redistest.Addrs(servers), ",")
	_, stderr, code := muxlock(t, "masters", "init", "--new-masters", "--max-ttl", maxTTL, "--master-timeout", "3900ms", "--masters", addrs)
	require.Zero(t, code, stderr)
	return servers, addrs
}

func TestRepairWaitsUntilAMasterThatLostItsDataVotes(t *testing.T) {
	t.Parallel()
	servers, addrs := fencedMasters(t, 3, "4s")
	restart(t, servers[0])
	ok, list := members(t, redistest.Addrs(servers))
	require.False(t, ok)
	require.Contains(t, list[0].State, "lost its data: votes in 6s from when a client meets it", "by the set's MaxTTL, which the command line does not have")
	begun := time.Now()
	stdout, stderr, code := muxlock(t, "masters", "repair", "--masters", addrs)
	require.Zero(t, code, stderr)
	require.GreaterOrEqual(t, time.Since(begun), 5*time.Second)
	require.Contains(t, stdout, "all 3 masters are admitted members of one set")
	require.Contains(t, stderr, servers[0].Addr()+" votes in ")
	require.Contains(t, stderr, "; Ctrl-C is safe, run it again then\n")
	_, stderr, code = muxlock(t, "masters", "repair", "--masters", addrs)
	require.Zero(t, code, stderr)
	require.NotContains(t, stderr, " votes in ", "nothing is left to wait for")
}

// A repair is a running muxlock masters repair.
type repair struct {
	*exec.Cmd
	said *bufio.Scanner
}

func startRepair(t *testing.T, addrs string) repair {
	t.Helper()
	cmd := exec.Command(binary, "masters", "repair", "--masters", addrs)
	cmd.Env = cleanEnv()
	out, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	return repair{cmd, bufio.NewScanner(out)}
}

// ends returns the last line and the exit code.
func (r repair) ends(t *testing.T) (last string, code int) {
	t.Helper()
	for r.said.Scan() {
		last = r.said.Text()
	}
	if err := r.Wait(); err != nil {
		require.IsType(t, (*exec.ExitError)(nil), err)
	}
	return last, r.ProcessState.ExitCode()
}

func TestRepairMayBeCutAndItsWaitGoesOn(t *testing.T) {
	t.Parallel()
	servers, addrs := fencedMasters(t, 3, "30s")
	restart(t, servers[1])
	begun := time.Now()
	r := startRepair(t, addrs)
	for require.True(t, r.said.Scan()); !strings.Contains(r.said.Text(), " votes in "); { // a busy machine has not begun yet
		require.True(t, r.said.Scan())
	}
	requireLeft(t, begun, r.said.Text(), `^muxlock: `+servers[1].Addr()+` votes in (\w+); Ctrl-C is safe, run it again then$`)
	require.NoError(t, r.Process.Signal(os.Interrupt))
	last, code := r.ends(t)
	require.Equal(t, exitSignal+int(syscall.SIGINT), code)
	require.Equal(t, "muxlock: interrupted: nothing is broken, run it again", last)
	_, list := members(t, redistest.Addrs(servers))
	requireLeft(t, begun, list[1].State, `votes in (\w+)$`)
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

func TestRepairOfAMajorityNamesTheRecoveryAndChangesNothing(t *testing.T) {
	t.Parallel()
	servers, addrs := fencedMasters(t, 3, "30s")
	for _, s := range servers[:2] {
		redistest.Command(t, s, "FLUSHALL")
	}
	stdout, stderr, code := muxlock(t, "masters", "repair", "--masters", addrs)
	require.Equal(t, exitRun, code)
	require.Contains(t, stdout, "lost its data, like a majority")
	require.Contains(t, stdout, "what to do: muxlock masters init --recover --above FENCE")
	require.Regexp(t, "largest fence that the masters know: [1-9]", stdout)
	require.Contains(t, stderr, "2 of 3 masters are not admitted members")
	require.Empty(t, redistest.Keys(t, servers[:2]...))
	ok, list := members(t, redistest.Addrs(servers))
	require.False(t, ok)
	require.Contains(t, list[0].State, "like a majority")
	require.Equal(t, "admitted", list[2].State)

	redistest.Command(t, servers[2], "FLUSHALL")
	stdout, _, code = muxlock(t, "masters", "repair", "--masters", addrs)
	require.Equal(t, exitRun, code)
	require.Contains(t, stdout, "if they were set up before: muxlock masters init --recover --above FENCE")
}

func TestRepairEndsWhenAMajorityLosesItsDataMeanwhile(t *testing.T) {
	t.Parallel()
	servers, addrs := fencedMasters(t, 3, "30s")
	restart(t, servers[0])
	r := startRepair(t, addrs)
	require.True(t, r.said.Scan(), "it waits")
	redistest.Command(t, servers[1], "FLUSHALL")
	last, code := r.ends(t)
	require.Equal(t, exitRun, code)
	require.Equal(t, "muxlock: 2 of 3 masters are not admitted members of one set", last)
}

func TestRepairNoticesAFlushOfAMasterThatHasVoted(t *testing.T) {
	t.Parallel()
	servers, addrs := fencedMasters(t, 5, "4s")
	restart(t, servers[0])
	r := startRepair(t, addrs)
	require.True(t, r.said.Scan(), "it waits")
	redistest.Command(t, servers[1], "FLUSHALL")
	last, code := r.ends(t)
	require.Zero(t, code, last)
	ok, _ := members(t, redistest.Addrs(servers))
	require.True(t, ok)
}

func TestRepairDoesNotWaitForAMasterThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	servers, addrs := fencedMasters(t, 5, "4s")
	restart(t, servers[0])
	require.NoError(t, servers[4].Pause()) // paused, since another test could take a freed port
	stdout, stderr, code := muxlock(t, "masters", "repair", "--master-timeout", "2s", "--masters", addrs)
	require.Equal(t, exitRun, code)
	require.Contains(t, stderr, "1 of 5 masters are not admitted members")
	require.Regexp(t, servers[0].Addr()+`.* admitted`, stdout)
	require.Regexp(t, servers[4].Addr()+`.* cannot be asked`, stdout)
}

func TestRepairSaysWhyAMasterThatLostItsDataIsNotAdmitted(t *testing.T) {
	t.Parallel()
	servers, addrs := fencedMasters(t, 3, "4s")
	redistest.Command(t, servers[0], "FLUSHALL")
	redistest.Command(t, servers[0], "CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru")
	r := startRepair(t, addrs)
	require.True(t, r.said.Scan(), "it says what it waits for")
	require.Contains(t, r.said.Text(), servers[0].Addr())
	require.Contains(t, r.said.Text(), "evicts keys")
	redistest.Command(t, servers[0], "CONFIG", "SET", "maxmemory-policy", "noeviction")
	last, code := r.ends(t)
	require.Zero(t, code, last)
}

// As by a set-up of other masters that named this one by mistake, and was cut: engines of the set admit no member of
// another one.
func TestRepairDoesNotWaitForAMasterOfASetThatWasBegun(t *testing.T) {
	t.Parallel()
	servers, addrs := fencedMasters(t, 3, "4s")
	redistest.Command(t, servers[0], "FLUSHALL")
	redistest.Command(t, servers[0], "SET", "__muxlock__:set", fencing.NewSet("another", 4*time.Second, []string{servers[0].Addr()}).String())
	stdout, stderr, code := muxlock(t, "masters", "repair", "--masters", addrs)
	require.Equal(t, exitRun, code)
	require.Contains(t, stdout, "another set was begun there")
	require.Contains(t, stderr, "1 of 3 masters are not admitted members")
	redistest.Command(t, servers[0], "FLUSHALL") // as it says
	_, stderr, code = muxlock(t, "masters", "repair", "--masters", addrs)
	require.Zero(t, code, stderr)
}

func TestRepairOfDurableMastersWaitsForNone(t *testing.T) {
	t.Parallel()
	servers := redistest.MastersWith(t, 3, redisserver.Options{Args: []string{"--appendonly", "yes", "--appendfsync", "always"}})
	addrs := strings.Join(redistest.Addrs(servers), ",")
	_, stderr, code := muxlock(t, "masters", "init", "--new-masters", "--max-ttl", "1h", "--masters", addrs)
	require.Zero(t, code, stderr)
	restart(t, servers[0])
	_, list := members(t, redistest.Addrs(servers))
	require.Contains(t, list[0].State, "was restarted: votes in 1h", "else")
	repair := func() (stdout string, code int) {
		t.Helper()
		stdout, stderr, code := muxlock(t, "masters", "repair", "--durable-masters", "--masters", addrs)
		require.NotContains(t, stderr, " votes in ", "no wait is announced")
		return stdout, code
	}
	stdout, code := repair()
	require.Zero(t, code)
	require.Contains(t, stdout, "all 3 masters are admitted members of one set")

	for _, m := range servers {
		restart(t, m)
	}
	stdout, _, code = muxlock(t, "masters", "repair", "--masters", addrs)
	require.Equal(t, exitRun, code)
	require.Contains(t, stdout, "what to do: where no restart loses data: muxlock masters repair --durable-masters; else muxlock masters init --recover")
	stdout, _, _ = muxlock(t, "masters", "status", "--durable-masters", "--masters", addrs)
	require.Equal(t, 3, strings.Count(stdout, "was restarted: votes once a client meets it\n"), stdout)
	stdout, code = repair()
	require.Zero(t, code, stdout)
	require.Contains(t, stdout, "all 3 masters are admitted members of one set")

	for _, m := range servers[:2] {
		redistest.Command(t, m, "FLUSHALL")
	}
	restart(t, servers[2])
	stdout, code = repair()
	require.Equal(t, exitRun, code, "a majority has lost its data all the same")
	require.Contains(t, stdout, "lost its data, like a majority")
}
