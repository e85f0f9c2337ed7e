package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/shown"
)

func TestReleaseThatFindsTheKeyGoneIsALoss(t *testing.T) {
	var log bytes.Buffer
	var events []string
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		time.Sleep(time.Second)
		s.drop("name")
		err := lock.Release(t.Context())
		require.ErrorIs(t, err, ErrNotHeld)
		require.NotErrorIs(t, err, ErrNotAcquired)
		require.ErrorContains(t, err, "of 5 masters 0 deleted it, ")
		require.EqualValues(t, 1, e.Stats().Lost)
		require.ErrorIs(t, lock.Release(t.Context()), ErrNotHeld)
		require.EqualValues(t, 1, e.Stats().Lost, "once")
		synctest.Wait()
		require.Equal(t, []string{"lost name after 1.001s", "released name after 1s"}, events)
		require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("\n")), &log)
		require.Contains(t, log.String(), `level=WARN msg="lock lost" lock=name held=1.001s cause="muxlock: lock is not held: `)
	}, observeLosses(&events), func(c *Config) { c.Logger = shown.Timeless(&log) })
}

func TestLossThatWasFoundBeforeReleaseCountsOnce(t *testing.T) {
	for name, find := range map[string]func(*testing.T, *Lock){
		"renewal": func(t *testing.T, l *Lock) { <-l.Done() },
		"extend":  func(t *testing.T, l *Lock) { require.ErrorIs(t, l.Extend(t.Context(), 0), ErrLost) },
		"expiry": func(t *testing.T, l *Lock) {
			time.Sleep(defaultTTL)
			require.ErrorIs(t, l.Err(), ErrLost)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var events []string
			inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
				lock := mustAcquire(t, e, "name", 0)
				if name == "renewal" {
					require.NoError(t, lock.KeepAlive(0))
				}
				s.drop("name")
				find(t, lock)
				require.ErrorIs(t, lock.Release(t.Context()), ErrNotHeld)
				require.EqualValues(t, 1, e.Stats().Lost)
				require.EqualValues(t, 1, e.Stats().NotHeld)
				synctest.Wait()
				require.Len(t, events, 2)
			}, observeLosses(&events))
		})
	}
}

// observeLosses has an Observer note releases and losses.
func observeLosses(events *[]string) func(*Config) {
	note := func(what, name string, held time.Duration) {
		*events = append(*events, fmt.Sprint(what, " ", name, " after ", held))
	}
	return func(c *Config) {
		c.Observer = &Observer{
			Lost:     func(name string, held time.Duration, _ error) { note("lost", name, held) },
			Released: func(name string, held time.Duration, _ bool, _ error) { note("released", name, held) },
		}
	}
}

func TestHeldIsTheNumberOfLocksThatAreHeld(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		held := func(want int) {
			t.Helper()
			require.Equal(t, want, e.Stats().Held)
		}
		released, lost, expired := mustAcquire(t, e, "released", 0), mustAcquire(t, e, "lost", 0), mustAcquire(t, e, "expired", time.Second)
		next := goAcquire(t.Context(), e, 0) // of "name"
		first := requireGot(t, next)
		held(4)
		next = goAcquire(t.Context(), e, 0)
		require.NoError(t, first.Release(t.Context())) // handed over
		requireGot(t, next)
		held(4)
		require.NoError(t, released.Release(t.Context()))
		held(3)
		s.drop("lost")
		require.ErrorIs(t, lost.Extend(t.Context(), 0), ErrLost)
		held(2)
		require.ErrorIs(t, lost.Release(t.Context()), ErrNotHeld)
		held(2)
		<-expired.Done()
		held(1)

		ctx, leave := context.WithCancel(t.Context())
		next = goAcquire(ctx, e, 0)
		synctest.Wait()
		leave()
		require.Error(t, (<-next).err)
		held(1)
		require.NoError(t, e.Close())
		held(0)
	})
}

