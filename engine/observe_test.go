package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/engine/internal/events"
	"muxlock/internal/clock"
	"muxlock/internal/testing/shown"
)

func TestLoggerSaysWhichMasterWasSetAsideAndWhy(t *testing.T) {
	var out bytes.Buffer
	cfg := Config{Logger: shown.Timeless(&out), Observer: &Observer{}}
	r := newRecord(&cfg)
	r.master("a:1", false, errors.New("connection has ended"))
	r.master("a:1", true, ErrRestarted)
	r.master("a:1", true, nil)
	r.queue.Close()
	require.Equal(t, `level=WARN msg="master set aside" master=a:1 cause="connection has ended"
level=INFO msg="master does not vote yet" master=a:1 cause="muxlock: master was restarted"
level=INFO msg="master votes" master=a:1
`, out.String())
	newRecord(new(Config)).master("a:1", true, nil) // neither Logger nor Observer
}

func TestRetriesAreTheAttemptsAfterTheFirst(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		s.away = true
		_, err := e.TryAcquire(context.Background(), "a", 0)
		require.ErrorIs(t, err, ErrNoQuorum)
		require.Zero(t, e.Stats().Retries)
		_, err = e.Acquire(context.Background(), "a", 0)
		require.ErrorIs(t, err, ErrNoQuorum)
		require.EqualValues(t, 2, e.Stats().Retries)
		require.EqualValues(t, 4, e.Stats().NoQuorum)
	}, func(c *Config) { c.MaxAttempts = 3 })
}

func TestAcquireWhoseCtxHasEndedIsHeardOfByTheObserver(t *testing.T) {
	var heard []string
	inBubble(t, func(t *testing.T, e *Engine, _ *scripted) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := e.Acquire(ctx, "a", 0)
		require.ErrorIs(t, err, ErrNotAcquired)
		_, err = e.AcquireAll(ctx, []string{"b", "c"}, 0)
		require.ErrorIs(t, err, ErrNotAcquired)
		_, err = e.AcquirePermit(ctx, "d", 1, 0)
		require.ErrorIs(t, err, ErrNotAcquired)
		require.ErrorIs(t, e.AcquireMany(ctx, []string{"e"}, 0)[0].Err, ErrNotAcquired)
		mustAcquire(t, e, "held", 0)
		_, err = e.Acquire(ctx, "held", 0)
		require.ErrorIs(t, err, ErrTaken, "by this process")
		require.NotErrorIs(t, err, ErrNoQuorum)
		synctest.Wait()
		require.Equal(t, []string{"a", "b", "d", "e", "held"}, heard)
	}, func(c *Config) {
		c.Observer = &Observer{NotAcquired: func(name string, wait time.Duration, attempts int, err error) {
			assert.ErrorIs(t, err, context.Canceled)
			assert.Zero(t, attempts)
			assert.Less(t, wait, time.Second)
			heard = append(heard, name)
		}}
	})
}

// counted is a log that counts its lines.
type counted struct {
	mu    *sync.Mutex
	lines map[string]int // by level and text
}

func (c counted) count(line string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lines[line]
}

func (counted) Enabled(context.Context, slog.Level) bool { return true }
func (c counted) Handle(_ context.Context, r slog.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines[r.Level.String()+" "+r.Message]++
	return nil
}
func (c counted) WithAttrs([]slog.Attr) slog.Handler { return c }
func (c counted) WithGroup(string) slog.Handler      { return c }

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

// blocked is an Observer whose first call does not return before goOn is called.
func blocked(deliver func(string)) (observer func(*Config), goOn func()) {
	var wait chan struct{} // of the bubble
	return func(c *Config) {
		wait = make(chan struct{})
		c.Observer = &Observer{
			Acquired: func(name string, _ time.Duration, attempts int) {
				<-wait
				deliver(fmt.Sprint("acquired ", name, " ", attempts))
			},
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
		e.record.master("a:1", false, ErrNoQuorum)
		require.NoError(t, lock.Release(t.Context()))
		second := requireGot(t, next)
		s.drop("name")
		require.ErrorIs(t, second.Extend(t.Context(), 0), ErrNotHeld)
		e.record.master("a:1", true, nil)
		require.Empty(t, delivered, "all that is the engine's went on")
		goOn()
		synctest.Wait()
		require.Equal(t, []string{
			"acquired name 1", "master a:1 false", "released name true", "acquired name 0", "lost name", "master a:1 true",
		}, delivered)
	}, observer)
}

func TestLossesAndEventsOfMastersAreNotDroppedForOthers(t *testing.T) {
	delivered := make(map[string]int)
	observer, goOn := blocked(func(what string) { delivered[what]++ })
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		s.set(func() { s.delay = 0 })
		lost := mustAcquire(t, e, "lost", 0)
		e.record.master("a:1", false, nil)
		<-lost.Done()
		require.ErrorIs(t, lost.Err(), ErrLost)
		for i := range events.Most {
			require.NoError(t, mustAcquire(t, e, fmt.Sprint(i), 0).Release(t.Context()))
		}
		require.EqualValues(t, events.Most, e.Stats().EventsDropped)
		goOn()
		synctest.Wait()
		require.Equal(t, 1, delivered["master a:1 false"])
		require.Equal(t, 1, delivered["lost lost"])
		require.Zero(t, delivered["released 0 false"], "the oldest")
		require.Equal(t, 1, delivered[fmt.Sprint("released ", events.Most-1, " false")])
	}, observer)
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
	require.Nil(t, newRecord(&Config{}).queue)
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		require.Nil(t, e.record.queue)
		require.Zero(t, e.Stats().EventsDropped)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			e.record.master("a:1", true, nil)
			e.record.renewed("name", nil)
			_ = e.record.notAcquired("name", clock.Instant{}, 1, ErrTaken)
		}))
	})
}

func TestWarningsOfAnOutageAreOneLineOfEachKindAndTheirCounts(t *testing.T) {
	var out bytes.Buffer
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		hold := func(n int) (locks []*Lock) {
			for i := range n {
				lock, err := e.Acquire(context.Background(), fmt.Sprint("name", i), 0)
				require.NoError(t, err)
				locks = append(locks, lock)
			}
			return locks
		}
		lines := func() []string {
			synctest.Wait()
			defer out.Reset()
			return strings.Split(strings.TrimSpace(out.String()), "\n")
		}
		locks := hold(50)
		lines()
		s.set(func() { s.away = true })
		for _, lock := range locks[1:] {
			require.NoError(t, lock.KeepAlive(0))
		}
		require.ErrorIs(t, locks[0].Release(context.Background()), ErrNoQuorum)
		time.Sleep(e.cfg.TTL/3 + time.Millisecond) // each has failed once
		got := lines()
		require.Len(t, got, 2)
		require.Contains(t, got[0], `level=WARN msg="release not confirmed" lock=name0 error=`)
		require.Regexp(t, `^level=WARN msg="renewal failed" lock=name\d+ error=`, got[1])
		s.set(func() { s.away = false })
		time.Sleep(time.Minute)
		got = lines()
		require.Len(t, got, 1)
		require.Regexp(t, `^level=WARN msg="renewal failed" count=48 lock=name\d+ error=`, got[0])
	}, func(c *Config) { c.Logger = shown.Timeless(&out) })
}
