package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine/admin"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/redistest"
)

func TestExecEndsWithTheExitCodeOfItsCommandAndFreesTheName(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	for script, want := range map[string]int{
		"exit 0": 0, "exit 1": 1, "exit 2": 2, "exit 77": 77, "exit 255": 255,
		"kill -TERM $$": exitSignal + 15, "kill -KILL $$": exitSignal + 9, "kill -INT $$": exitSignal + 2,
	} {
		stdout, stderr, code := s.run(t, "exec", "name", "--", "sh", "-c", script)
		require.Equal(t, want, code, "%s: %s", script, stderr)
		require.Empty(t, stdout+stderr, script)
		require.Empty(t, redistest.Keys(t, s.masters...), script)
	}
}

func TestTheCommandHasStandardInputAndOutputAndItsArguments(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	j := s.start(t, "exec", "name", "--", "sh", "-c", `echo "$0 $1"; echo said >&2; exit 3`, "--ttl", "a b")
	require.Equal(t, 3, j.code(t))
	require.Equal(t, "--ttl a b\n", j.out.String())
	require.Equal(t, "said\n", j.log.String())
}

func TestACommandThatCannotBeStartedIsFoundOutBeforeAnythingIsLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text, noProgram := filepath.Join(dir, "text"), filepath.Join(dir, "program")
	require.NoError(t, os.WriteFile(text, []byte("text"), 0o600))
	require.NoError(t, os.WriteFile(noProgram, []byte("\x7fELF, or not"), 0o700))
	const nowhere = "127.0.0.1:1" // connecting would take until --wait
	for command, want := range map[string]int{"no-such-command": exitNotFound, filepath.Join(dir, "nothing"): exitNotFound, text: exitCannotRun, dir: exitCannotRun} {
		_, stderr, code := muxlock(t, "exec", "--masters", nowhere, "name", "--", command)
		require.Equal(t, want, code, stderr)
		require.True(t, strings.HasPrefix(stderr, "muxlock: "+command+": "), stderr)
	}
	s := newSet(t) // only the kernel can tell that this file is no program
	_, stderr, code := s.run(t, "exec", "name", "--", noProgram)
	require.Equal(t, exitCannotRun, code)
	require.Equal(t, "muxlock: "+noProgram+": cannot be started: exec format error\n", stderr)
	require.Empty(t, redistest.Keys(t, s.masters...))
}

func TestTryAndWaitEndWithCodesOfTheirOwnWhileAnotherOneHolds(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	s.hold(t, "name")
	stdout, stderr, code := s.run(t, "exec", "--try", "name", "--", "echo", "ran")
	require.Equal(t, exitTaken, code)
	require.Equal(t, "muxlock: \"name\": lock is taken by the test\n", stderr)
	require.Empty(t, stdout)
	stdout, stderr, code = s.run(t, "exec", "--wait", asks, "name", "--", "echo", "ran")
	require.Equal(t, exitTimeout, code)
	require.Equal(t, "muxlock: \"name\" not acquired within "+asks+": lock is taken by the test\n", stderr)
	require.Empty(t, stdout)
}

func TestWaitZeroThatIsGivenIsNotToWait(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	s.hold(t, "name")
	for _, args := range [][]string{{"--wait", "0"}, {"--wait=0s", "--try"}} {
		_, stderr, code := s.run(t, append(append([]string{"exec"}, args...), "name", "--", "true")...)
		require.Equal(t, exitTaken, code)
		require.Equal(t, "muxlock: \"name\": lock is taken by the test\n", stderr)
	}
}

func TestQuietAndConflictExitCodeAreForAnotherHolderOnly(t *testing.T) {
	t.Parallel()
	s := ownSet(t)
	lock := s.hold(t, "name")
	run := func(args ...string) (stderr string, code int) {
		t.Helper()
		stdout, stderr, code := s.run(t, append(append([]string{"exec", "-q", "-E", "0"}, args...), "name", "--", "sh", "-c", "exit 7")...)
		require.Empty(t, stdout)
		return stderr, code
	}
	for _, args := range [][]string{{"--try"}, {"--wait", asks}} {
		stderr, code := run(args...)
		require.Zero(t, code, stderr)
		require.Empty(t, stderr)
	}
	require.NoError(t, lock.Release(t.Context()))
	stderr, code := run("--try")
	require.Equal(t, 7, code, stderr)
	redistest.Down(t, s.masters[0])
	redistest.Down(t, s.masters[1])
	stderr, code = run("--try")
	require.Equal(t, exitOurs, code)
	require.Contains(t, stderr, "connection refused")
	stderr, code = run("--wait", asks)
	require.Equal(t, exitTimeout, code)
	require.Contains(t, stderr, `"name" not acquired within `+asks+`: no quorum`)
}