func TestLocksAreCountedByKind(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		counted := func(acquired, acquiredShared, acquiredPermits uint64, held, heldShared, heldPermits int) {
			t.Helper()
			s := e.Stats()
			require.Equal(t, []uint64{acquired, acquiredShared, acquiredPermits}, []uint64{s.Acquired, s.AcquiredShared, s.AcquiredPermits})
			require.Equal(t, []int{held, heldShared, heldPermits}, []int{s.Held, s.HeldShared, s.HeldPermits})
		}
		release := func(locks ...*Lock) {
			t.Helper()
			require.Nil(t, e.ReleaseMany(t.Context(), locks))
		}
		one, set := mustAcquire(t, e, "one", 0), mustAcquireAll(t, e, "two", "three")
		many := e.AcquireMany(t.Context(), []string{"four", "five"}, 0)
		counted(5, 0, 0, 5, 0, 0)
		reader, joined := mustAcquireShared(t, e, "read", 0), mustAcquireShared(t, e, "read", 0)
		counted(7, 2, 0, 7, 2, 0)
		permit := mustPermit(t, e, "job", 1)
		counted(8, 2, 1, 8, 2, 1)
		next := make(chan *Lock)
		go func() { next <- mustPermit(t, e, "job", 1) }()
		synctest.Wait()
		release(permit) // handed over
		permit = <-next
		counted(9, 2, 2, 8, 2, 1)

		release(joined)
		counted(9, 2, 2, 7, 1, 1)
		s.drop("read")
		require.ErrorIs(t, reader.Extend(t.Context(), 0), ErrLost)
		counted(9, 2, 2, 6, 0, 1)
		release(permit)
		counted(9, 2, 2, 5, 0, 0)
		release(append(set.Locks(), one, many[0].Lock, many[1].Lock)...)
		counted(9, 2, 2, 0, 0, 0)
	})
}

func TestObserverGetsForHowLongAReleaseAskedTheMasters(t *testing.T) {
	var events []string
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		first := requireGot(t, goAcquire(t.Context(), e, 0))
		next := goAcquire(t.Context(), e, 0)
		synctest.Wait()
		require.NoError(t, first.Release(t.Context()), "handed over, without asking")
		second := requireGot(t, next)
		s.set(func() { s.delay = 20 * time.Millisecond })
		require.NoError(t, second.Release(t.Context()))
		synctest.Wait()
		require.Equal(t, []string{"name 20ms <nil>"}, events)
	}, func(c *Config) {
		c.Observer = &Observer{ReleaseTook: func(name string, took time.Duration, err error) {
			events = append(events, fmt.Sprint(name, " ", took, " ", err))
		}}
	})
}

func TestLossesAndFailuresAreCountedByKindAndCause(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		mustAcquire(t, e, "one", time.Second)
		reader, set := mustAcquireShared(t, e, "read", 0), mustAcquireAll(t, e, "two", "three")
		time.Sleep(time.Second)
		_, err := e.TryAcquireAll(t.Context(), []string{"one", "three"}, 0)
		require.ErrorIs(t, err, ErrTaken)
		s.drop("read")
		require.ErrorIs(t, reader.Extend(t.Context(), 0), ErrLost)
		s.drop("two")
		require.ErrorIs(t, set.Release(t.Context()), ErrNotHeld)
		mustPermit(t, e, "job", 1)
		_, err = e.TryAcquirePermit(t.Context(), "job", 1, 0)
		require.ErrorIs(t, err, ErrTaken)
		s.set(func() { s.away = true })
		_, err = e.TryAcquireShared(t.Context(), "read", 0)
		require.ErrorIs(t, err, ErrNoQuorum)
		require.NoError(t, e.Close())
		stats := e.Stats()
		for got, want := range map[*map[string]map[string]uint64]map[string]map[string]uint64{
			&stats.LostBy: {"exclusive": {"expired": 1, "not_held": 1, "closed": 0}, "shared": {"expired": 0, "not_held": 1, "closed": 0}, "permit": {"expired": 0, "not_held": 0, "closed": 1}},
			&stats.FailedBy: {"exclusive": {"taken": 1, "split_vote": 0, "no_quorum": 0, "expired": 0, "denied": 0}, "shared": {"taken": 0, "split_vote": 0, "no_quorum": 1, "expired": 0, "denied": 0},
				"permit": {"taken": 1, "split_vote": 0, "no_quorum": 0, "expired": 0, "denied": 0}},
		} {
			require.Equal(t, want, *got)
		}
		require.Equal(t, []uint64{3, 2, 1}, []uint64{stats.Lost, stats.Taken, stats.NoQuorum}, "not those that Close ended")
		_, err = json.Marshal(stats)
		require.NoError(t, err, "services show them by expvar")
	})
}
