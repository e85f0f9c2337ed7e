package engine

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
)

// slowLog is a log that takes its time for each line.
type slowLog struct {
	slog.Handler
	line func(slog.Record)
}

func (slowLog) Enabled(context.Context, slog.Level) bool { return true }
func (l slowLog) Handle(_ context.Context, r slog.Record) error {
	l.line(r)
	return nil
}

func logTo(line func(slog.Record)) func(*Config) {
	return func(c *Config) { c.Logger = slog.New(slowLog{line: line}) }
}

func TestSlowLoggerCostsNoLockThatIsKeptAlive(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		var locks []*Lock
		for i := range 1500 {
			locks = append(locks, mustAcquire(t, e, fmt.Sprint(i), 3*time.Second))
			require.NoError(t, locks[i].KeepAlive(0))
		}
		s.set(func() { s.away = true })
		time.Sleep(time.Second + 500*time.Millisecond) // all renewals have failed, some more than once
		s.set(func() { s.away = false })
		time.Sleep(10 * time.Second)
		require.Zero(t, e.Stats().Lost)
		for _, lock := range locks {
			require.True(t, lock.Valid())
		}
	}, logTo(func(slog.Record) { time.Sleep(2 * time.Millisecond) }))
}

// stuck is an Observer whose first call does not return before goOn is called.
func blocked(deliver func(string)) (observer func(*Config), goOn func()) {
	var wait chan struct{} // of the bubble
	return func(c *Config) {
		wait = make(chan struct{})
		c.Observer = &Observer{
			Acquired: func(name string, _ time.Duration, _ int) { <-wait; deliver("acquired " + name) },
			Released: func(name string, _ time.Duration, handedOver bool, _ error) {
				deliver(fmt.Sprint("released ", name, " ", handedOver))
			},
			Lost:   func(name string, _ time.Duration, _ error) { deliver("lost " + name) },
			Master: func(address string, up bool, _ error) { deliver(fmt.Sprint("master ", address, " ", up)) },
		}
	}, func() { close(wait) }
}

func TestEventsAreDeliveredInOrderAndBlockNobody(t *testing.T) {
	var delivered []string
	observer, goOn := blocked(func(what string) { delivered = append(delivered, what) })
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		next := goAcquire(t.Context(), e, 0)
		e.events.master("a:1", false, ErrNoQuorum)
		require.NoError(t, lock.Release(t.Context()))
		second := requireGot(t, next)
		s.drop("name")
		require.ErrorIs(t, second.Extend(t.Context(), 0), ErrNotHeld)
		e.events.master("a:1", true, nil)
		require.Empty(t, delivered, "all that is the engine's went on")
		goOn()
		synctest.Wait()
		require.Equal(t, []string{
			"acquired name", "master a:1 false", "released name true", "acquired name", "lost name", "master a:1 true",
		}, delivered)
	}, observer)
}

func TestEventsThatFindNoRoomAreDroppedButNoLossAndNoMaster(t *testing.T) {
	const many = 3 * eventQueue
	delivered := make(map[string]int)
	var gaps uint64
	observer, goOn := blocked(func(what string) { delivered[what]++ })
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		s.set(func() { s.delay = 0 })
		lost := mustAcquire(t, e, "lost", 0)
		for i := range many {
			lock := mustAcquire(t, e, fmt.Sprint(i), 0)
			require.NoError(t, lock.Release(t.Context()))
			if i < eventQueue/2 {
				e.events.master("a:1", i%2 == 0, nil)
			}
		}
		require.ErrorIs(t, func() error { <-lost.Done(); return lost.Err() }(), ErrLost)
		dropped := e.Stats().EventsDropped
		require.EqualValues(t, 1+2*many-eventQueue-1, dropped, "one of them is being delivered")
		goOn()
		synctest.Wait()
		require.Equal(t, eventQueue/2, delivered["master a:1 true"]+delivered["master a:1 false"])
		require.Equal(t, 1, delivered["lost lost"])
		require.Equal(t, dropped, gaps)
		require.Zero(t, delivered["released 0 false"], "the oldest")
		require.Equal(t, 1, delivered[fmt.Sprint("released ", many-1, " false")])
	}, observer, logTo(func(r slog.Record) {
		gaps += dropped(r)["count"]
	}))
}

