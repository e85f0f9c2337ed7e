package admin

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

func TestForcedReleaseWakesAWaiterAndTheHolderFindsOut(t *testing.T) {
	masters := five(t)
	service, tool, other := open(t, masters), open(t, masters), open(t, masters)
	lock, err := service.Acquire(t.Context(), t.Name(), 5*time.Second)
	require.NoError(t, err)
	require.NoError(t, lock.KeepAlive(0))
	everywhere(t, masters, t.Name())
	next := make(chan error, 1)
	go func() {
		_, err := other.Acquire(context.Background(), t.Name(), 20*time.Second)
		next <- err
	}()
	await.True(t, func() bool {
		return count(other, func(m engine.MasterStats) bool { return m.Tracking && m.Reads > 0 }) == 5
	}, "it is notified, and does not poll")
	i := mustInspect(t, tool, t.Name())
	n, err := ForceRelease(t.Context(), tool, i)
	require.NoError(t, err)
	require.Equal(t, 5, n)
	require.NoError(t, <-next, "long before the lease would have run out, as it is renewed")
	<-lock.Done()
	require.ErrorIs(t, lock.Err(), engine.ErrLost)
	require.ErrorIs(t, lock.Err(), engine.ErrNotHeld)

	n, err = ForceRelease(t.Context(), tool, i)
	require.ErrorIs(t, err, engine.ErrNotHeld, "what another has locked since is not touched")
	require.Zero(t, n)
	now := mustInspect(t, tool, t.Name())
	require.True(t, now.Held)
	require.NotEqual(t, i.Masters[0].Value, now.Masters[0].Value)
	_, err = ForceRelease(t.Context(), tool, now)
	require.NoError(t, err)
	redistest.Gone(t, masters, t.Name())
}

func TestForcedReleaseOfASplitVoteDeletesAllThatWasFound(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	redistest.Put(t, masters[:2], t.Name(), redistest.RedsyncToken)
	redistest.Put(t, masters[2:4], t.Name(), "another")
	i := mustInspect(t, e, t.Name())
	require.False(t, i.Held)
	require.NotEqual(t, i.Masters[0].Value, i.Masters[2].Value)
	redistest.Put(t, masters[4:], t.Name(), "since")
	n, err := ForceRelease(t.Context(), e, i)
	require.NoError(t, err)
	require.Equal(t, 4, n)
	require.Equal(t, []string{"", "", "", "", "since"}, redistest.Get(t, masters, t.Name()))
	redistest.Command(t, masters[4], "DEL", t.Name())
}

func TestForcedReleaseThatTooFewAnswerIsNotConfirmed(t *testing.T) {
	masters := redistest.Masters(t, 3)
	e, links := bent(t, masters)
	redistest.Put(t, masters, t.Name(), redistest.RedsyncToken)
	i := mustInspect(t, e, t.Name())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := ForceRelease(ended, e, i)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{redistest.RedsyncToken, redistest.RedsyncToken, redistest.RedsyncToken}, redistest.Get(t, masters, t.Name()), "nothing was sent")
	for _, link := range links[:2] {
		link.RefuseDials(true)
		link.Cut()
	}
	await.Equal(t, 1, func() any { return upMasters(e) })
	n, err := ForceRelease(t.Context(), e, i)
	require.ErrorIs(t, err, engine.ErrNoQuorum)
	require.Equal(t, 1, n)
	shown.RequireHidden(t, redistest.RedsyncToken, err)
	for _, link := range links[:2] {
		link.RefuseDials(false)
	}
}
