package engine

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// refuses reports whether Close has come so far that nobody can get a lock.
func refuses(e *Engine) bool {
	last := &e.names.shards[nameShards-1]
	last.mu.Lock()
	defer last.mu.Unlock()
	return last.closed
}

func TestCloseEndsAllWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		done := lock.Done()
		kept := mustAcquire(t, e, "kept", 0)
		require.NoError(t, kept.KeepAlive(0))
		s.set(func() { s.keys["other"] = scriptedKey{token: "another's", ends: time.Now().Add(time.Hour)} })
		s.holdSlots("jobs", time.Hour, 0)
		permit := mustPermit(t, e, "jobs", 2)
		waits := []func() error{
			func() error {
				return e.Do(t.Context(), "done", 0, func(ctx context.Context) error {
					<-ctx.Done()
					return context.Cause(ctx)
				})
			},
		}
		for range 2 { // one contends, and one waits behind it
			waits = append(waits,
				func() error { _, err := e.Acquire(t.Context(), "other", 0); return err },
				func() error { _, err := e.AcquireAll(t.Context(), []string{"other", "free"}, 0); return err },
				func() error { _, err := e.AcquireAll(t.Context(), []string{"kept", "free"}, 0); return err },
				func() error { _, err := e.AcquirePermit(t.Context(), "jobs", 2, 0); return err },
			)
		}
		errs := make(chan error, len(waits))
		for _, wait := range waits {
			go func() { errs <- wait() }()
		}
		waiting := []<-chan acquired{goAcquire(t.Context(), e, 0), goAcquire(t.Context(), e, 0)}
		time.Sleep(time.Second)
		asking := make(chan error, 1)
		go func() {
			_, err := e.TryAcquire(t.Context(), "asked for", 0) // is granted while the engine closes
			asking <- err
		}()
		synctest.Wait()

		begin := time.Now()
		var closing sync.WaitGroup
		for range 2 {
			closing.Go(func() { _ = e.Close() })
		}
		for _, w := range waiting {
			got := <-w
			require.ErrorIs(t, got.err, ErrClosed)
			require.ErrorIs(t, got.err, ErrTaken, "it was in line")
			require.Zero(t, got.at.Sub(begin), "at once")
		}
		<-done
		for range cap(errs) {
			require.ErrorIs(t, <-errs, ErrClosed)
		}
		require.ErrorIs(t, <-asking, ErrClosed)
		for _, l := range []*Lock{lock, kept, permit} {
			require.ErrorIs(t, l.Err(), ErrLost)
			require.ErrorIs(t, l.Err(), ErrClosed)
		}
		closing.Wait()
		for _, err := range []error{
			lock.KeepAlive(0), lock.Extend(t.Context(), 0), lock.Release(t.Context()),
			e.Do(t.Context(), "name", 0, func(context.Context) error { return errors.New("not to be run") }),
		} {
			require.ErrorIs(t, err, ErrClosed)
		}
		require.Zero(t, namesOf(e))
		require.Empty(t, e.keeper.leases)
		require.Zero(t, e.Stats().Waiting)
	})
}
