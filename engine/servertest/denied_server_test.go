package servertest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func TestDeniedNameIsATypedErrorAndStopsNobodyElse(t *testing.T) {
	masters := redistest.Masters(t, 5)
	for _, m := range masters {
		redistest.Command(t, m, "ACL", "SETUSER", "locks", "on", ">secret", "~allowed:*", "~__muxlock__:*", "+@all")
	}
	e := open(t, masters, func(c *engine.Config) { c.Client.Username, c.Client.Password = "locks", "secret" })
	var callers sync.WaitGroup
	for i := range 64 {
		callers.Go(func() {
			for k := range 20 {
				lock, err := e.Acquire(context.Background(), fmt.Sprint("allowed:", i, ":", k), 0)
				if assert.NoError(t, err) {
					assert.NoError(t, lock.Release(context.Background()))
				}
			}
		})
	}
	for i := range 20 {
		_, err := e.Acquire(t.Context(), fmt.Sprint("denied", i%3), 0) // would try again if it were in vain only now
		require.ErrorIs(t, err, engine.ErrDenied)
		require.ErrorIs(t, err, engine.ErrNotAcquired)
		require.NotErrorIs(t, err, engine.ErrNoQuorum)
		require.ErrorContains(t, err, "NOPERM")
	}
	require.ErrorIs(t, e.Lead(t.Context(), "denied", 0, never), engine.ErrDenied)
	callers.Wait()
	stats := e.Stats()
	require.EqualValues(t, 21, stats.Denied)
	require.Zero(t, stats.NoQuorum)
	await.True(t, func() bool { return pendingReleases(e) == 0 && len(redistest.Keys(t, masters...)) == 0 })
	for _, m := range e.Stats().Masters {
		require.Zero(t, m.SetAside, "%+v", m)
	}
}

func TestSetWithADeniedNameBlamesNoOther(t *testing.T) {
	masters := redistest.Masters(t, 3)
	for _, m := range masters {
		redistest.Command(t, m, "ACL", "SETUSER", "locks", "on", ">secret", "~allowed:*", "~__muxlock__:*", "+@all")
	}
	e := open(t, masters, func(c *engine.Config) { c.Client.Username, c.Client.Password = "locks", "secret" })
	_, err := e.AcquireAll(t.Context(), []string{"allowed:a", "denied", "allowed:b"}, 0)
	require.ErrorIs(t, err, engine.ErrDenied)
	require.NotContains(t, err.Error(), "allowed:", "the masters do not say which name it is")
	require.ErrorContains(t, err, "NOPERM")
	await.True(t, func() bool { return pendingReleases(e) == 0 && len(redistest.Keys(t, masters...)) == 0 })
}

func never(context.Context, *engine.Lock) error { panic("nobody leads") }
