package engine

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWaitEndsAtTheDeadlineAndAsksNoMoreThanNeeded(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		s.keys["name"] = scriptedKey{token: "another's", ends: time.Now().Add(lease10)}
		for _, limit := range []time.Duration{60 * time.Millisecond, 5 * time.Second} {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			begin := time.Now()
			_, err := e.Acquire(ctx, "name", 0)
			cancel()
			require.Equal(t, limit, time.Since(begin))
			require.ErrorIs(t, err, ErrTaken)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		require.EqualValues(t, 2, e.Stats().Taken, "once each")

		mustAcquire(t, e, "held here", 0)
		s.missing = new(NotReadyError) // no quorum votes any more
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := e.Acquire(ctx, "held here", 0)
		require.ErrorIs(t, err, ErrTaken)
	})
}
