package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
)

func TestAcquiresThatMeetCloseLeaveNoKey(t *testing.T) {
	for _, n := range []int{1, 5} {
		t.Run(fmt.Sprintf("masters=%d", n), func(t *testing.T) {
			masters := redistest.Masters(t, n)
			for try := range 50 {
				e, links := bent(t, masters)
				hold := func(on bool) {
					for _, link := range links {
						link.HoldReplies(on)
					}
				}
				hold(true)
				callers := 1 + try%3
				ended := make(chan error, callers)
				for i := range callers {
					go func() {
						_, err := e.Acquire(context.Background(), fmt.Sprint(i), 0)
						ended <- err
					}()
				}
				soon(t, func() bool { s := e.Stats(); return s.Queued+int(s.Requests) == callers }, "all are under way")
				closed := make(chan error, 1)
				go func() { closed <- e.Close() }()
				soon(t, func() bool { return refuses(e) })
				hold(false)
				for range callers {
					require.ErrorIs(t, <-ended, ErrClosed)
				}
				require.NoError(t, <-closed)
				require.Empty(t, redistest.Keys(t, masters...), "try %d", try)
			}
		})
	}
}

// refuses reports whether Close has come so far that nobody can get a lock.
func refuses(e *Engine) bool {
	last := &e.names.shards[nameShards-1]
	last.mu.Lock()
	defer last.mu.Unlock()
	return last.closed
}

func TestAnAcquireThatMeetsCloseAtAnyMomentLeavesNoKey(t *testing.T) {
	masters := redistest.Masters(t, 1)
	met := 0
	for i := range 200 {
		e := open(t, masters)
		ended := make(chan error)
		go func() {
			_, err := e.Acquire(context.Background(), fmt.Sprint(i), 0)
			ended <- err
		}()
		for begin := time.Now(); time.Since(begin) < time.Duration(i)*time.Microsecond; {
		}
		require.NoError(t, e.Close())
		if err := <-ended; err != nil {
			met++
			require.ErrorIs(t, err, ErrClosed)
			require.Empty(t, redistest.Get(t, masters, fmt.Sprint(i))[0])
		}
	}
	t.Log(met, "of 200 met it")
}

func TestCloseEndsAllWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		done := lock.Done()
		kept := mustAcquire(t, e, "kept", 0)
		require.NoError(t, kept.KeepAlive(0))
		s.set(func() { s.keys["other"] = scriptedKey{token: "another's", ends: time.Now().Add(time.Hour)} })
		errs := make(chan error, 3)
		go func() {
			_, err := e.Acquire(t.Context(), "other", 0) // contends
			errs <- err
		}()
		go func() {
			_, err := e.Acquire(t.Context(), "other", 0) // waits behind it, or the other way round
			errs <- err
		}()
		go func() {
			errs <- e.Do(t.Context(), "done", 0, func(ctx context.Context) error {
				<-ctx.Done()
				return context.Cause(ctx)
			})
		}()
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
		for _, l := range []*Lock{lock, kept} {
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

func TestLocksThatCloseEndsAreHeardOfButCountAsNoLoss(t *testing.T) {
	var causes []error // written by the Observer, before Close returns
	e := open(t, five(t), func(c *Config) {
		c.Observer = &Observer{Lost: func(_ string, _ time.Duration, cause error) { causes = append(causes, cause) }}
	})
	for i := range 3 {
		_, err := e.Acquire(t.Context(), fmt.Sprint(t.Name(), i), 0)
		require.NoError(t, err)
	}
	require.NoError(t, e.Close())
	require.Zero(t, e.Stats().Lost, "a planned end is nothing to alert on")
	require.Len(t, causes, 3)
	require.ErrorIs(t, causes[0], ErrClosed)
}
