package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine/internal/inside"
	"muxlock/internal/clock"
)

func TestThePageHasWhoAsksTheMastersAndSinceWhen(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		s.set(func() {
			s.keys["name"] = scriptedKey{token: ours, ends: time.Now().Add(time.Minute)}
			s.keys["b"] = s.keys["name"]
		})
		waited := func() map[string]inside.Waited {
			all := map[string]inside.Waited{}
			for _, w := range e.snapshot(10).Waited {
				w.Since = w.Since.Round(0)
				all[w.Name] = w
			}
			return all
		}
		began := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		first := goAcquire(ctx, e, 0)
		go func() { _, _ = e.AcquireAll(ctx, []string{"b"}, 0) }()
		time.Sleep(time.Microsecond)
		require.Equal(t, inside.Waited{Name: "b", Kind: "set", Asks: true, Since: began}, waited()["b"])
		time.Sleep(time.Second - time.Microsecond)
		second := goAcquireShared(t.Context(), e, 0)
		time.Sleep(time.Second)
		require.Equal(t, inside.Waited{Name: "name", Kind: "exclusive", Asks: true, Waiting: 1, Since: began}, waited()["name"])
		cancel()
		require.Error(t, (<-first).err)
		require.Equal(t, inside.Waited{Name: "name", Kind: "shared", Asks: true, Since: began.Add(time.Second)}, waited()["name"])
		s.drop("name")
		require.NoError(t, requireGot(t, second).Release(t.Context()))
		require.Empty(t, waited())
	})
}

// The one who asks stands in the queue for permits, too.
func TestThePageCountsWhoWaitsForAPermitOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		permit := mustPermit(t, e, "name", 1)
		began := time.Now()
		go func() {
			lock, _ := e.AcquirePermit(t.Context(), "name", 1, 0)
			_ = lock.Release(t.Context())
		}()
		time.Sleep(5 * time.Second)
		all := e.snapshot(10)
		all.Waited[0].Since = all.Waited[0].Since.Round(0)
		require.Equal(t, []inside.Waited{{Name: "name", Kind: "permit", Asks: true, Here: true, Since: began}}, all.Waited)
		require.NoError(t, permit.Release(t.Context()))
		s.holdSlots("name", time.Minute, 0)
		go func() { _, _ = e.AcquirePermit(t.Context(), "name", 1, 0) }()
		time.Sleep(5 * time.Second)
		require.False(t, e.snapshot(10).Waited[0].Here)
		time.Sleep(2 * time.Minute)
	})
}

func TestALockOnItsWayToTheNextHolderIsHeldSinceNow(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, _ *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		n := lock.lease.state
		w := e.names.waiters.Get().(*waiter) // of a goroutine that has not run yet
		w.Kind, w.TTL, w.Since = lock.lease.Kind(), e.cfg.TTL, clock.Now()
		n.shard.mu.Lock()
		n.Wait(w)
		n.shard.mu.Unlock()
		require.NoError(t, lock.Release(t.Context()))
		held := e.snapshot(10).Held
		require.Len(t, held, 1)
		require.Equal(t, time.Now(), held[0].Since.Round(0))
		(<-w.Of.ready)
		require.True(t, w.Of.lock.collect(clock.Now()))
		require.NoError(t, w.Of.lock.Release(t.Context()))
		synctest.Wait()
	})
}

func TestALockThatWasKeptForTheTracerOnlyIsNotShownAsKept(t *testing.T) {
	traced(t, func(t *testing.T, e *Engine, _ *scripted, _ *told, ctx context.Context) {
		lock := mustAcquire(t, e, "name", 0)
		require.False(t, e.snapshot(10).Held[0].KeptAlive)
		require.NoError(t, lock.Release(ctx))
	})
}
