//go:build linux

package main

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A script's background jobs start with these signals ignored.
func TestIgnoredSignalsStayIgnoredForMuxlockAndItsCommand(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	lock := s.hold(t, "name")
	j := s.startBy(t, "sh", "-c", `trap '' INT QUIT HUP; exec "$0" "$@"`, binary,
		"exec", "name", "--", "sh", "-c", `kill -INT $$; kill -QUIT $$; kill -HUP $$; echo "survived"; while :; do sleep 0.01; done`)
	s.awaitLine(t, "name", 1)
	all := func() {
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP} {
			require.NoError(t, j.Process.Signal(sig))
		}
	}
	all()
	require.NoError(t, lock.Release(t.Context()))
	j.out.await(t, "survived")
	all()
	require.NoError(t, j.Process.Signal(syscall.SIGTERM))
	require.Equal(t, exitSignal+int(syscall.SIGTERM), j.code(t), j.log)
}

// Otherwise the command would go on after the lease, beside the next holder. timeout(1) gives muxlock a process group that
// can be stopped.
func TestASIGTSTPWithoutATerminalStopsTheCommandToo(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	// The shell forks nothing after its output: were its child stopped between vfork and exec, the shell itself would be in
	// state D.
	j := s.startBy(t, "sh", "-c", `timeout 1000 "$0" "$@"; exit $?`, binary,
		"exec", "--ttl", "30s", "name", "--", "sh", "-c", `trap 'exit 5' TERM; sleep 300 & echo $$ $PPID.; wait`)
	j.out.await(t, ".")
	var command, muxlock int
	_, err := fmt.Sscanf(j.out.String(), "%d %d.", &command, &muxlock)
	require.NoError(t, err)
	t.Cleanup(func() { syscall.Kill(muxlock, syscall.SIGKILL) })
	require.NoError(t, syscall.Kill(muxlock, syscall.SIGTSTP))
	awaitState(t, command, "T")
	awaitState(t, muxlock, "T")
	require.NoError(t, syscall.Kill(muxlock, syscall.SIGCONT))
	require.NoError(t, syscall.Kill(muxlock, syscall.SIGTERM))
	require.Equal(t, 5, j.code(t), j.log)
}
