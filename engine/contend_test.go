package engine

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
	"muxlock/pipeline"
)

// bareQuorum stands for five masters of which the first three have every lock, and are
// the last to answer.
type bareQuorum struct{ *scripted }

func (p bareQuorum) Do(ctx context.Context, req pipeline.Request) (pipeline.Outcome, error) {
	out, err := p.scripted.Do(ctx, req)
	if req.Op == pipeline.Acquire && out.Verdict == quorum.Denied {
		out.Tally = quorum.Tally{Granted: 2, Refused: 3}
	}
	return out, err
}

func TestContenderWaitsForALockThatLivesOnABareQuorum(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		other := newEngine(e.cfg, bareQuorum{s}, new(record))
		defer other.Close()
		lock := mustAcquire(t, e, "name", 0)
		waiting := goAcquire(t.Context(), other, 0)
		time.Sleep(3 * time.Second)
		require.LessOrEqual(t, s.count(pipeline.Acquire), 1+2, "it does not poll")
		require.NoError(t, lock.Release(t.Context()))
		begin := time.Now()
		require.NoError(t, requireGot(t, waiting).Release(t.Context()))
		require.LessOrEqual(t, time.Since(begin), 3*time.Millisecond+2*defaultRetrySplit)
		require.EqualValues(t, 2, other.Stats().SplitVotes)
	})
}

func TestHandOverFarFromTheMastersCostsLittleMoreThanTheWay(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		s.set(func() { s.delay = 20 * time.Millisecond })
		other := newEngine(e.cfg, s, new(record))
		defer other.Close()
		for range 20 {
			lock := mustAcquire(t, e, "name", 0)
			waiting := goAcquire(t.Context(), other, 0)
			time.Sleep(time.Second)
			begin := time.Now()
			require.NoError(t, lock.Release(t.Context()))
			next := requireGot(t, waiting)
			require.LessOrEqual(t, time.Since(begin), 2*s.delay+redlock.WakeSpread(2*s.delay), "release one way, push one way, one round trip")
			require.NoError(t, next.Release(t.Context()))
		}
	})
}

func TestTurnOfOthersFarFromTheMastersIsNoRoundTrip(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		s.set(func() { s.delay = 20 * time.Millisecond })
		lock := mustAcquire(t, e, "name", 0)
		waiting := goAcquire(t.Context(), e, 0)
		time.Sleep(time.Second)
		begin := time.Now()
		require.NoError(t, lock.Release(t.Context()))
		requireGot(t, waiting)
		require.Equal(t, 2*s.delay+4*redlock.WakeSpread(2*s.delay), time.Since(begin))
	}, handOver(time.Millisecond))
}

// taken stands for a pipeline whose masters refuse every acquire.
type taken struct {
	*scripted
	tokens map[string]bool
}

func (p *taken) Do(_ context.Context, req pipeline.Request) (pipeline.Outcome, error) {
	p.tokens[req.Token] = true
	return pipeline.Outcome{Verdict: quorum.Denied, Tally: quorum.Tally{Refused: 5}}, nil
}

// A late release of one attempt would take away the votes of the next.
func TestEachAttemptHasATokenOfItsOwn(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *Engine, s *scripted) {
		p := &taken{s, make(map[string]bool)}
		e := newEngine(Config{Masters: make([]string, 5), MaxAttempts: 4}.withDefaults(), p, new(record))
		defer e.Close()
		_, err := e.Acquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, ErrTaken)
		require.Len(t, p.tokens, 4)
	})
}
