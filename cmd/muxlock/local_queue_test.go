//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
)

func TestAFewOfOneMachineContendAndTheNextComesWhenOneLeaves(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	cfg := engine.Config{Masters: []string{"a:1"}}
	ended, end := context.WithCancel(t.Context())
	end()
	var leave []func()
	for range places {
		l, err := queue(ended, cfg, "name")
		require.NoError(t, err)
		leave = append(leave, l)
	}
	_, err := queue(ended, cfg, "name")
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, engine.ErrTaken)
	other, err := queue(ended, cfg, "other")
	require.NoError(t, err)
	other()
	leave[1]()
	leave[1], err = queue(ended, cfg, "name")
	require.NoError(t, err)
	for _, l := range leave {
		l()
	}
	left, err := filepath.Glob(os.TempDir() + "/*/*")
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestWhereThereCanBeNoQueueEverybodyContends(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(dir, "none"))
	ended, end := context.WithCancel(t.Context())
	end()
	for range places + 1 {
		leave, err := queue(ended, engine.Config{}, "name")
		require.NoError(t, err)
		defer leave()
	}
	t.Setenv("TMPDIR", dir) // and where others can write
	queued, err := queue(ended, engine.Config{}, "name")
	require.NoError(t, err)
	queued()
	entries, err := filepath.Glob(dir + "/muxlock-*")
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.NoError(t, os.Chmod(entries[0], 0o777))
	for range places + 1 {
		leave, err := queue(ended, engine.Config{}, "name")
		require.NoError(t, err)
		defer leave()
	}
}

// Otherwise a few processes with a wrong setting would keep the whole machine from a name.
func TestWhoFindsNoMastersLetsOthersOfTheMachinePass(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	cfg := engine.Config{Masters: []string{"127.0.0.1:1"}} // where nobody listens
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	log := newLines()
	for range places {
		waiting.Go(func() { _, _, _ = open(ctx, cfg, "name", false, log) })
	}
	require.Eventually(t, func() bool { return strings.Count(log.String(), "waiting for the masters") == places }, limit, time.Millisecond)
	within, end := context.WithTimeout(t.Context(), limit)
	defer end()
	leave, err := queue(within, cfg, "name")
	require.NoError(t, err)
	leave()
	cancel()
	waiting.Wait()
}
