package servertest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func TestAdoptedLockIsKeptAlive(t *testing.T) {
	t.Parallel()
	masters := five(t)
	e := open(t, masters)
	redistest.Put(t, masters, t.Name(), redistest.RedsyncToken)
	for _, m := range masters {
		redistest.Command(t, m, "PEXPIRE", t.Name(), "5000")
	}
	lock, err := e.Adopt(t.Context(), t.Name(), redistest.RedsyncToken, 5*time.Second)
	require.NoError(t, err)
	require.NoError(t, lock.KeepAlive(0))
	until := lock.Until()
	await.True(t, func() bool { return lock.Until().After(until) })
	require.NoError(t, lock.Release(t.Context()))
	redistest.Gone(t, masters, t.Name())
}

func TestAdoptNeverShortensALease(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	redistest.Put(t, masters, t.Name(), redistest.RedsyncToken)
	lock, err := e.Adopt(t.Context(), t.Name(), redistest.RedsyncToken, 5*time.Second)
	require.NoError(t, err)
	require.LessOrEqual(t, time.Until(lock.Until()), 5*time.Second, "it relies on its own ttl only")
	quiet(t, e)
	for _, left := range redistest.PTTL(t, masters, t.Name()) {
		require.Greater(t, left, int64(30_000))
	}
	require.NoError(t, lock.Release(t.Context()))
}

func TestAdoptWorksOnFencedMasters(t *testing.T) {
	t.Parallel()
	masters := fencedSet(t, 3)
	first, second := open(t, masters, fenced, holder("first")), open(t, masters, fenced)
	lock, err := first.Acquire(t.Context(), t.Name(), 20*time.Second)
	require.NoError(t, err)
	require.NotZero(t, lock.Fence())
	adopted, err := second.Adopt(t.Context(), t.Name(), lock.Reveal(), 0)
	require.NoError(t, err)
	require.Zero(t, adopted.Fence())
	require.NoError(t, adopted.Extend(t.Context(), 25*time.Second))
	i, err := admin.Inspect(t.Context(), second, t.Name())
	require.NoError(t, err)
	require.Equal(t, "first", i.Holder)
	require.NoError(t, adopted.Release(t.Context()))
	next, err := second.Acquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	require.Greater(t, next.Fence(), lock.Fence())
	require.NoError(t, next.Release(t.Context()))
}

func holder(text string) func(*engine.Config) { return func(c *engine.Config) { c.Holder = text } }
