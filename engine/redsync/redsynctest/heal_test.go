package redsynctest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

// openShort returns an engine whose masters vote soon after a restart.
func openShort(t *testing.T, masters []*redisserver.Server) *engine.Engine {
	e, err := engine.New(t.Context(), engine.Config{Masters: redistest.Addrs(masters), MastersAreNew: true, MaxTTL: short, TTL: short, MasterTimeout: await.Patience})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// allVote reports whether all masters vote, and none lacks a kept lock.
func allVote(e *engine.Engine) bool {
	s := e.Stats()
	for _, m := range s.Masters {
		if m.Cause != nil {
			return false
		}
	}
	return s.Eroded == 0
}

// Redsync's mutexes poll, and take what is free at a master that has just voted again.
func TestAKeptLockIsHealedBesideRedsync(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 3)
	e, key := openShort(t, masters), newKey(t)
	lock, err := e.Acquire(t.Context(), key, 0)
	require.NoError(t, err)
	require.NoError(t, lock.KeepAlive(0))
	ctx, cancel := context.WithCancel(t.Context())
	var held, both atomic.Int64
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	process := openRedsync(t, redistest.Addrs(masters))
	for range 4 {
		waiting.Go(func() {
			for ctx.Err() == nil {
				if m := process(key, expiry(short), delay(20*time.Millisecond), tries(1000)); m.LockContext(ctx) == nil {
					if held.Add(1); lock.Valid() {
						both.Add(1)
					}
					_, _ = m.Unlock()
				}
			}
		})
	}
	await.True(t, func() bool { n, of := lock.HeldOn(); return n == of })
	for i := range masters {
		redistest.Down(t, masters[i])()
		await.True(t, func() bool { return e.Stats().Masters[i].Cause != nil })
		await.True(t, func() bool { return e.Stats().Masters[i].Cause == nil })
		votes := time.Now()
		await.True(t, func() bool { n, of := lock.HeldOn(); return n == of && allVote(e) })
		t.Logf("master %d has the lock again %v after it votes", i, time.Since(votes))
		require.NoError(t, lock.Err())
		require.Zero(t, held.Load())
	}
	require.NoError(t, lock.Release(t.Context()))
	await.True(t, func() bool { return held.Load() > 0 })
	require.Zero(t, both.Load())
}

// Redsync extends its lock and never heals it, so the second master that restarts ends it. A waiting engine holds no sooner.
func TestAnEngineHoldsOnceRedsyncHasLostItsMasters(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 3)
	e, key := openShort(t, masters), newKey(t)
	m := openRedsync(t, redistest.Addrs(masters))(key, expiry(short))
	require.NoError(t, m.Lock())
	ctx, cancel := context.WithCancel(t.Context())
	until := make(chan time.Time, 1)
	go func() {
		for extended := true; extended && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
			extended, _ = m.Extend()
		}
		until <- m.Until()
	}()
	next := make(chan time.Time, 1)
	go func() {
		if lock, err := e.Acquire(t.Context(), key, 0); err == nil {
			next <- time.Now()
			_ = lock.Release(t.Context())
		}
	}()
	defer cancel()
	for i := range 2 {
		require.Empty(t, next)
		redistest.Down(t, masters[i])()
		await.True(t, func() bool { return e.Stats().Masters[i].Cause != nil })
		await.True(t, func() bool { return e.Stats().Masters[i].Cause == nil })
	}
	require.True(t, (<-next).After(<-until))
}