func TestLossesAndEventsOfMastersAreBoundedAndTheLastStays(t *testing.T) {
	const many = 3 * eventQueue
	var delivered []string
	gaps := make(map[string]uint64)
	observer, goOn := blocked(func(what string) { delivered = append(delivered, what) })
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		synctest.Wait()
		for i := range many {
			e.lost(lock, ErrExpired)
			e.events.master("a:1", i%2 == 0, nil)
			if i == eventQueue {
				e.events.master("b:1", false, nil)
			}
		}
		waiting := len(e.events.required)
		goOn()
		require.Equal(t, eventQueue+1, waiting, "b had none before")
		require.EqualValues(t, many, e.Stats().Lost, "those that nobody is told of, too")
		synctest.Wait()
		require.Len(t, delivered, 1+eventQueue+1)
		require.Equal(t, []string{"master b:1 false", "lost name", "master a:1 false"}, delivered[eventQueue-1:], "in order")
		require.EqualValues(t, 1+2*many+1-eventQueue-1-1, gaps["count"])
		require.EqualValues(t, many-eventQueue/2, gaps["losses"])
		require.Equal(t, gaps["count"], e.Stats().EventsDropped)
	}, observer, logTo(func(r slog.Record) {
		for key, n := range dropped(r) {
			gaps[key] += n
		}
	}))
}

// dropped are the counts in the line for events that were dropped.
func dropped(r slog.Record) map[string]uint64 {
	counts := make(map[string]uint64)
	if r.Message == "events dropped" {
		r.Attrs(func(a slog.Attr) bool { counts[a.Key] = a.Value.Uint64(); return true })
	}
	return counts
}

func TestCloseDeliversPendingEventsAndDoesNotWaitForAnObserverThatBlocks(t *testing.T) {
	for name, waits := range map[string]time.Duration{"slow": 10 * time.Millisecond, "stuck": closeWait} {
		t.Run(name, func(t *testing.T) {
			var delivered atomic.Int32
			var end chan struct{}
			inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
				for i := range 10 {
					require.NoError(t, mustAcquire(t, e, fmt.Sprint(i), 0).Release(t.Context()))
				}
				begin := time.Now()
				require.NoError(t, e.Close())
				require.LessOrEqual(t, time.Since(begin), waits)
				if name == "slow" {
					require.EqualValues(t, 10, delivered.Load())
				}
				close(end)
				synctest.Wait()
				require.NoError(t, e.Close(), "again")
			}, func(c *Config) {
				end = make(chan struct{})
				c.Observer = &Observer{Acquired: func(string, time.Duration, int) {
					if name == "stuck" {
						<-end
					}
					time.Sleep(time.Millisecond)
					delivered.Add(1)
				}}
			})
			if name == "stuck" {
				require.EqualValues(t, 1, delivered.Load(), "the call that it was in")
			}
		})
	}
}

func TestObserverMayCallTheEngineAndClose(t *testing.T) {
	var e *Engine
	var closed chan struct{}
	inBubble(t, func(t *testing.T, engine *Engine, s *scripted) {
		e = engine
		lock := mustAcquire(t, e, "name", 0)
		<-closed
		require.ErrorIs(t, lock.Err(), ErrClosed)
		require.Equal(t, []string{"from the observer", "name"}, func() []string { names := s.locked(); slices.Sort(names); return names }())
	}, func(c *Config) {
		closed = make(chan struct{})
		c.Observer = &Observer{Acquired: func(name string, _ time.Duration, _ int) {
			if name != "name" {
				return
			}
			if _, err := e.Acquire(context.Background(), "from the observer", 0); err != nil {
				panic(err)
			}
			_ = e.Close()
			close(closed)
		}}
	})
}

func TestWithoutObserverAndLoggerThereIsNoQueueAndNoGoroutine(t *testing.T) {
	require.Nil(t, newEvents(&Config{}))
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		require.Nil(t, e.events)
		require.Zero(t, e.Stats().EventsDropped)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			e.events.master("a:1", true, nil)
			e.renewed("name", nil)
			_ = e.notAcquired("name", clock.Instant{}, 1, ErrTaken)
		}))
	})
}
