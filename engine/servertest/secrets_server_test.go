package servertest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
	"muxlock/internal/testing/shown"
)

func TestNoErrorHoldsAToken(t *testing.T) {
	masters := five(t)
	e, links := bent(t, masters, func(c *engine.Config) { c.MaxAttempts = 1 })
	lock, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	_, taken := e.Acquire(t.Context(), t.Name(), 0)
	require.ErrorIs(t, taken, engine.ErrTaken)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, ended := e.Acquire(ctx, t.Name(), 0)
	for _, link := range links {
		link.RefuseDials(true)
		link.Cut()
	}
	extend := lock.Extend(t.Context(), 20*time.Second)
	require.ErrorIs(t, extend, engine.ErrNoQuorum)
	release := lock.Release(t.Context())
	require.ErrorIs(t, release, engine.ErrNoQuorum)
	for _, err := range []error{taken, ended, extend, release, lock.Err(), lock.Extend(t.Context(), 0)} {
		shown.RequireHidden(t, lock.Reveal(), err)
	}
	shown.RequireHidden(t, lock.Reveal(), e.Stats())
	for _, link := range links {
		link.RefuseDials(false)
	}
	await.Equal(t, 5, func() any { return upMasters(e) })
	redistest.Gone(t, masters, t.Name())
}
