package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

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
		stdout, stderr, code := s.run(t, "exec name -- sh -c", script)
		require.Equal(t, want, code, "%s: %s", script, stderr)
		require.Empty(t, stdout+stderr, script)
		require.Empty(t, redistest.Keys(t, s.masters...), script)
	}
	stdout, stderr, code := s.run(t, "exec name -- sh -c", `echo "$0 $1"; echo said >&2; exit 3`, "--ttl", "a b")
	require.Equal(t, []any{"--ttl a b\n", "said\n", 3}, []any{stdout, stderr, code}, "its outputs and arguments")
}

func TestACommandThatCannotBeStartedIsFoundOutBeforeAnythingIsLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text, noProgram := filepath.Join(dir, "text"), filepath.Join(dir, "program")
	require.NoError(t, os.WriteFile(text, []byte("text"), 0o600))
	require.NoError(t, os.WriteFile(noProgram, []byte("\x7fELF, or not"), 0o700))
	for command, want := range map[string]int{"no-such-command": exitNotFound, filepath.Join(dir, "nothing"): exitNotFound, text: exitCannotRun, dir: exitCannotRun} {
		// Connecting there would take for ever.
		require.True(t, strings.HasPrefix(bare.says(t, want, "exec --masters "+nowhere+" name --", command), "muxlock: "+command+": "))
	}
	s := newSet(t) // only the kernel can tell that this file is no program
	require.Equal(t, "muxlock: "+noProgram+": cannot be started: exec format error\n", s.says(t, exitCannotRun, "exec name --", noProgram))
	require.Empty(t, redistest.Keys(t, s.masters...))
}

func TestTryAndWaitEndWithCodesOfTheirOwnWhileAnotherOneHolds(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	s.hold(t, "name")
	const taken, late = "muxlock: \"name\": lock is taken by the test\n", "muxlock: \"name\" not acquired within " + asks + ": lock is taken by the test\n"
	for args, want := range map[string]struct {
		code int
		said string
	}{
		"--try": {exitTaken, taken}, "--wait 0": {exitTaken, taken}, "--wait=0s --try": {exitTaken, taken}, "--wait " + asks: {exitTimeout, late},
		"-q -E 0 --try": {0, ""}, "-q -E 0 --wait " + asks: {0, ""}, "-E 9 --try": {9, taken},
	} {
		stdout, stderr, code := s.run(t, "exec "+args+" name -- echo ran")
		require.Equal(t, want.code, code, args)
		require.Equal(t, want.said, stderr, args)
		require.Empty(t, stdout)
	}
}

func TestQuietAndConflictExitCodeAreForAnotherHolderOnly(t *testing.T) {
	t.Parallel()
	s := ownSet(t)
	const exec = "exec name -q -E 0 "
	s.says(t, 7, exec+"--try -- sh -c", "exit 7")
	redistest.Down(t, s.masters[0])
	redistest.Down(t, s.masters[1])
	require.Contains(t, s.says(t, exitOurs, exec+"--try -- true"), "connection refused")
	require.Contains(t, s.says(t, exitTimeout, exec+"--wait "+asks+" -- true"), `"name" not acquired within `+asks+`: no quorum`)
}

func TestAWaitThatIsTooShortNamesEachMasterOnce(t *testing.T) {
	t.Parallel()
	require.Equal(t, "muxlock: \"name\" not acquired within 1ns: no quorum of masters: 0 of 1 masters were admitted, 1 are needed; "+nowhere+": context deadline exceeded\n",
		bare.says(t, exitTimeout, "exec --masters "+nowhere+" --wait 1ns name -- true"))
}

func TestTryIsNotRefusedBecauseOthersSplitTheVotes(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	for key, args := range map[string]string{"name": "", "__muxlock__:slot:0:name": " --permits 1"} {
		for i, m := range s.masters[:2] { // like two contenders that came at the same moment, before they give up
			redistest.Command(t, m, "SET", key, "another "+strconv.Itoa(i), "PX", "200")
		}
		require.Equal(t, "ran\n", s.ok(t, "exec --try"+args+" name -- echo ran"))
	}
}

// untilFile is a script that runs until its argument is a file.
const untilFile = `echo ready; while ! [ -e "$0" ]; do sleep 0.01; done`

