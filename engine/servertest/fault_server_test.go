package servertest

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/faultconn"
	"muxlock/internal/testing/redistest"
)

func TestStoppedMinorityCostsOneTimeoutAtMost(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 5)
	e := open(t, masters)
	for stopped := 1; stopped <= 2; stopped++ {
		require.NoError(t, masters[stopped-1].Pause())
		cost := 0 // cycles that may have waited for the master that is stopped
		for i := range 20 {
			begin := time.Now()
			cycle(t, e, fmt.Sprint(t.Name(), stopped, i))
			if took := time.Since(begin); took > await.Patience/2 {
				t.Logf("%d stopped, cycle %d took %v", stopped, i, took)
				cost++
			}
		}
		require.LessOrEqual(t, cost, 2, "an acquire and a release at most")
		await.Equal(t, 5-stopped, func() any { return upMasters(e) })
	}
	for _, m := range masters[:2] {
		require.NoError(t, m.Resume())
	}
	await.Equal(t, 5, func() any { return upMasters(e) }, "they come back by themselves")
	lock := heldEverywhere(t, e, masters, 0)
	require.NoError(t, lock.Release(t.Context()))
	for stopped := 1; stopped <= 2; stopped++ {
		for i := range 20 {
			redistest.Gone(t, masters, fmt.Sprint(t.Name(), stopped, i))
		}
	}
}

func TestStoppedMajorityIsNoQuorumInTimeAndLeavesNothingLocked(t *testing.T) {
	const ttl = 25 * time.Second
	t.Parallel()
	masters := redistest.Masters(t, 5)
	e := open(t, masters)
	for _, m := range masters[:3] {
		require.NoError(t, m.Pause())
	}
	var names []string
	for i := range 3 {
		names = append(names, fmt.Sprint(t.Name(), i))
		ctx, cancel := context.WithTimeout(t.Context(), ttl/2)
		begin := time.Now()
		_, err := e.TryAcquire(ctx, names[i], ttl)
		cancel()
		t.Logf("attempt %d took %v with MasterTimeout %v", i, time.Since(begin), await.Patience)
		require.ErrorIs(t, err, engine.ErrNoQuorum)
		require.ErrorIs(t, err, engine.ErrNotAcquired)
		require.NotErrorIs(t, err, context.DeadlineExceeded, "it ends by itself")
		for _, m := range masters[:3] {
			require.Contains(t, err.Error(), m.Addr())
		}
	}
	redistest.Gone(t, masters[3:], names...)
	for _, m := range masters[:3] {
		require.NoError(t, m.Resume())
	}
	await.Equal(t, 5, func() any { return upMasters(e) })
	await.Equal(t, 0, func() any { return pendingReleases(e) }, "second releases are sent")
	redistest.Gone(t, masters, names...)
	cycle(t, e, names[0])
}

func TestWaitersOfAStoppedMajorityGoOnOnceItIsBack(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 3)
	e := open(t, masters)
	for _, m := range masters[:2] {
		require.NoError(t, m.Pause())
	}
	acquired := make(chan *engine.Lock)
	go func() {
		lock, _ := e.Acquire(context.Background(), t.Name(), 0)
		acquired <- lock
	}()
	await.True(t, func() bool { return e.Stats().NoQuorum > 1 })
	for _, m := range masters[:2] {
		require.NoError(t, m.Resume())
	}
	lock := <-acquired
	require.NotNil(t, lock)
	require.NoError(t, lock.Release(t.Context()))
	await.True(t, func() bool { return upMasters(e) == 3 && pendingReleases(e) == 0 })
	redistest.Gone(t, masters, t.Name())
}

func TestScriptFlushCostsNoCall(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	stop := make(chan struct{})
	var work sync.WaitGroup
	for i := range 32 {
		work.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				lock, err := e.TryAcquire(context.Background(), fmt.Sprint(t.Name(), "/", i, "/", n), 0)
				if err == nil {
					err = lock.Extend(context.Background(), 20*time.Second)
				}
				if err == nil {
					err = lock.Release(context.Background())
				}
				if err != nil {
					t.Errorf("call failed: %v", err)
					return
				}
			}
		})
	}
	for range 20 {
		for _, m := range masters {
			redistest.Command(t, m, "SCRIPT", "FLUSH")
		}
	}
	close(stop)
	work.Wait()
	for _, m := range masters { // and in the plain commands of a lone caller
		redistest.Command(t, m, "SCRIPT", "FLUSH")
	}
	lock, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	require.NoError(t, lock.Extend(t.Context(), 20*time.Second))
	for _, m := range masters {
		redistest.Command(t, m, "SCRIPT", "FLUSH")
	}
	require.NoError(t, lock.Release(t.Context()))
	for _, m := range e.Stats().Masters {
		require.Zero(t, m.SetAside)
	}
	require.Positive(t, e.Stats().Acquired)
	await.Equal(t, 0, func() any { return len(ownKeys(t, masters)) })
}