func TestAWaitThatIsTooShortNamesEachMasterOnce(t *testing.T) {
	t.Parallel()
	_, stderr, code := muxlock(t, "exec", "--masters", nowhere, "--wait", "1ns", "name", "--", "true")
	require.Equal(t, exitTimeout, code)
	require.Equal(t, "muxlock: \"name\" not acquired within 1ns: no quorum of masters: 0 of 1 masters were admitted, 1 are needed; "+nowhere+": context deadline exceeded\n", stderr)
}

func TestExecWaitsForTheHolderBeforeIt(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	lock := s.hold(t, "name")
	j := s.start(t, "exec", "name", "--", "echo", "ran")
	require.Eventually(t, func() bool { // refused, it has asked this master to notify it
		return strings.Contains(redistest.Command(t, s.masters[0], "INFO", "stats").(string), "tracking_total_keys:1")
	}, limit, time.Millisecond)
	require.Empty(t, j.out.String())
	require.NoError(t, lock.Release(t.Context()))
	require.Zero(t, j.code(t), j.log)
	require.Equal(t, "ran\n", j.out.String())
}

func TestTryIsNotRefusedBecauseOthersSplitTheVotes(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	for key, args := range map[string][]string{"name": {"--try"}, "__muxlock__:slot:0:name": {"--try", "--permits", "1"}} {
		for i, m := range s.masters[:2] { // like two contenders that came at the same moment, before they give up
			redistest.Command(t, m, "SET", key, "another "+strconv.Itoa(i), "PX", "200")
		}
		stdout, stderr, code := s.run(t, append(append([]string{"exec"}, args...), "name", "--", "echo", "ran")...)
		require.Zero(t, code, stderr)
		require.Equal(t, "ran\n", stdout)
	}
}

func TestOfThoseWhoTryAtOnceOneRuns(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	end := filepath.Join(t.TempDir(), "end")
	const all = 8
	ended := make(chan *job, all)
	for range all {
		j := s.start(t, "exec", "--try", "name", "--", "sh", "-c", `while ! [ -e "$0" ]; do sleep 0.01; done`, end)
		go func() { <-j.done; ended <- j }()
	}
	for range all - 1 {
		j := <-ended
		require.Equal(t, exitTaken, j.code(t), j.log)
	}
	require.NoError(t, os.WriteFile(end, nil, 0o600))
	j := <-ended
	require.Zero(t, j.code(t), j.log)
}

func TestASetThatCannotBeReachedIsTriedUntilWait(t *testing.T) {
	t.Parallel()
	s := ownSet(t)
	redistest.Down(t, s.masters[0])
	up := redistest.Down(t, s.masters[1])
	_, stderr, code := s.run(t, "exec", "--wait", asks, "name", "--", "echo", "ran")
	require.Equal(t, exitTimeout, code)
	require.Contains(t, stderr, "muxlock: waiting for the masters: no quorum of masters: 1 of 3 masters were admitted")
	require.Contains(t, stderr, `"name" not acquired within `+asks+`: no quorum`)
	_, stderr, code = s.run(t, "exec", "--try", "name", "--", "echo", "ran")
	require.Equal(t, exitOurs, code)
	require.Contains(t, stderr, "connection refused")

	j := s.start(t, "exec", "name", "--", "echo", "ran")
	j.log.await(t, "waiting for the masters")
	up()
	require.Zero(t, j.code(t), j.log)
	require.Equal(t, "ran\n", j.out.String())
}

func TestMastersThatAreRuledOutAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	s, without := ownSet(t), redistest.MastersWith(t, 2, redisserver.Options{Args: []string{"--rename-command", "EVALSHA", ""}})
	masters := func(all ...*redisserver.Server) []string {
		return []string{"--masters", strings.Join(redistest.Addrs(all), ",")}
	}
	bad, good := masters(without[0], without[1], s.masters[0]), masters(without[0], s.masters[0], s.masters[1])
	for _, args := range [][]string{{"exec"}, {"exec", "--wait", "1h"}, {"exec", "--try", "-q", "-E", "0"}, {"lock"}, {"lock", "--wait", "1h"}} {
		args = append(append(args, bad...), "name")
		if args[0] == "exec" {
			args = append(args, "--", "echo", "ran")
		}
		stdout, stderr, code := s.run(t, args...)
		require.Equal(t, exitRefused, code, "%v: %s", args, stderr)
		require.Empty(t, stdout)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		require.True(t, strings.HasPrefix(stderr, "muxlock: a master cannot be used as configured; "), stderr)
		require.Contains(t, stderr, without[0].Addr()+": trial lock: unknown command 'EVALSHA' (the engine needs the command: undo its rename-command)")
		require.NotContains(t, stderr, s.masters[0].Addr())
	}
	stdout, stderr, code := s.run(t, append(append([]string{"exec"}, good...), "name", "--", "echo", "ran")...)
	require.Zero(t, code, stderr)
	require.Equal(t, "ran\n", stdout)
	_, stderr, code = s.run(t, append([]string{"status", "name"}, bad...)...)
	require.Equal(t, exitRun, code, stderr)

	redistest.Down(t, s.masters[1]) // it may return, and then decides
	j := s.start(t, append(append([]string{"exec"}, good...), "name", "--", "echo", "ran")...)
	j.log.await(t, "waiting for the masters: no quorum")
	j.log.await(t, "undo its rename-command")
	require.NoError(t, j.Process.Signal(syscall.SIGTERM))
	require.Equal(t, exitSignal+int(syscall.SIGTERM), j.code(t))
}

func TestFlagsAreNamedWhereTLSRulesMastersOut(t *testing.T) {
	for text, flag := range map[string]string{
		"RootCAs must trust its authority, and Masters name it as its certificate does": "--tls-ca must trust its authority, and --masters name it as its certificate does",
		"Certificates needs one that the server accepts":                                "--tls-cert needs one that the server accepts",
	} {
		require.Equal(t, flag, asFlags(text))
	}
}

func TestMastersThatDoNotVoteYetAreWaitedForAndTheReasonIsSaid(t *testing.T) {
	t.Parallel()
	s := ownSet(t)
	args := []string{"--new-masters=false", "--max-ttl", "8s", "--ttl", "8s", "name", "--", "echo", "ran"}
	_, stderr, code := s.run(t, append([]string{"exec", "--wait", asks}, args...)...)
	require.Equal(t, exitTimeout, code)
	require.Contains(t, stderr, "muxlock: waiting for the masters: 0 of 3 masters vote")
	stdout, stderr, code := s.run(t, append([]string{"exec"}, args...)...)
	require.Zero(t, code, stderr)
	require.Equal(t, "ran\n", stdout)
}

func TestASignalEndsTheWait(t *testing.T) {
	t.Parallel()
	s := ownSet(t)
	s.hold(t, "name")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGABRT} {
		j := s.start(t, "exec", "--new-masters=false", "name", "--", "echo", "ran")
		j.log.await(t, "waiting for the masters")
		require.NoError(t, j.Process.Signal(sig))
		require.Equal(t, exitSignal+int(sig), j.code(t))
		require.Contains(t, j.log.String(), `while waiting for "name"`)
		require.Empty(t, j.out.String())
	}
}

func TestTheCommandGetsItsFenceWhichGrows(t *testing.T) {
	t.Parallel()
	s := ownSet(t)
	cfg := s.config()
	cfg.MastersAreNew = false
	require.NoError(t, admin.SetUp(t.Context(), cfg, admin.SetUpOptions{MastersAreNew: true}))
	s.env = append(s.env, "MUXLOCK_NEW_MASTERS=false")
	stdout, stderr, code := s.run(t, "exec", "--fencing", "name", "--", "sh", "-c", "echo $MUXLOCK_FENCE")
	require.Zero(t, code, stderr)
	again, stderr, code := s.run(t, "exec", "--fence-env", "TOKEN", "name", "--", "sh", "-c", "echo $TOKEN")
	require.Zero(t, code, stderr)
	number := func(text string) uint64 {
		n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
		require.NoError(t, err)
		return n
	}
	require.Greater(t, number(again), number(stdout))
	require.Positive(t, number(stdout))
}

func TestAVariableForTheFenceMeansFencingWhateverTheEnvironmentSays(t *testing.T) {
	t.Parallel()
	s := ownSet(t) // not set up for fencing
	s.env = append(s.env, "MUXLOCK_FENCING=false")
	_, stderr, code := s.run(t, "exec", "--try", "--fence-env", "FENCE", "name", "--", "true")
	require.Equal(t, exitOurs, code)
	require.Contains(t, stderr, "set up")
}
