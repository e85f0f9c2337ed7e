package servertest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func locksOf(results []engine.Result) (locks []*engine.Lock) {
	for _, r := range results {
		locks = append(locks, r.Lock)
	}
	return locks
}

func TestManyNamesWhoseContextEndsLeaveNothingLocked(t *testing.T) {
	masters := redistest.Masters(t, 5)
	e, links := bent(t, masters, masterTimeout(9*time.Second))
	for _, link := range links[:3] {
		link.HoldReplies(true)
	}
	names := numbered(t.Name(), 100)
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan []engine.Result)
	go func() { got <- e.AcquireMany(ctx, names, 20*time.Second) }()
	await.True(t, func() bool { return redistest.Get(t, masters[:1], names[99])[0] != "" }, "sent")
	cancel()
	for _, r := range <-got {
		require.Nil(t, r.Lock)
		require.ErrorIs(t, r.Err, context.Canceled)
		require.ErrorIs(t, r.Err, engine.ErrNotAcquired)
	}
	for _, link := range links[:3] {
		link.HoldReplies(false)
	}
	await.Equal(t, 0, func() any { return len(ownKeys(t, masters)) })
	for _, r := range e.AcquireMany(ctx, names[:2], 0) {
		require.ErrorIs(t, r.Err, context.Canceled)
	}
	locks := locksOf(e.AcquireMany(t.Context(), names, 0))
	require.NotContains(t, locks, nil)
	for _, err := range e.ReleaseMany(ctx, locks) { // goes on without its caller
		if err != nil {
			require.ErrorIs(t, err, engine.ErrNoQuorum)
			require.ErrorIs(t, err, context.Canceled)
		}
	}
	await.Equal(t, 0, func() any { return len(ownKeys(t, masters)) })
}
