//go:build linux

package main

import (
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
