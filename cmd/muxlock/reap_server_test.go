//go:build linux

package main

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

// startAsProcess1 starts a muxlock as process 1, whose children orphans become, as in a container.
func (s *set) startAsProcess1(t *testing.T, args ...string) *job {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	c := exec.Command(redistest.Program(t), args...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWPID}
	return s.launch(t, c)
}

func TestProcess1ReapsOrphansWhileItsCommandRuns(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	j := s.startAsProcess1(t, "exec", "name", "--", "sh", "-c", `trap 'exit 5' TERM; for i in 1 2 3 4; do (sh -c 'exit 3' &); done`+forever)
	j.out.await(t, "ready")
	await.Equal(t, 1, func() any { return len(redistest.Children(t, j.Process.Pid, true)) })
	j.ends(t, 5, syscall.SIGTERM)
}

func TestProcess1ReapsOrphansWhileItWaits(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	lock := s.hold(t, "name")
	j := s.startAsProcess1(t, "exec", "name", "--", "sh", "-c", "exit 7")
	s.awaitLine(t, "name", 1)
	// As kubectl exec does, this puts a process into the container. It leaves an orphan.
	out, err := exec.Command("nsenter", "-t", strconv.Itoa(j.Process.Pid), "-p", "sh", "-c", "sleep 300 >/dev/null 2>&1 &").CombinedOutput()
	require.NoError(t, err, "%s", out)
	var orphans []int
	await.Within(t, limit, func() bool { orphans = redistest.Children(t, j.Process.Pid, true); return len(orphans) == 1 })
	require.NoError(t, syscall.Kill(orphans[0], syscall.SIGKILL))
	await.Equal(t, 0, func() any { return len(redistest.Children(t, j.Process.Pid, true)) })
	require.NoError(t, lock.Release(t.Context()))
	j.ends(t, 7)
}

// Not parallel: a child of another test could be reaped.
func TestReapingLeavesTheCommandToTheOneThatWaitsForIt(t *testing.T) {
	redistest.NeedProcess(t)
	command := exec.Command("sh", "-c", "exit 7")
	require.NoError(t, command.Start())
	awaitState(t, command.Process.Pid, "Z")
	defer func() { running.command = nil }()
	synctest.Test(t, func(t *testing.T) {
		ended, reaped := make(chan struct{}), make(chan bool, 1)
		running.command = &process{Cmd: command, ended: ended}
		go func() { reaped <- reapOne() }()
		synctest.Wait()
		require.Empty(t, reaped)
		require.ErrorContains(t, command.Wait(), "exit status 7")
		close(ended)
		require.True(t, <-reaped)
	})
}
