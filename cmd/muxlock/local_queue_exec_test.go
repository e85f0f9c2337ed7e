//go:build linux

package main

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// waiters starts a waiting muxlock for each place of the machine's queue. The name must be taken.
func (s *set) waiters(t *testing.T) (all []*job) {
	t.Helper()
	dir := t.TempDir()
	s.env = append(s.env, "TMPDIR="+dir)
	for range places {
		all = append(all, s.start(t, "exec", quick, "name", "--", "true"))
	}
	require.Eventually(t, func() bool {
		taken, err := filepath.Glob(dir + "/*/*")
		return err == nil && len(taken) == places
	}, limit, 10*time.Millisecond)
	return all
}

func TestAWaitThatEndsInTheQueueNamesTheHolder(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	s.hold(t, "name")
	s.waiters(t)
	_, stderr, code := s.run(t, "exec", "--wait", asks, "name", "--", "true")
	require.Equal(t, exitTimeout, code)
	require.Equal(t, "muxlock: \"name\" not had within "+asks+": lock is taken by the test\n", stderr)
}

// Ctrl-Z stops waiters in the same way.
func TestFourStoppedWaitersLetOthersOfTheMachinePass(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	lock := s.hold(t, "name")
	stopped := s.waiters(t)
	for _, j := range stopped {
		require.NoError(t, j.Process.Signal(syscall.SIGSTOP))
		awaitState(t, j.Process.Pid, "T")
	}
	require.NoError(t, lock.Release(t.Context()))
	stdout, stderr, code := s.run(t, "exec", quick, "name", "--", "echo", "ran")
	require.Zero(t, code, stderr)
	require.Equal(t, "ran\n", stdout)
	for _, j := range stopped { // they have lost their places, and still get the lock
		require.NoError(t, j.Process.Signal(syscall.SIGCONT))
		require.Zero(t, j.code(t), j.log)
	}
}
