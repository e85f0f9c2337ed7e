package groups

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
)

// An audit looks at the locks of a name all the time.
type audit struct {
	mu    sync.Mutex // guards the following
	locks map[*engine.Lock]bool
	holds int
	twice bool // two were valid at once
}

func (a *audit) watch(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(7 * time.Millisecond):
		}
		a.mu.Lock()
		valid := 0
		for l := range a.locks {
			if l.Valid() {
				valid++
			}
		}
		a.twice = a.twice || valid > 1
		a.mu.Unlock()
	}
}

// process takes the lock again and again, until ctx ends.
func (a *audit) process(ctx context.Context, e *engine.Engine, random *rand.Rand) {
	for ctx.Err() == nil {
		lock, err := e.Acquire(ctx, "name", 0)
		if err != nil {
			continue
		}
		a.mu.Lock()
		a.locks[lock] = true
		a.holds++
		a.mu.Unlock()
		if random.IntN(2) == 0 {
			_ = lock.KeepAlive(0)
		}
		time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
		_ = lock.Release(context.Background())
		a.mu.Lock()
		delete(a.locks, lock)
		a.mu.Unlock()
	}
}

// change has processes change the map from a to b, while one master of each group fails at a time. It returns what the
// audit saw.
func change(t *testing.T, seed uint64, barrier bool) (holds int, twice bool) {
	synctest.Test(t, func(t *testing.T) {
		w, a := newWorld(t), &audit{locks: make(map[*engine.Lock]bool)}
		w.groups("a", "b")
		stop := make(chan struct{})
		var all sync.WaitGroup
		t.Cleanup(func() { // also if a process cannot start
			close(stop)
			all.Wait()
			holds, twice = a.holds, a.twice
		})
		all.Go(func() { a.watch(stop) })
		all.Go(func() { // faults
			random := rand.New(rand.NewPCG(seed, 0))
			for {
				group, master := string("ab"[random.IntN(2)]), string("012"[random.IntN(3)])
				m := w[group+master+":1"]
				fault := random.IntN(3)
				switch fault {
				case 0:
					m.Down()
				case 1:
					m.Slow(time.Duration(random.IntN(400)) * time.Millisecond)
				default:
					m.Restart()
				}
				select {
				case <-time.After(time.Duration(random.IntN(2000)) * time.Millisecond):
				case <-stop:
				}
				m.Up()
				m.Slow(0)
				select {
				case <-time.After(4 * time.Second): // a master that was restarted waits
				case <-stop:
					return
				}
			}
		})
		callersSoFar := uint64(0)
		start := func(now, next string) (end func()) {
			cfg := w.config(now, next)
			cfg.TTL, cfg.MaxTTL, cfg.MasterTimeout, cfg.HandOverTime = 2*time.Second, 2*time.Second, 200*time.Millisecond, time.Second
			e, err := New(context.Background(), cfg)
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(context.Background())
			var callers sync.WaitGroup
			for range 2 {
				callersSoFar++
				random := rand.New(rand.NewPCG(seed, callersSoFar))
				callers.Go(func() { a.process(ctx, e.Engine, random) })
			}
			end = func() {
				cancel()
				e.Close()
				callers.Wait()
			}
			t.Cleanup(end)
			return end
		}
		const term = 20 * time.Second
		old1, old2 := start("a", ""), start("a", "")
		time.Sleep(term)
		old1()
		both1 := start("a", "b")
		time.Sleep(term)
		if barrier {
			old2()
		}
		both2 := start("a", "b")
		time.Sleep(term)
		both1()
		start("b", "")
		time.Sleep(term)
		both2()
		start("b", "")
		time.Sleep(term)
	})
	return holds, twice
}

func TestAChangeOfTheMapUnderFaultsKeepsALockToOne(t *testing.T) {
	for seed := range uint64(5) {
		holds, twice := change(t, seed, true)
		require.False(t, twice, "seed %d", seed)
		require.Greater(t, holds, 20, "seed %d", seed)
	}
	_, twice := change(t, 0, false)
	require.True(t, twice, "the audit sees what happens without the barrier")
}
