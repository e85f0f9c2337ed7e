package servertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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

func TestTwoEnginesWhoseSetsCrossBothGoOn(t *testing.T) {
	masters := redistest.Masters(t, 5)
	names := numbered(t.Name(), 4)
	var all sync.WaitGroup
	for i := range 2 {
		e := open(t, masters)
		for w := range 4 {
			all.Go(func() {
				wanted := slices.Clone(names)
				rand.Shuffle(len(wanted), func(i, j int) { wanted[i], wanted[j] = wanted[j], wanted[i] })
				for range 20 {
					s, err := e.AcquireAll(t.Context(), wanted[:2+(i+w)%3], 0)
					if !assert.NoError(t, err) {
						return
					}
					assert.NoError(t, s.Release(t.Context()))
				}
			})
		}
	}
	all.Wait()
}