func TestGrantWhoseReplyWasLostIsReleased(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 5)
	e, links := bent(t, masters)
	links[0].HoldReplies(true)
	lock, err := e.TryAcquire(t.Context(), t.Name(), 25*time.Second)
	require.NoError(t, err)
	everywhere(t, masters, lock) // executed on the first master too, which cannot say so
	links[0].RefuseDials(true)
	links[0].Cut()
	await.Equal(t, 4, func() any { return upMasters(e) })
	require.NoError(t, lock.Release(t.Context()))
	redistest.Gone(t, masters[1:], t.Name())
	require.Equal(t, lock.Reveal(), redistest.Get(t, masters[:1], t.Name())[0], "still there for now")
	links[0].HoldReplies(false)
	links[0].RefuseDials(false)
	redistest.Gone(t, masters, t.Name())
	await.True(t, func() bool { return upMasters(e) == 5 && pendingReleases(e) == 0 })
	require.Equal(t, uint64(1), e.Stats().Masters[0].PendingDeleted)
}

// The bytes of an acquire may sit in a dead connection until after its master has been
// admitted again on a new one, and its first release has found nothing.
func TestRequestsThatArriveAfterTheReconnectionAreReleasedOnceMore(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 5)
	old, fresh := faultconn.NewLink(), faultconn.NewLink()
	t.Cleanup(old.Cut)
	t.Cleanup(fresh.Cut)
	dial := func(ctx context.Context, addr string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
		if addr == masters[0].Addr() && old.Dials() == 0 {
			return old.Dial(ctx, addr, d, c)
		}
		return fresh.Dial(ctx, addr, d, c)
	}
	e := open(t, masters, func(c *engine.Config) { c.Client.DialCtxFn = dial })
	old.OutliveClose(true)
	old.BlackHole(true)
	lock, err := e.TryAcquire(t.Context(), t.Name(), 25*time.Second)
	require.NoError(t, err)
	await.True(t, func() bool { return back(e, 0, 0) }, "reconnected")
	require.NoError(t, lock.Release(t.Context()))
	require.Zero(t, e.Stats().Masters[0].PendingDeleted)
	require.Empty(t, redistest.Get(t, masters[:1], t.Name())[0])
	old.BlackHole(false)
	await.Equal(t, lock.Reveal(), func() any { return redistest.Get(t, masters[:1], t.Name())[0] }, "executed late")
	redistest.Gone(t, masters, t.Name())
	await.Equal(t, 0, func() any { return pendingReleases(e) })
	require.Equal(t, uint64(1), e.Stats().Masters[0].PendingDeleted)
}

func TestLateMasterDoesNotDelayTheOthers(t *testing.T) {
	masters := five(t)
	e, links := bent(t, masters, masterTimeout(9*time.Second))
	for _, link := range links[:2] {
		link.HoldReplies(true)
	}
	for range 10 {
		cycle(t, e, t.Name())
	}
	require.Zero(t, setAside(e, 0)+setAside(e, 1), "they have yet to answer, and may")
	for _, link := range links[:2] {
		link.HoldReplies(false)
	}
	redistest.Gone(t, masters, t.Name())
	require.Equal(t, 5, upMasters(e))
}

// Pending releases must be sent also while the master is never idle.
func TestPendingReleasesAreSentUnderConstantLoad(t *testing.T) {
	masters := redistest.Masters(t, 5)
	e, links := bent(t, masters, masterTimeout(await.Patience/4)) // a dead connection is noticed sooner
	ctx, cancel := context.WithCancel(t.Context())
	var load sync.WaitGroup
	for i := range 64 {
		load.Go(func() {
			for name := fmt.Sprint(t.Name(), "/", i); ctx.Err() == nil; {
				if lock, err := e.TryAcquire(context.Background(), name, 0); err == nil {
					lock.Release(context.Background())
				}
			}
		})
	}
	defer load.Wait()
	defer cancel()
	links[0].CutRepliesAfter(1000)
	await.True(t, func() bool { return back(e, 0, 0) })
	await.Equal(t, 0, func() any { return pendingReleases(e) }, "all are sent")
}
