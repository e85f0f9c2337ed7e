package pipeline

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// ended is a ctx that has ended: Ready then returns the present state.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestReadyReturnsTheMomentAQuorumVotes(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.cfg.Wait = testWait
		b.started() // masters that were started just now
		err := b.p.Ready(ended(t))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, ErrRestarted)
		missing := (*NotReadyError)(nil)
		require.ErrorAs(t, err, &missing)
		require.Zero(t, missing.Voting)
		require.Equal(t, time.Until(b.votesFrom(1)), missing.Left)
		require.Len(t, missing.Causes, 3)
		require.Contains(t, err.Error(), "0 of 3 masters vote, 2 are needed, in ")

		end := b.votesFrom(1)
		require.NoError(t, b.p.Ready(t.Context()))
		require.False(t, time.Now().Before(end))
		require.LessOrEqual(t, time.Since(end), time.Millisecond)
		require.NoError(t, b.p.Ready(ended(t)), "it is")
		b.mustAcquire("a")
	})
}

func TestReadyWaitsForMastersThatAreAway(t *testing.T) {
	overNewMasters(t, func(t *testing.T, b *bubble) {
		each(b.fakes[:2], (*fake).leave)
		time.Sleep(2 * time.Second)
		require.Equal(t, 1, b.up())
		missing := (*NotReadyError)(nil)
		err := b.p.Ready(ended(t))
		require.ErrorAs(t, err, &missing)
		require.Equal(t, 1, missing.Voting)
		require.Zero(t, missing.Left, "nobody knows")
		require.NotContains(t, err.Error(), ", in ")
		require.Equal(t, b.fakes[0].address, missing.Causes[0].Master)
		require.Error(t, missing.Causes[0].Err)

		ready := make(chan error, 1)
		go func() { ready <- b.p.Ready(t.Context()) }()
		synctest.Wait()
		require.Empty(t, ready)
		b.fakes[1].comeBack()
		b.untilUp(2)
		up := time.Now()
		require.NoError(t, <-ready)
		require.LessOrEqual(t, time.Since(up), readyTick)
	})
}

func TestReadyEndsWithItsContextAndWithThePipeline(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.cfg.Wait = hour
		b.started()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		require.ErrorIs(t, b.p.Ready(ctx), context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(begin))

		ready := make(chan error, 1)
		go func() { ready <- b.p.Ready(t.Context()) }()
		synctest.Wait()
		b.p.Close()
		require.Equal(t, ErrClosed, <-ready)
		require.Equal(t, ErrClosed, b.p.Ready(t.Context()))
	})
}
