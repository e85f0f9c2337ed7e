package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func TestAdoptedLockIsUsedAndReleasedByAnotherProcess(t *testing.T) {
	masters := five(t)
	first, second := open(t, masters, holder("first")), open(t, masters, holder("second"))
	lock := mustAcquire(t, first, t.Name(), 10*time.Second)
	everywhere(t, masters, lock)
	token := lock.Reveal()
	adopted, err := second.Adopt(t.Context(), t.Name(), token, 20*time.Second)
	require.NoError(t, err)
	require.Equal(t, t.Name(), adopted.Name())
	require.True(t, adopted.Valid())
	require.Greater(t, time.Until(adopted.Until()), 10*time.Second)
	require.Equal(t, token, adopted.Reveal())
	require.Zero(t, adopted.Fence())
	await.True(t, func() bool {
		for _, left := range redistest.PTTL(t, masters, t.Name()) {
			if left <= 10_000 {
				return false
			}
		}
		return true
	})
	require.NoError(t, adopted.Extend(t.Context(), 25*time.Second))
	i, err := Admin.Inspect(t.Context(), second, t.Name())
	require.NoError(t, err)
	require.Equal(t, "first", i.Holder)
	require.NoError(t, adopted.Release(t.Context()))
	redistest.Gone(t, masters, t.Name())
	require.ErrorIs(t, adopted.Extend(t.Context(), 0), ErrNotHeld)
	require.ErrorIs(t, lock.Extend(t.Context(), 0), ErrLost, "the first holder finds out")
	require.EqualValues(t, 1, second.Stats().Acquired)
	require.EqualValues(t, 1, second.Stats().Released)
	require.Zero(t, namesOf(second))
}
