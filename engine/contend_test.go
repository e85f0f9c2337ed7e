package engine

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
	"muxlock/internal/testing/await"
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

// lateTaker has whoever is granted a lock for the first time wait until it has run out.
type lateTaker struct {
	*scripted
	shard *shard
	once  sync.Once
	hold  time.Duration
}

func (p *lateTaker) Do(ctx context.Context, req pipeline.Request) (pipeline.Outcome, error) {
	out, err := p.scripted.Do(ctx, req)
	if req.Op == pipeline.Acquire {
		p.once.Do(func() {
			p.shard.mu.Lock()
			time.AfterFunc(p.hold, p.shard.mu.Unlock)
		})
	}
	return out, err
}

func TestAcquireReturnsNoLockThatRanOutOnItsWay(t *testing.T) {
	const ttl = 300 * time.Millisecond
	for _, most := range []int{0, 1} {
		s := &scripted{keys: make(map[string]scriptedKey)}
		p := &lateTaker{scripted: s, hold: ttl}
		e := newEngine(Config{Masters: make([]string, 5), MaxAttempts: most}.withDefaults(), p, new(record))
		c := &contender{e: e, name: "name", tries: attempts{ttl: ttl}, turn: ownTurn{began: clock.Now()}}
		_, _, _, err := e.names.join(c, false, 0)
		require.NoError(t, err)
		p.shard = c.state.shard
		c.state.stopContending(false)

		lock, err := e.Acquire(t.Context(), "name", ttl)
		if most == 1 {
			require.ErrorIs(t, err, ErrExpired)
			require.ErrorIs(t, err, ErrNotAcquired)
			await.Equal(t, 1, func() any { return s.count(pipeline.Release) }, "undone")
		} else {
			require.NoError(t, err)
			require.NoError(t, lock.Err())
			require.NoError(t, lock.Release(t.Context()))
		}
		require.EqualValues(t, 1, e.Stats().Expired)
		require.Zero(t, e.Stats().Lost)
		require.Zero(t, namesOf(e))
		require.NoError(t, e.Close())
	}
}

func TestLockThatRunsOutWhileItIsHandedOverIsAskedForAgain(t *testing.T) {
	var delivered []string
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		waiting := goAcquire(t.Context(), e, 0)
		lock.lock()
		lock.endLocked(ErrNotHeld)
		lock.lease.handOverLocked(lock, lock.since)
		lock.lease.renewal.until = lock.since // its next holder has been stopped for long before it sees it
		lock.unlock()
		next := requireGot(t, waiting)
		require.NotEqual(t, lock.lease.token, next.lease.token)
		require.Zero(t, e.Stats().Lost)
		require.NoError(t, next.Release(t.Context()))
		requireNothingLeft(t, e, s)
		require.Equal(t, []string{"acquired 1", "released", "acquired 1", "released"}, delivered, "a caller that never had it has not lost it")
	}, func(c *Config) {
		c.Observer = &Observer{
			Acquired: func(_ string, _ time.Duration, attempts int) {
				delivered = append(delivered, "acquired "+string(rune('0'+attempts)))
			},
			Released: func(string, time.Duration, bool, error) { delivered = append(delivered, "released") },
			Lost:     func(string, time.Duration, error) { delivered = append(delivered, "lost") },
		}
	})
}
