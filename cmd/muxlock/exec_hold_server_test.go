//go:build linux

package main

import (
	"os"
	"path/filepath"
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
	s := newSet(t).with("MUXLOCK_MAX_TTL=6s")
	const least = 9 * time.Second
	begun := time.Now()
	j := s.script(t, quick+" --hold-at-least 9s name", "echo ready; exit 7")
	lock, err := s.engine(t).Acquire(t.Context(), "name", 0)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(begun), least)
	require.NoError(t, lock.Release(t.Context()))
	j.ends(t, 7)
	require.Empty(t, j.log.String())
}

func TestACommandThatTakesLongerIsNotHeldOn(t *testing.T) {
	t.Parallel()
	s, end := newSet(t), filepath.Join(t.TempDir(), "end")
	j := s.script(t, "--hold-at-least 1ms name", untilFile, end)
	require.NoError(t, os.WriteFile(end, nil, 0o600))
	j.ends(t, 0)
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
		j := s.start(t, "exec --hold-at-least 1h "+name+" -- sh -c", script)
		j.out.await(t, "\n")
		if name == "after" {
			awaitGone(t, j.pid(t))
		}
		j.ends(t, 7, syscall.SIGTERM)
		require.NotContains(t, j.log.String(), "muxlock")
		i, err := admin.Inspect(t.Context(), s.engine(t), name)
		require.NoError(t, err)
		require.True(t, i.Held)
		require.LessOrEqual(t, i.Left, 10*time.Second)
	}
}

func TestALossWhileTheLockIsHeldOnIsSaid(t *testing.T) {
	t.Parallel()
	j, tell := supervised(t, time.Minute, time.Hour, `echo $$ ready`)
	j.out.await(t, heldOn)
	tell("lost")
	j.ends(t, exitLost)
	require.Contains(t, j.log.String(), `"name" was lost after the command, which ended with exit status 0`)
	require.NotContains(t, j.log.String(), "SIGTERM")
}
