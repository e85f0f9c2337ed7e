package engine

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
	"muxlock/internal/testing/redistest"
	"muxlock/internal/token"
	"muxlock/pipeline"
)

func TestRefusedAttemptNeverTouchesTheHolder(t *testing.T) {
	masters := five(t)
	holder, other := open(t, masters), open(t, masters)
	lock := heldEverywhere(t, holder, masters, 20*time.Second)
	before := redistest.PTTL(t, masters, t.Name())
	for range 10 { // one by one, plain commands
		_, err := other.TryAcquire(t.Context(), t.Name(), 30*time.Second)
		require.ErrorIs(t, err, ErrTaken)
	}
	var many sync.WaitGroup // all at once, folded
	for range 100 {
		many.Go(func() {
			req := pipeline.Request{Op: pipeline.Acquire, Name: t.Name(), Token: token.New(), TTL: 30 * time.Second}
			if out, err := other.masters.pipe.Do(context.Background(), req); err != nil || out.Verdict != quorum.Denied {
				t.Errorf("not refused: %v, %v", out, err)
			}
		})
	}
	many.Wait()
	cycle(t, other, t.Name()+"/behind") // what the attempts left behind has been sent before this
	require.Greater(t, other.Stats().LargestRound, 8)
	everywhere(t, masters, lock)
	for i, left := range redistest.PTTL(t, masters, t.Name()) {
		require.Positive(t, left)
		require.LessOrEqual(t, left, before[i])
	}
	require.NoError(t, lock.Release(t.Context()))
}
