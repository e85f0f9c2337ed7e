//go:build linux

package main

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A script's background jobs start with these signals ignored.
func TestIgnoredSignalsStayIgnoredForMuxlockAndItsCommand(t *testing.T) {
	t.Parallel()
	s, dir := newSet(t), t.TempDir()
	s.env = append(s.env, "TMPDIR="+dir)
	lock := s.hold(t, "name")
	j := s.startBy(t, "sh", "-c", `trap '' INT QUIT HUP; exec "$0" "$@"`, binary,
		"exec", "name", "--", "sh", "-c", `kill -INT $$; kill -QUIT $$; kill -HUP $$; echo "survived"; while :; do sleep 0.01; done`)
	require.Eventually(t, func() bool { // it waits
		places, err := filepath.Glob(dir + "/*/*")
		return err == nil && len(places) > 0
	}, limit, time.Millisecond)
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
