package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
	"muxlock/pipeline"
)

func TestReadySaysWhoDoesNotVoteAndWhyAndForHowLong(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 3)
	e := open(t, masters, shortWait, func(c *Config) { c.MastersAreNew = false })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := e.Ready(ctx)
	require.ErrorIs(t, err, ErrNoQuorum)
	require.ErrorIs(t, err, ErrRestarted)
	require.ErrorIs(t, err, context.Canceled)
	for _, m := range masters {
		require.Regexp(t, m.Addr()+`: started \d+s ago: no vote for another (\d(\.\d)?s|\d00ms)`, err.Error())
	}
	require.Regexp(t, `no quorum of masters: 0 of 3 masters vote, 2 are needed, in (\d(\.\d)?s|\d00ms); `, err.Error())
	require.NoError(t, e.Ready(t.Context()))
	cycle(t, e, t.Name())
	require.NoError(t, e.Ready(ctx), "it is")
	require.NoError(t, e.Close())
	require.Equal(t, ErrClosed, e.Ready(t.Context()))
}

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
