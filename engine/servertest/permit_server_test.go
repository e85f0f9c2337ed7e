package servertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/internal/inside"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func mustPermit(t testing.TB, e *engine.Engine, name string, limit int) *engine.Lock {
	t.Helper()
	l, err := e.AcquirePermit(context.Background(), name, limit, 0)
	require.NoError(t, err)
	return l
}

func keyOf(slot int, name string) string { return fmt.Sprint(inside.SlotPrefix, slot, ":", name) }

// slotKeys returns the keys of slots of the test's name on the masters.
func slotKeys(t testing.TB, masters []*redisserver.Server) (keys []string) {
	for _, key := range redistest.Keys(t, masters...) {
		if _, of := inside.SlotOf(key); of == t.Name() {
			keys = append(keys, key)
		}
	}
	return keys
}

func TestPermitsAndTheLockOfANameHaveNothingToDoWithEachOther(t *testing.T) {
	masters := redistest.Masters(t, 3)
	e := open(t, masters)
	prefixed := open(t, masters, func(c *engine.Config) { c.Prefix = "app:" })
	lock := mustAcquire(t, e, "job", 0)
	require.Equal(t, -1, lock.Slot())
	permit, err := e.TryAcquirePermit(t.Context(), "job", 1, 0)
	require.NoError(t, err)
	require.Equal(t, 0, permit.Slot())
	there, err := prefixed.TryAcquirePermit(t.Context(), "job", 1, 0)
	require.NoError(t, err, "prefixes keep permits apart")
	require.Equal(t, "job", there.Name())
	_, err = prefixed.TryAcquire(t.Context(), keyOf(0, "job"), 0)
	require.NoError(t, err, "no name leads to a slot")
	_, err = e.TryAcquirePermit(t.Context(), "app:job", 1, 0)
	require.ErrorIs(t, err, engine.ErrTaken, "it is the same key")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = e.AcquirePermit(ctx, "job", 2, 0)
	require.ErrorIs(t, err, context.Canceled)
}

func TestAtMostTheLimitHoldPermits(t *testing.T) {
	masters := redistest.Masters(t, 5)
	for _, limit := range []int{1, 3, 12} {
		var mu sync.Mutex
		holders := make(map[int]bool)
		var all sync.WaitGroup
		for range 4 {
			e := open(t, masters)
			for range 5 {
				all.Go(func() {
					for i := range 15 {
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+rand.IntN(20))*time.Millisecond)
						if i%3 > 0 {
							ctx = t.Context()
						}
						p, err := e.AcquirePermit(ctx, t.Name(), limit, 0)
						cancel()
						if err != nil {
							assert.ErrorIs(t, err, context.DeadlineExceeded)
							continue
						}
						mu.Lock()
						assert.False(t, holders[p.Slot()])
						assert.Less(t, p.Slot(), limit)
						holders[p.Slot()] = true
						mu.Unlock()
						mu.Lock()
						delete(holders, p.Slot())
						mu.Unlock()
						assert.NoError(t, p.Release(t.Context()))
					}
				})
			}
		}
		all.Wait()
		await.Equal(t, 0, func() any { return len(slotKeys(t, masters)) })
	}
}

// Three masters each have another slot free: no slot has a quorum, so there is no permit, and nothing stays.
func TestVotesOnSeveralSlotsAreNoPermit(t *testing.T) {
	masters := redistest.Masters(t, 3)
	e := open(t, masters)
	for i, m := range masters {
		for slot := range 3 {
			if slot != i {
				redistest.Command(t, m, "SET", keyOf(slot, t.Name()), "of another process", "PX", "100000")
			}
		}
	}
	_, err := e.TryAcquirePermit(t.Context(), t.Name(), 3, 0)
	require.ErrorIs(t, err, engine.ErrTaken)
	await.Equal(t, 6, func() any { return len(slotKeys(t, masters)) })
	redistest.Command(t, masters[0], "DEL", keyOf(1, t.Name()))
	p := mustPermit(t, e, t.Name(), 3)
	require.Equal(t, 1, p.Slot())
	require.NoError(t, p.Release(t.Context()))
}
