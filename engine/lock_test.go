package engine

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestValidityRunsOutByTheLocalClock(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, _ *scripted) {
		lock := mustAcquire(t, e, "name", time.Second)
		held, cancel := lock.Context(t.Context())
		defer cancel()
		child, cancelChild := context.WithTimeout(held, time.Hour)
		defer cancelChild()
		require.True(t, lock.Valid())
		require.NoError(t, held.Err())
		<-lock.Done()
		require.Zero(t, time.Until(lock.Until()))
		<-child.Done()
		for _, err := range []error{lock.Err(), context.Cause(held), context.Cause(child)} {
			require.ErrorIs(t, err, ErrLost)
			require.ErrorIs(t, err, ErrExpired)
			require.NotErrorIs(t, err, ErrNotAcquired)
		}
		require.False(t, lock.Valid())
		late, cancelLate := lock.Context(t.Context())
		defer cancelLate()
		require.ErrorIs(t, context.Cause(late), ErrLost, "a context of a lost lock has ended")
		require.Equal(t, uint64(1), e.Stats().Lost)
		require.ErrorIs(t, lock.Extend(t.Context(), 0), ErrLost)
	})
}

func TestValidityNeedsNoTimerUnlessSomebodyWatches(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, _ *scripted) {
		lock := mustAcquire(t, e, "name", time.Second)
		require.Empty(t, e.keeper.leases)
		time.Sleep(time.Until(lock.Until()) - 1)
		require.True(t, lock.Valid())
		require.Empty(t, e.keeper.leases)
		time.Sleep(time.Nanosecond)
		require.False(t, lock.Valid())
		select {
		case <-lock.Done():
		default:
			t.Fatal("Done of a lost lock is closed already")
		}
	})
}
