//go:build linux

package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
)

// A script's background jobs start with these signals ignored.
func TestIgnoredSignalsStayIgnoredForMuxlockAndItsCommand(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	lock := s.hold(t, "name")
	j := s.launch(t, exec.Command("sh", "-c", `trap '' INT QUIT HUP; exec "$0" "$@"`, redistest.Program(t),
		"exec", "name", "--", "sh", "-c", `kill -INT $$; kill -QUIT $$; kill -HUP $$`+forever))
	s.awaitLine(t, "name", 1)
	j.signal(t, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP)
	require.NoError(t, lock.Release(t.Context()))
	j.out.await(t, "ready")
	j.ends(t, exitSignal+int(syscall.SIGTERM), syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGTERM)
}

// Otherwise the command would go on after the lease, beside the next holder. timeout(1) gives muxlock a process group that
// can be stopped.
func TestASIGTSTPWithoutATerminalStopsTheCommandToo(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	// The shell forks nothing after its output: were its child stopped between vfork and exec, the shell itself would be in
	// state D.
	j := s.launch(t, exec.Command("sh", "-c", `timeout 1000 "$0" "$@"; exit $?`, redistest.Program(t),
		"exec", "--ttl", "30s", "name", "--", "sh", "-c", `trap 'exit 5' TERM; sleep 300 & echo $$ $PPID.; wait`))
	command, muxlock := j.pids(t)
	t.Cleanup(func() { syscall.Kill(muxlock, syscall.SIGKILL) })
	require.NoError(t, syscall.Kill(muxlock, syscall.SIGTSTP))
	awaitState(t, command, "T")
	awaitState(t, muxlock, "T")
	require.NoError(t, syscall.Kill(muxlock, syscall.SIGCONT))
	require.NoError(t, syscall.Kill(muxlock, syscall.SIGTERM))
	j.ends(t, 5)
}

// pids awaits and returns the process ids of a command and of its muxlock, which the command has written before a dot.
func (j *job) pids(t *testing.T) (command, muxlock int) {
	t.Helper()
	j.out.await(t, ".")
	_, err := fmt.Sscanf(j.out.String(), "%d %d.", &command, &muxlock)
	require.NoError(t, err)
	return command, muxlock
}

func TestSignalsOfTheTerminalThatWereIgnoredStayIgnoredForTheCommand(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	inherited := ignoredSignals(t, string(status))
	for line, want := range map[string][]syscall.Signal{
		`trap '' TSTP; exec "$0" exec name -- "$@"`:                                  {syscall.SIGTSTP},
		`trap '' INT TSTP TTIN TTOU; exec "$0" exec name -- "$@"`:                    {syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU},
		`exec "$0" exec name -- "$@"`:                                                nil,
		`exec "$0" exec name -- sh -c 'trap "" PIPE; exec "$0" "$@"' "$@"`:           {syscall.SIGPIPE}, // from the help
		`trap '' PIPE; exec "$0" exec name -- sh -c 'kill -PIPE $$; "$0" "$@"' "$@"`: nil,               // Go has overwritten it: the help's line is needed
	} {
		j := s.launch(t, exec.Command("sh", "-c", line, redistest.Program(t), "grep", "SigIgn", "/proc/self/status"))
		code := j.code(t)
		if strings.Contains(line, "kill") {
			require.Equal(t, exitSignal+int(syscall.SIGPIPE), code, j.log)
			continue
		}
		require.Zero(t, code, j.log)
		ignored := ignoredSignals(t, j.out.String())
		for _, sig := range want {
			require.NotZero(t, ignored&(1<<(sig-1)), "%s: %s", line, sig)
			ignored &^= 1 << (sig - 1)
		}
		require.Zero(t, ignored&^inherited, line)
	}
}

// ignoredSignals returns the mask SigIgn of a process's status.
func ignoredSignals(t *testing.T, status string) uint64 {
	t.Helper()
	_, mask, _ := strings.Cut(status, "SigIgn:\t")
	mask, _, _ = strings.Cut(mask, "\n")
	ignored, err := strconv.ParseUint(mask, 16, 64)
	require.NoError(t, err)
	return ignored
}

// meanings are signals that mean what a command makes of them.
var meanings = map[string]syscall.Signal{"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "ALRM": syscall.SIGALRM, "WINCH": syscall.SIGWINCH}

// Otherwise a helper of the command would die of a signal that it never gets without muxlock.
func TestUSR1USR2ALRMAndWINCHReachTheCommandAlone(t *testing.T) {
	t.Parallel()
	j, _ := supervised(t, time.Hour, 0, `for s in USR1 USR2 ALRM WINCH; do trap "echo got $s" $s; done; trap 'exit 5' TERM
		sleep 300 & echo ready; while kill -0 $!; do wait $!; done; echo helper died; while :; do sleep 0.02; done`)
	for name, sig := range meanings {
		j.signal(t, sig)
		j.out.await(t, "got "+name)
	}
	require.NotContains(t, j.out.String(), "helper died")
	j.ends(t, 5, syscall.SIGTERM)
}

func TestUSR1USR2ALRMAndWINCHEndNeitherAWaitNorAHold(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	lock := s.hold(t, "name")
	j := s.start(t, "exec --hold-at-least 2s name -- sh -c", "echo $$")
	s.awaitLine(t, "name", 1)
	all := slices.Collect(maps.Values(meanings))
	j.signal(t, all...)
	require.NoError(t, lock.Release(t.Context()))
	j.out.await(t, "\n")
	awaitGone(t, j.pid(t))
	j.ends(t, 0, all...)
	require.Empty(t, redistest.Keys(t, s.masters...), "a hold that a signal ends leaves the lease to run out")
}

func TestAnAbortEndsTheCommandBeforeMuxlockWhichSaysSo(t *testing.T) {
	t.Parallel()
	const said = "muxlock: aborted while the command ran, which got SIGABRT too and ended with "
	for script, want := range map[string]struct {
		code int
		how  string
	}{
		`trap 'sleep 0.2; echo ended; exit 3' ABRT` + forever: {3, "exit status 3"},
		`ulimit -c 0; echo ready; exec sleep 300`:             {exitSignal + int(syscall.SIGABRT), "signal: aborted"},
	} {
		j, _ := supervised(t, time.Hour, 0, script)
		j.ends(t, want.code, syscall.SIGABRT)
		log := strings.TrimPrefix(j.log.String(), "Aborted\n") // a shell says so of its child
		require.Equal(t, said+want.how+"\n", log)
		require.Equal(t, want.code == 3, strings.Contains(j.out.String(), "ended"))
	}
}
