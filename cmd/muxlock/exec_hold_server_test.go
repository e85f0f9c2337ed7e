//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine/admin"

	"muxlock/internal/testing/redistest"
)

// The hold is longer than --ttl and --max-ttl, so muxlock must renew the lock.
func TestTheLockIsHeldOnAfterTheCommandHasEnded(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	s.env = append(s.env, "MUXLOCK_MAX_TTL=6s")
	const least = 9 * time.Second
	begun := time.Now()
	j := s.start(t, "exec", quick, "--hold-at-least", least.String(), "name", "--", "sh", "-c", "echo ran; exit 7")
	j.out.await(t, "ran")
	lock, err := s.engine(t).Acquire(t.Context(), "name", 0)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(begun), least)
	require.NoError(t, lock.Release(t.Context()))
	require.Equal(t, 7, j.code(t), j.log)
	require.Empty(t, j.log.String())
}

func TestACommandThatTakesLongerIsNotHeldOn(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	end := filepath.Join(t.TempDir(), "end")
	j := s.start(t, "exec", "--hold-at-least", "1ms", "name", "--", "sh", "-c", `echo ready; while ! [ -e "$0" ]; do sleep 0.01; done`, end)
	j.out.await(t, "ready")
	require.NoError(t, os.WriteFile(end, nil, 0o600))
	require.Zero(t, j.code(t), j.log)
	require.Empty(t, redistest.Keys(t, s.masters...))
}

// A signal that the command got counts too, since it ended the command.
func TestASignalEndsTheHoldingOnAndTheLeaseRunsOutByItself(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	for name, script := range map[string]string{
		"after":  `echo $$; exit 7`,
		"before": `trap 'exit 7' TERM; echo $$; while :; do sleep 0.01; done`,
	} {
		j := s.start(t, "exec", "--hold-at-least", "1h", name, "--", "sh", "-c", script)
		j.out.await(t, "\n")
		if name == "after" {
			awaitGone(t, j.pid(t))
		}
		require.NoError(t, j.Process.Signal(syscall.SIGTERM))
		require.Equal(t, 7, j.code(t), j.log)
		require.NotContains(t, j.log.String(), "muxlock")
		i, err := admin.Inspect(t.Context(), s.engine(t), name)
		require.NoError(t, err)
		require.True(t, i.Held)
		require.LessOrEqual(t, i.Left, 10*time.Second)
	}
}

func TestALossWhileTheLockIsHeldOnIsSaid(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	j := s.start(t, "exec", quick, "--hold-at-least", "1h", "name", "--", "echo", "ran")
	j.out.await(t, "ran")
	s.forced(t, "name")
	require.Equal(t, exitLost, j.code(t))
	require.Contains(t, j.log.String(), `"name" was lost after the command, which ended with exit status 0`)
	require.NotContains(t, j.log.String(), "SIGTERM")
}

// The job is shorter than the difference between the machines' clocks.
func TestOfTwoMachinesThatFire300msApartOneRuns(t *testing.T) {
	t.Parallel()
	s, ran := newSet(t), filepath.Join(t.TempDir(), "ran")
	fire := func() *job {
		machine := *s
		machine.env = append(machine.env[:len(machine.env):len(machine.env)], "TMPDIR="+t.TempDir())
		return machine.start(t, "exec", "-q", "--try", "--hold-at-least", "1m", "name", "--", "sh", "-c", `echo ran >>"$0"`, ran)
	}
	first := fire()
	<-time.After(300 * time.Millisecond)
	second := fire()
	var won *job
	select {
	case <-first.done:
		won = second
		require.Equal(t, exitTaken, first.code(t))
	case <-second.done:
		won = first
		require.Equal(t, exitTaken, second.code(t))
	}
	require.Eventually(t, func() bool { _, err := os.Stat(ran); return err == nil }, limit, time.Millisecond)
	require.NoError(t, won.Process.Signal(syscall.SIGTERM))
	require.Zero(t, won.code(t), won.log)
	require.Empty(t, first.log.String()+second.log.String())
	times, err := os.ReadFile(ran)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(times), "ran"))
}
