package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
	"muxlock/pipeline"
)

func mustAcquire(t *testing.T, e *Engine, name string, ttl time.Duration) *Lock {
	t.Helper()
	lock, err := e.Acquire(t.Context(), name, ttl)
	require.NoError(t, err)
	return lock
}

func TestDoneIsClosedAtUntilToTheNanosecond(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, _ *scripted) {
		start := time.Now()
		lock := mustAcquire(t, e, "name", 10*time.Second)
		valid := redlock.Validity(10*time.Second, 0, redlock.DefaultDrift)
		require.Equal(t, valid, lock.Until().Sub(start))
		held, cancel := lock.Context(t.Context())
		defer cancel()
		done := lock.Done()
		time.Sleep(time.Until(lock.Until()) - 1)
		synctest.Wait()
		require.True(t, lock.Valid())
		require.NoError(t, held.Err())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		<-done
		require.False(t, lock.Valid())
		require.ErrorIs(t, context.Cause(held), ErrLost)
		require.ErrorIs(t, context.Cause(held), ErrExpired)
		require.Equal(t, done, lock.Done())
		require.EqualValues(t, 1, e.Stats().Lost, "counted once")
	})
}

func TestLossIsFoundByWhoeverAsksFirst(t *testing.T) {
	for name, ask := range map[string]func(t *testing.T, l *Lock){
		"Err":    func(t *testing.T, l *Lock) { require.ErrorIs(t, l.Err(), ErrLost) },
		"Valid":  func(t *testing.T, l *Lock) { require.False(t, l.Valid()) },
		"Done":   func(t *testing.T, l *Lock) { <-l.Done() },
		"Extend": func(t *testing.T, l *Lock) { require.ErrorIs(t, l.Extend(t.Context(), 0), ErrLost) },
		"Context": func(t *testing.T, l *Lock) {
			ctx, cancel := l.Context(t.Context())
			defer cancel()
			require.ErrorIs(t, context.Cause(ctx), ErrLost)
		},
		"KeepAlive":  func(t *testing.T, l *Lock) { require.ErrorIs(t, l.KeepAlive(0), ErrLost) },
		"WarnBefore": func(t *testing.T, l *Lock) { require.ErrorIs(t, l.WarnBefore(1, func() {}), ErrLost) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *Engine, _ *scripted) {
				lock := mustAcquire(t, e, "name", time.Second)
				time.Sleep(time.Second)
				ask(t, lock)
				require.EqualValues(t, 1, e.Stats().Lost)
				require.Empty(t, e.keeper.leases)
			})
		})
	}
}

func TestTimerThatComesEarlyIsSetAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, _ *scripted) {
		lock := mustAcquire(t, e, "name", time.Second)
		done := lock.Done()
		lock.lock()
		lock.lease.renewal.until = lock.lease.renewal.until.Add(time.Second) // as an extend does that races the timer
		lock.unlock()
		time.Sleep(time.Second)
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("closed too early")
		default:
		}
		time.Sleep(time.Second)
		<-done
	})
}

// A quorum that comes too late to leave validity is no lock, and it is undone.
func TestQuorumThatComesTooLateIsExpiredAndUndone(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		const ttl = 300 * time.Millisecond
		edge := redlock.Validity(ttl, 0, redlock.DefaultDrift) // odd: the answer takes a nanosecond less
		s.set(func() { s.delay = edge })
		lock, err := e.TryAcquire(t.Context(), "name", ttl)
		require.NoError(t, err, "in time")
		require.Equal(t, time.Duration(1), time.Until(lock.Until()))
		require.NoError(t, lock.Release(t.Context()))
		s.set(func() { s.delay = edge + 1 })
		_, err = e.TryAcquire(t.Context(), "name", ttl)
		require.ErrorIs(t, err, ErrExpired)
		require.ErrorIs(t, err, ErrNotAcquired)
		require.EqualValues(t, 1, e.Stats().Expired)
		requireNothingLeft(t, e, s)
		require.Equal(t, []pipeline.Op{pipeline.Acquire, pipeline.Release, pipeline.Acquire, pipeline.Release}, s.ops())
	})
}

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

func TestEachContendedAttemptIsASampleOfTheRoundTrip(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		for _, ms := range [][2]time.Duration{{9, 9}, {8, 8}, {16, 9}, {1, 1}} { // of an attempt, and smoothed
			e.masters.sample(&pipeline.Outcome{Verdict: quorum.Won}, true, clock.Now().Add(-ms[0]*time.Millisecond))
			require.Equal(t, ms[1]*time.Millisecond, e.masters.roundTrip())
		}
	})
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
