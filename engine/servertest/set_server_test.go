package servertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/limits"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func TestSetIsAcquiredWholeOrNotAtAll(t *testing.T) {
	masters := redistest.Masters(t, 5)
	e, other := open(t, masters), open(t, masters)
	for _, size := range []int{1, 2, 9, limits.SetNames} {
		names := numbered(t.Name()+fmt.Sprint(size), size)
		there := mustAcquire(t, other, names[size/2], 0)
		everywhere(t, masters, there)
		_, err := e.TryAcquireAll(t.Context(), names, 0)
		require.ErrorIs(t, err, engine.ErrTaken)
		require.ErrorIs(t, err, engine.ErrNotAcquired)
		require.ErrorContains(t, err, fmt.Sprintf("%q", names[size/2]))
		var votes *engine.AttemptError
		require.ErrorAs(t, err, &votes)
		await.Equal(t, 5, func() any { return len(ownKeys(t, masters)) }, "but that of the other")
		require.NoError(t, there.Release(t.Context()))

		rounds := e.Stats().Rounds
		s, err := e.AcquireAll(t.Context(), names, 20*time.Second)
		require.NoError(t, err)
		require.Less(t, e.Stats().Rounds-rounds, uint64(3))
		require.True(t, s.Valid())
		require.Len(t, s.Locks(), size)
		require.Equal(t, fmt.Sprintf("set of %d locks, of %q first", size, names[0]), fmt.Sprintf("%+v", s))
		for i, l := range s.Locks() {
			require.Equal(t, names[i], l.Name())
			_, err := other.TryAcquire(t.Context(), names[i], 0)
			require.ErrorIs(t, err, engine.ErrTaken)
			if i == 3 {
				break
			}
		}
		held, total := s.HeldOn()
		require.GreaterOrEqual(t, held, 3)
		require.Equal(t, 5, total)
		require.InDelta(t, 20, time.Until(s.Until()).Seconds(), 5)
		require.NoError(t, s.Extend(t.Context(), 30*time.Second))
		require.InDelta(t, 30, time.Until(s.Until()).Seconds(), 5)
		ctx, cancel := s.Context(t.Context())
		require.NoError(t, s.Release(t.Context()))
		require.ErrorIs(t, context.Cause(ctx), engine.ErrNotHeld)
		cancel()
		<-s.Done()
		require.ErrorIs(t, s.Err(), engine.ErrNotHeld)
		require.ErrorIs(t, s.Release(t.Context()), engine.ErrNotHeld)
		require.ErrorIs(t, s.Extend(t.Context(), 0), engine.ErrNotHeld)
		require.ErrorIs(t, s.KeepAlive(0), engine.ErrNotHeld)
		await.Equal(t, 0, func() any { return len(ownKeys(t, masters)) })
		require.Zero(t, e.Stats().Held)
	}
}