func TestASetThatCannotBeReachedIsTriedUntilWait(t *testing.T) {
	t.Parallel()
	s := ownSet(t)
	redistest.Down(t, s.masters[0])
	up := redistest.Down(t, s.masters[1])
	stderr := s.says(t, exitTimeout, "exec --wait "+asks+" name -- echo ran")
	require.Contains(t, stderr, "muxlock: waiting for the masters: no quorum of masters: 1 of 3 masters were admitted")
	require.Contains(t, stderr, `"name" not acquired within `+asks+`: no quorum`)

	j := s.start(t, "exec name -- echo ran")
	j.log.await(t, "waiting for the masters")
	up()
	j.ends(t, 0)
	require.Equal(t, "ran\n", j.out.String())
}

func TestMastersThatAreRuledOutAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	s, without := ownSet(t), redistest.MastersWith(t, 2, redisserver.Options{Args: []string{"--rename-command", "EVALSHA", ""}})
	masters := func(all ...*redisserver.Server) *set {
		return s.with("MUXLOCK_MASTERS=" + strings.Join(redistest.Addrs(all), ","))
	}
	bad, good := masters(without[0], without[1], s.masters[0]), masters(without[0], s.masters[0], s.masters[1])
	for _, line := range []string{"exec name -- echo ran", "exec --wait 1h name -- echo ran", "exec --try -q -E 0 name -- echo ran", "lock name", "lock --wait 1h name"} {
		stdout, stderr, code := bad.run(t, line)
		require.Equal(t, exitRefused, code, "%v: %s", line, stderr)
		require.Empty(t, stdout)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		require.True(t, strings.HasPrefix(stderr, "muxlock: a master cannot be used as configured; "), stderr)
		require.Contains(t, stderr, without[0].Addr()+": trial lock: unknown command 'EVALSHA' (the engine needs the command: undo its rename-command)")
		require.NotContains(t, stderr, s.masters[0].Addr())
	}
	require.Equal(t, "ran\n", good.ok(t, "exec name -- echo ran"))
	bad.says(t, exitRun, "status name")

	redistest.Down(t, s.masters[1]) // it may return, and then decides
	j := good.start(t, "exec name -- echo ran")
	j.log.await(t, "waiting for the masters: no quorum")
	j.log.await(t, "undo its rename-command")
	j.ends(t, exitSignal+int(syscall.SIGTERM), syscall.SIGTERM)
}

func TestMastersAreReachedOverTLS(t *testing.T) {
	t.Parallel()
	cert, key, _ := redistest.Certificate(t)
	_, address := redistest.Secured(t, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert)
	exec, command := "exec --new-masters --wait "+asks+" --masters rediss://"+address, " name -- echo ran"
	require.Equal(t, "ran\n", bare.ok(t, exec+" --tls-ca "+cert+" --tls-cert "+cert+" --tls-key "+key+command))
	require.Contains(t, bare.says(t, exitRefused, exec+command), "--tls-ca must trust its authority, and --masters name it as its certificate does")
	require.Contains(t, bare.says(t, exitRefused, exec+" --tls-ca "+cert+command), "--tls-cert needs one that the server accepts")
}

func TestMastersThatDoNotVoteYetAreWaitedForAndTheReasonIsSaid(t *testing.T) {
	t.Parallel()
	s := ownSet(t).with("MUXLOCK_NEW_MASTERS=false", "MUXLOCK_MAX_TTL=8s")
	const exec = "exec --ttl 8s --grace 4s name " // the most
	require.Contains(t, s.says(t, exitTimeout, exec+"--wait "+asks+" -- echo ran"), "muxlock: waiting for the masters: 0 of 3 masters vote")
	require.Equal(t, "ran\n", s.ok(t, exec+"-- echo ran"))
}

func TestASignalEndsTheWait(t *testing.T) {
	t.Parallel()
	s := ownSet(t)
	s.hold(t, "name")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGABRT} {
		j := s.start(t, "exec --new-masters=false name -- echo ran")
		j.log.await(t, "waiting for the masters")
		j.ends(t, exitSignal+int(sig), sig)
		require.Contains(t, j.log.String(), `while waiting for "name"`)
		require.Empty(t, j.out.String())
	}
}
