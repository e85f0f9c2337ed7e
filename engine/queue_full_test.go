package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/pipeline"
)

// full stands for a pipeline whose queue is full.
type full struct{ *scripted }

func (full) Full() bool { return true }
func (p full) Do(ctx context.Context, req pipeline.Request) (pipeline.Outcome, error) {
	if req.Op == pipeline.Acquire && !req.Patient {
		return pipeline.Outcome{}, ErrOverloaded
	}
	return p.scripted.Do(ctx, req)
}

func TestAcquireIsRefusedAtTheDoorWhileTheQueueIsFull(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *Engine, s *scripted) {
		e := newEngine(Config{Masters: make([]string, 5)}.withDefaults(), full{s}, new(record))
		defer e.Close()
		for range 3 {
			_, err := e.Acquire(t.Context(), "name", 0)
			require.ErrorIs(t, err, ErrOverloaded)
		}
		_, err := e.TryAcquire(t.Context(), "", 0)
		require.ErrorIs(t, err, ErrInvalid, "what is wrong is wrong")
		require.EqualValues(t, 3, e.Stats().Overloaded)
		for i := range e.names.shards {
			require.Empty(t, e.names.shards[i].states)
		}
		require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = e.Acquire(context.Background(), "name", 0) }))
	})
}

func TestAcquireThatMayWaitIsNotRefusedAtTheDoor(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *Engine, s *scripted) {
		e := newEngine(Config{Masters: make([]string, 5), WaitWhenFull: true}.withDefaults(), full{s}, new(record))
		defer e.Close()
		lock, err := e.Acquire(t.Context(), "name", 0)
		require.NoError(t, err)
		require.NoError(t, lock.Release(t.Context()))
		_, err = e.TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, ErrOverloaded)
		requests, _ := s.history()
		require.Len(t, requests, 2)
		require.True(t, requests[0].Patient, "it waits in the pipeline's queue")
	})
}
