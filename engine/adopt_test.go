package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/limits"
	"muxlock/pipeline"
)

func TestAdoptWithBadArgumentsAsksNobody(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		for field, adopt := range map[string]func() (*Lock, error){
			"name":     func() (*Lock, error) { return e.Adopt(t.Context(), "", "value", 0) },
			"reserved": func() (*Lock, error) { return e.Adopt(t.Context(), pipeline.ReservedPrefix+"1", "value", 0) },
			"ttl":      func() (*Lock, error) { return e.Adopt(t.Context(), "name", "value", time.Hour) },
			"value":    func() (*Lock, error) { return e.Adopt(t.Context(), "name", "", 0) },
			"value has 513 bytes": func() (*Lock, error) {
				return e.Adopt(t.Context(), "name", strings.Repeat("x", limits.ValueBytes+1), 0)
			},
		} {
			lock, err := adopt()
			require.Nil(t, lock)
			require.ErrorIs(t, err, ErrInvalid)
			require.ErrorContains(t, err, field)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := e.Adopt(ended, "name", "value", 0)
		require.ErrorIs(t, err, context.Canceled)
		require.Zero(t, s.requests())
		require.NoError(t, e.Close())
		_, err = e.Adopt(t.Context(), "name", "value", 0)
		require.ErrorIs(t, err, ErrClosed)
		require.Zero(t, namesOf(e))
	})
}

// This process holds the lock, others of it wait, and one adopts it: the local queue goes on.
func TestAdoptStandsBesideWhatTheProcessDoesWithTheName(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		waiting := goAcquire(t.Context(), e, 0)
		adopted, err := e.Adopt(t.Context(), "name", lock.Reveal(), 0)
		require.NoError(t, err)
		again, err := e.Adopt(t.Context(), "name", lock.Reveal(), 0)
		require.NoError(t, err, "any number of handles")
		require.True(t, lock.Valid())
		requireOpen(t, waiting, "the lock is held")

		require.NoError(t, adopted.Release(t.Context()))
		require.False(t, adopted.Valid())
		require.Empty(t, s.locked())
		requireOpen(t, waiting, "the first handle does not know yet")
		require.ErrorIs(t, lock.Extend(t.Context(), 0), ErrLost)
		next := requireGot(t, waiting)
		require.NotEqual(t, adopted.lease.token, next.lease.token)
		require.ErrorIs(t, again.Release(t.Context()), ErrNotHeld)
		require.Equal(t, []string{"name"}, s.locked(), "the next holder's")
		require.NoError(t, next.Release(t.Context()))
		require.ErrorIs(t, lock.Release(t.Context()), ErrNotHeld)
		requireNothingLeft(t, e, s)
	}, handOver(time.Minute))
}

func TestAdoptedLockIsNeverHandedOver(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		s.set(func() { s.keys["name"] = scriptedKey{token: "theirs", ends: time.Now().Add(20 * time.Second)} })
		adopted, err := e.Adopt(t.Context(), "name", "theirs", 0)
		require.NoError(t, err)
		waiting := goAcquire(t.Context(), e, 0)
		_, err = e.TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, ErrTaken)
		require.NoError(t, adopted.Release(t.Context()))
		next := requireGot(t, waiting)
		require.NotEqual(t, "theirs", next.lease.token)
		require.Zero(t, e.Stats().HandedOver)
		requests, _ := s.history()
		at := slices.IndexFunc(requests, func(r pipeline.Request) bool { return r.Op == pipeline.Release && r.Token == "theirs" })
		require.Equal(t, e.cfg.MaxTTL, requests[at].TTL, "a master that is away may have it for that long")
		require.NoError(t, next.Release(t.Context()))
		requireNothingLeft(t, e, s)
	}, handOver(time.Minute))
}

