package groups

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

// The other tests have masters in this process. This one has servers.
func TestTheMapOfServersIsChanged(t *testing.T) {
	t.Parallel()
	servers := redistest.Masters(t, 6)
	masters := map[string][]*redisserver.Server{"a": servers[:3], "b": servers[3:]}
	start := func(now, next string) (*Engine, error) {
		cfg := Config{Config: engine.Config{MastersAreNew: true, MasterTimeout: await.Patience}, Groups: map[string][]string{}, Next: map[string][]string{}}
		for _, id := range now {
			cfg.Groups[string(id)] = redistest.Addrs(masters[string(id)])
		}
		for _, id := range next {
			cfg.Next[string(id)] = redistest.Addrs(masters[string(id)])
		}
		e, err := New(t.Context(), cfg)
		if err == nil {
			t.Cleanup(func() { require.NoError(t, e.Close()) })
		}
		return e, err
	}
	having := func(name string) (n int) {
		for _, value := range redistest.Get(t, servers, name) {
			if value != "" {
				n++
			}
		}
		return n
	}
	old, err := start("a", "")
	require.NoError(t, err)
	_, err = start("ab", "")
	require.ErrorIs(t, err, engine.ErrConfigMismatch)
	change, err := start("a", "ab")
	require.NoError(t, err)
	name := nameIn(t, change, "ab", 0)
	var after *Engine
	require.NoError(t, change.Do(within(t), name, 0, func(ctx context.Context) error {
		await.Equal(t, 6, func() any { return having(name) })
		_, err := old.TryAcquire(ctx, name, 0)
		require.ErrorIs(t, err, engine.ErrTaken)
		require.NoError(t, old.Close())
		after, err = start("ab", "")
		require.NoError(t, err)
		_, err = after.TryAcquire(ctx, name, 0)
		require.ErrorIs(t, err, engine.ErrTaken)
		return nil
	}))
	require.NoError(t, after.Do(within(t), name, 0, func(ctx context.Context) error {
		_, err := change.TryAcquire(ctx, name, 0)
		require.ErrorIs(t, err, engine.ErrTaken)
		return nil
	}))
	await.Equal(t, 0, func() any { return having(name) })
	_, err = start("a", "")
	require.ErrorIs(t, err, engine.ErrConfigMismatch)
	require.Contains(t, redistest.Command(t, servers[0], "GET", "__muxlock__:groups:"), "3 ")
}
