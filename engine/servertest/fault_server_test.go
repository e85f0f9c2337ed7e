package servertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"muxlock/engine"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

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

func TestScriptFlushCostsNoCall(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	var locks []*engine.Lock
	flush := func() {
		for _, m := range masters {
			redistest.Command(t, m, "SCRIPT", "FLUSH")
		}
	}
	for _, name := range numbered(t.Name(), 64) {
		locks = append(locks, mustAcquire(t, e, name, 0))
	}
	for _, ask := range []func(l *engine.Lock) error{
		func(l *engine.Lock) error { return l.Extend(context.Background(), 20*time.Second) },
		func(l *engine.Lock) error { return l.Release(context.Background()) },
	} {
		flush()
		require.NoError(t, ask(locks[0]), "a lone caller, in plain commands")
		flush()
		var all errgroup.Group
		for _, lock := range locks[1:] {
			all.Go(func() error { return ask(lock) })
		}
		require.NoError(t, all.Wait())
	}
	for _, m := range e.Stats().Masters {
		require.Zero(t, m.SetAside)
	}
	await.Equal(t, 0, func() any { return len(ownKeys(t, masters)) })
}
