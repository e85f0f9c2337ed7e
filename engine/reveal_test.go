package engine

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/pipeline"
)

// A helper has the token of a lock, and releases the lock with it long after its holder
// did: the next holder must not notice.
func TestHelpersBelatedReleaseTouchesNoLaterHolder(t *testing.T) {
	for name, held := range map[string]time.Duration{"handed over": 0, "to be extended first": 6 * time.Second} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
				lock := mustAcquire(t, e, "name", 0)
				token := lock.Reveal()
				waiting := goAcquire(t.Context(), e, 0)
				time.Sleep(held)
				require.NoError(t, lock.Release(t.Context()))
				next := requireGot(t, waiting)
				s.Post(pipeline.Request{Op: pipeline.Release, Name: "name", Token: token})
				time.Sleep(time.Second)
				require.Equal(t, []string{"name"}, s.locked())
				require.NoError(t, next.Extend(t.Context(), 0))
				require.NoError(t, next.Release(t.Context()))
				requireNothingLeft(t, e, s)
			}, handOver(time.Minute))
		})
	}
}

func TestTokenIsNotRevealedOnceTheLeaseIsAnothers(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		waiting := goAcquire(t.Context(), e, 0)
		require.NoError(t, lock.Release(context.Background()))
		next := requireGot(t, waiting)
		require.Equal(t, 1, s.requests(), "handed over: nobody has seen its token")
		require.Empty(t, lock.Reveal())
		require.NotEmpty(t, next.Reveal())
		require.NoError(t, next.Release(context.Background()))
		require.NotEmpty(t, next.Reveal(), "of a lease that is over, it does no harm")
	})
}

// Whoever has the token may have adopted the lock, and extended it, meanwhile.
func TestExtendThatIsAnsweredTooLateIsUndoneUnlessTheTokenWasRevealed(t *testing.T) {
	for _, revealed := range []bool{false, true} {
		inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
			lock := mustAcquire(t, e, "name", time.Second)
			if revealed {
				lock.Reveal()
			}
			s.set(func() { s.delay = 2 * time.Second })
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			require.ErrorIs(t, lock.Extend(ctx, 10*time.Second), context.DeadlineExceeded)
			time.Sleep(5 * time.Second)
			require.False(t, lock.Valid())
			require.Equal(t, revealed, s.count(pipeline.Release) == 0)
		}, masterTimeout(10*time.Millisecond))
	}
}
