package engine

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
	"muxlock/internal/redlock"
	"muxlock/pipeline"
)

// queued stands for a pipeline in which requests wait for long before they are sent.
type queued struct {
	*scripted
	wait time.Duration
}

func (p *queued) Do(ctx context.Context, req pipeline.Request) (pipeline.Outcome, error) {
	time.Sleep(p.wait)
	sent := clock.Now()
	out, err := p.scripted.Do(ctx, req)
	out.Sent = sent
	return out, err
}

func (p *queued) Start(req pipeline.Request, to pipeline.Receiver) error {
	go func() {
		time.Sleep(p.wait)
		_ = p.scripted.Start(req, sentLater{to, clock.Now()})
	}()
	return nil
}

type sentLater struct {
	pipeline.Receiver
	sent clock.Instant
}

func (to sentLater) Decided(out pipeline.Outcome) {
	out.Sent = to.sent
	to.Receiver.Decided(out)
}

func TestValidityCountsFromWhenTheRequestWasSent(t *testing.T) {
	const ttl, wait = 3 * time.Second, 4 * time.Second
	valid := redlock.Validity(ttl, 0, redlock.DefaultDrift)
	inBubble(t, func(t *testing.T, _ *Engine, s *scripted) {
		p := &queued{s, wait}
		e := newEngine(Config{Masters: make([]string, 5)}.withDefaults(), p, new(record))
		defer e.Close()
		begin := time.Now()
		lock, err := e.TryAcquire(t.Context(), "name", ttl)
		require.NoError(t, err, "the queue is no part of the lease")
		require.Equal(t, wait+valid, lock.Until().Sub(begin))
		require.Equal(t, s.delay, e.masters.roundTrip(), "nor of the round trip")

		p.wait = time.Second
		begin = time.Now()
		require.NoError(t, lock.Extend(t.Context(), ttl))
		require.Equal(t, p.wait+valid, lock.Until().Sub(begin))

		require.NoError(t, lock.KeepAlive(0))
		begin = time.Now()
		time.Sleep(ttl/redlock.RenewalsPerTTL + p.wait + 2*s.delay)
		require.InDelta(t, ttl/redlock.RenewalsPerTTL+p.wait+valid, lock.Until().Sub(begin), float64(redlock.RenewalSlack(ttl)))
		require.EqualValues(t, 1, e.Stats().Renewed)
		_, executed := s.history()
		renewed := executed[len(executed)-1].Add(-s.delay / 2)
		require.Equal(t, valid, lock.Until().Sub(renewed))

		begin = time.Now()
		adopted, err := e.Adopt(t.Context(), "name", lock.Reveal(), ttl)
		require.NoError(t, err)
		require.Equal(t, p.wait+valid, adopted.Until().Sub(begin))
		require.NoError(t, lock.Release(t.Context()))
	})
}
