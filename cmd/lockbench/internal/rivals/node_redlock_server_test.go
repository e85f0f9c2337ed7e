package rivals_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/redistest"
)

// nodeRedlock opens node-redlock on new servers.
func nodeRedlock(t *testing.T, servers int) (bench.Locker, []*redisserver.Server) {
	masters := redistest.Masters(t, servers)
	impl, _ := rivals.Find("node-redlock")
	return open(t, impl, rivals.Options{Masters: redistest.Addrs(masters)}), masters
}

func TestNodeRedlockTakesAllNamesOrNone(t *testing.T) {
	l, servers := nodeRedlock(t, 3)
	all := l.(bench.AllLocker)
	one, err := l.Acquire(t.Context(), "b", ttl)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = all.AcquireAll(ctx, []string{"a", "b", "c"}, ttl)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, one.Release(t.Context()))

	set, err := all.AcquireAll(t.Context(), []string{"a", "b", "c"}, ttl)
	require.NoError(t, err)
	require.Subset(t, []string{"a", "b", "c"}, redistest.Keys(t, servers...))
	for _, name := range []string{"a", "b", "c"} {
		_, err := l.TryAcquire(t.Context(), name, ttl)
		require.ErrorIs(t, err, bench.ErrRefused)
	}
	require.NoError(t, set.Release(t.Context()))
	require.ErrorContains(t, set.Release(t.Context()), "not", "a second time")
}

// Its answer comes from a stopped master, so only when nobody waits for it any more.
func TestWhatNodeRedlockAcquiresTooLateIsReleased(t *testing.T) {
	l, servers := nodeRedlock(t, 1)
	require.NoError(t, servers[0].Pause())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := l.Acquire(ctx, "late", ttl)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, servers[0].Resume())
	before := time.Now()
	held, err := l.Acquire(t.Context(), "late", ttl)
	require.NoError(t, err)
	require.Less(t, time.Since(before), ttl/2, "the lease of the first did not have to end")
	require.NoError(t, held.Release(t.Context()))
}

func TestMasterThatFailsIsNoRefusalOfNodeRedlock(t *testing.T) {
	l, servers := nodeRedlock(t, 1)
	redistest.Command(t, servers[0], "ACL", "SETUSER", "default", "-@scripting")
	_, err := l.TryAcquire(t.Context(), "name", ttl)
	require.ErrorContains(t, err, "NOPERM")
	require.NotErrorIs(t, err, bench.ErrRefused)
}

func TestNodeRedlockSaysThatItCannotBeInstalled(t *testing.T) {
	impl, _ := rivals.Find("node-redlock")
	bin, cache := t.TempDir(), t.TempDir()
	t.Setenv("PATH", bin)
	t.Setenv("HOME", cache)
	t.Setenv("XDG_CACHE_HOME", cache)
	refused := func(want string) {
		t.Helper()
		_, err := impl.Open(t.Context(), rivals.Options{Masters: []string{"127.0.0.1:1"}})
		require.ErrorIs(t, err, rivals.ErrNode)
		require.ErrorContains(t, err, want)
	}
	program := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text), 0o755))
	}
	refused(`node-redlock needs node and npm: exec: "node": executable file not found`)
	program("node", "")
	refused(`exec: "npm": executable file not found`)
	program("npm", "/bin/mkdir -p $3; echo no\necho network; exit 3\n")
	refused("npm install: exit status 3: no network")
	left, err := os.ReadDir(filepath.Join(cache, "muxlock"))
	require.NoError(t, err, "the folder of the packages was there")
	require.Empty(t, left)
}