func TestAdoptedLockIsLostLikeAnyOther(t *testing.T) {
	theirs := func(s *scripted) {
		s.set(func() { s.keys["name"] = scriptedKey{token: "theirs", ends: time.Now().Add(25 * time.Second)} })
	}
	for why, c := range map[string]struct {
		lose func(e *Engine, s *scripted, l *Lock)
		err  error
	}{
		"expired": {func(_ *Engine, _ *scripted, l *Lock) { <-l.Done() }, ErrExpired},
		"closed":  {func(e *Engine, _ *scripted, _ *Lock) { _ = e.Close() }, ErrClosed},
		"deleted": {func(_ *Engine, s *scripted, l *Lock) {
			s.drop("name")
			_ = l.KeepAlive(0)
			<-l.Done()
		}, ErrNotHeld},
	} {
		t.Run(why, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
				theirs(s)
				lock, err := e.Adopt(t.Context(), "name", "theirs", 0)
				require.NoError(t, err)
				c.lose(e, s, lock)
				require.ErrorIs(t, lock.Err(), ErrLost)
				require.ErrorIs(t, lock.Err(), c.err)
				require.Zero(t, namesOf(e))
				require.Zero(t, s.count(pipeline.Release))
			})
		})
	}
}

func TestAdoptThatFailsLeavesTheLockAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		s.set(func() {
			s.keys["name"] = scriptedKey{token: "theirs", ends: time.Now().Add(25 * time.Second)}
			s.away = true
		})
		_, err := e.Adopt(t.Context(), "name", "theirs", 0)
		require.ErrorIs(t, err, ErrNoQuorum)
		s.set(func() { s.away, s.delay = false, time.Second })
		_, err = e.Adopt(t.Context(), "name", "theirs", 500*time.Millisecond)
		require.ErrorIs(t, err, ErrExpired, "the answer came too late")
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err = e.Adopt(ctx, "name", "theirs", 0)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(5 * time.Second)
		require.Equal(t, []string{"name"}, s.locked())
		require.Zero(t, s.count(pipeline.Release))
		require.Zero(t, namesOf(e))
	}, masterTimeout(10*time.Millisecond))
}

func TestManyAdoptedLocksLeaveNoMemoryBehind(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		for i := range 20_000 {
			name := fmt.Sprint("name", i)
			s.set(func() { s.keys[name] = scriptedKey{token: "theirs", ends: time.Now().Add(25 * time.Second)} })
			lock, err := e.Adopt(t.Context(), name, "theirs", 0)
			require.NoError(t, err)
			if i%2 == 0 {
				require.NoError(t, lock.Release(t.Context()))
			} // else it runs out by itself
		}
		time.Sleep(2 * sweepEvery)
		states := 0
		for i := range e.names.shards {
			s := &e.names.shards[i]
			s.mu.Lock()
			states += len(s.states)
			s.mu.Unlock()
		}
		require.LessOrEqual(t, states, nameShards*sweepFrom)
	})
}

func TestObserverSeesAnAdoptedLock(t *testing.T) {
	var events []string
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		s.set(func() { s.keys["name"] = scriptedKey{token: "theirs", ends: time.Now().Add(25 * time.Second)} })
		_, err := e.Adopt(t.Context(), "name", "mine", 0)
		require.True(t, errors.Is(err, ErrNotHeld))
		lock, err := e.Adopt(t.Context(), "name", "theirs", 0)
		require.NoError(t, err)
		require.NoError(t, lock.Release(t.Context()))
		require.NoError(t, e.Close())
		require.Equal(t, []string{"acquired name 1", "released name"}, events)
	}, func(c *Config) {
		c.Observer = &Observer{
			Acquired: func(name string, _ time.Duration, attempts int) {
				events = append(events, fmt.Sprint("acquired ", name, " ", attempts))
			},
			NotAcquired: func(name string, _ time.Duration, _ int, _ error) { events = append(events, "not acquired "+name) },
			Released:    func(name string, _ time.Duration, _ bool, _ error) { events = append(events, "released "+name) },
			Lost:        func(name string, _ time.Duration, _ error) { events = append(events, "lost "+name) },
		}
	})
}
