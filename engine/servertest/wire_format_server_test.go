package servertest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func TestWithoutAHolderATokenEndsWithAnEmptyOne(t *testing.T) {
	masters := five(t)
	lock, err := open(t, masters).Acquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	require.Regexp(t, "^[A-Za-z0-9+/]{22}==@$", lock.Reveal())
	require.NoError(t, lock.Release(t.Context()))
}

// CHANGELOG promises this format: engines of several versions, and Redsync, lock on the same masters.
func TestALockAtAMasterIsAStringUnderItsNameWithATTL(t *testing.T) {
	masters := shortSet(t, 1)
	for _, fencing := range []bool{false, true} {
		e := open(t, masters, shortLease, func(c *engine.Config) {
			c.Prefix, c.Holder, c.Fencing, c.MastersAreNew = "app:", "web-7/4211", fencing, !fencing
		})
		lock := mustAcquire(t, e, "invoice:42", 0)
		value, _ := redistest.Command(t, masters[0], "GET", "app:invoice:42").(string)
		require.Regexp(t, `^[A-Za-z0-9+/]{22}==@web-7/4211$`, value)
		left, _ := redistest.Command(t, masters[0], "PTTL", "app:invoice:42").(int64)
		require.Greater(t, left, int64(0))
		require.LessOrEqual(t, left, (2 * await.Patience).Milliseconds())
		for _, key := range redistest.Keys(t, masters[0]) {
			require.True(t, key == "app:invoice:42" || strings.HasPrefix(key, "__muxlock__:"), key)
		}
		require.NoError(t, lock.Release(t.Context()))
		require.NotContains(t, redistest.Keys(t, masters[0]), "app:invoice:42")
	}
}
