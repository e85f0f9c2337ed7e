package engine

import (
	"bytes"
	"context"
	"errors"
	"runtime/trace"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/line"
	"muxlock/pipeline"
)

// told is what a Tracer was told, in order.
type told struct {
	mu  sync.Mutex
	all []told1
}

type told1 struct {
	what string
	ctx  context.Context
	Traced
}

type spanKey struct{}

func (a *told) add(what string, ctx context.Context, t *Traced) {
	a.mu.Lock()
	a.all = append(a.all, told1{what, ctx, *t})
	a.mu.Unlock()
}

// take returns what was told since the last call.
func (a *told) take() (all []told1) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all, a.all = a.all, nil
	return all
}

func (a *told) tracer() *Tracer {
	return &Tracer{
		Acquired: func(ctx context.Context, t *Traced) { a.add("acquired", ctx, t) },
		Holding: func(ctx context.Context, t *Traced) (context.Context, func(*Traced)) {
			a.add("holding", ctx, t)
			return context.WithValue(ctx, spanKey{}, "hold"), func(t *Traced) { a.add("held", ctx, t) }
		},
		Released: func(ctx context.Context, t *Traced) { a.add("released", ctx, t) },
	}
}

// traced runs a test with an engine whose Tracer tells it all.
func traced(t *testing.T, test func(t *testing.T, e *Engine, s *scripted, a *told, ctx context.Context)) {
	a := &told{}
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		test(t, e, s, a, context.WithValue(t.Context(), spanKey{}, "caller"))
	}, func(c *Config) { c.Tracer = a.tracer() })
}

// requireAcquired requires one acquire of all names, and returns it.
func requireAcquired(t *testing.T, a *told, kind string, names ...string) told1 {
	t.Helper()
	all := a.take()
	require.Len(t, all, 1)
	require.Equal(t, "acquired", all[0].what)
	require.Equal(t, "caller", all[0].ctx.Value(spanKey{}))
	require.Equal(t, kind, all[0].Kind)
	require.Equal(t, names, all[0].Names)
	return all[0]
}

func TestEachVerbAndKindIsOneAcquireForTheTracer(t *testing.T) {
	traced(t, func(t *testing.T, e *Engine, s *scripted, a *told, ctx context.Context) {
		release := func(locks ...*Lock) { require.Nil(t, e.ReleaseMany(t.Context(), locks)); a.take() }
		lock, err := e.Acquire(ctx, "name", 0)
		require.NoError(t, err)
		got := requireAcquired(t, a, "exclusive", "name")
		require.Equal(t, "asked", got.Got)
		require.Equal(t, []int{1, 1, 5, 0, 0}, []int{got.Locks, got.Attempts, got.Attempt.Granted, got.Attempt.Refused, got.Attempt.Unknown})
		require.Equal(t, time.Millisecond, got.End.Sub(got.Begin))
		require.NoError(t, got.Err)

		_, err = e.TryAcquire(ctx, "name", 0)
		got = requireAcquired(t, a, "exclusive", "name")
		require.Equal(t, err, got.Err)
		require.ErrorIs(t, got.Err, ErrTaken)
		require.Equal(t, []any{"", 0}, []any{got.Got, got.Locks})
		release(lock)

		_, err = e.Acquire(ctx, "", 0)
		require.ErrorIs(t, requireAcquired(t, a, "exclusive", "").Err, ErrInvalid)
		require.Error(t, err)

		first, err := e.AcquireShared(ctx, "name", 0)
		require.NoError(t, err)
		require.Equal(t, "asked", requireAcquired(t, a, "shared", "name").Got)
		second, err := e.TryAcquireShared(ctx, "name", 0)
		require.NoError(t, err)
		require.Equal(t, "joined", requireAcquired(t, a, "shared", "name").Got)
		release(first, second)

		one, err := e.AcquirePermit(ctx, "name", 1, 0)
		require.NoError(t, err)
		require.Equal(t, "asked", requireAcquired(t, a, "permit", "name").Got)
		_, err = e.TryAcquirePermit(ctx, "name", 1, 0)
		require.ErrorIs(t, requireAcquired(t, a, "permit", "name").Err, ErrTaken)
		require.Error(t, err)
		release(one)

		set, err := e.AcquireAll(ctx, []string{"a", "b"}, 0)
		require.NoError(t, err)
		require.Equal(t, 2, requireAcquired(t, a, "set", "a", "b").Locks)
		many := e.AcquireMany(ctx, []string{"c", "a", "d"}, 0)
		got = requireAcquired(t, a, "exclusive", "c", "a", "d")
		require.Equal(t, 2, got.Locks)
		require.ErrorIs(t, got.Err, ErrTaken)
		release(append(set.Locks(), many[0].Lock, many[2].Lock)...)

		lock = mustAcquire(t, e, "name", 0)
		a.take()
		other, err := e.Adopt(ctx, "name", lock.Reveal(), 0)
		require.NoError(t, err)
		require.Equal(t, 1, requireAcquired(t, a, "adopted", "name").Locks)
		release(other)
	})
}

func TestTheTracerIsToldHowALockWasGot(t *testing.T) {
	traced(t, func(t *testing.T, e *Engine, s *scripted, a *told, ctx context.Context) {
		for _, young := range []bool{true, false} {
			lock, ttl := mustAcquire(t, e, "name", 0), time.Duration(0)
			if !young { // it is extended first
				ttl = e.cfg.MaxTTL
			}
			next := goAcquire(ctx, e, ttl)
			a.take()
			require.NoError(t, lock.Release(t.Context()))
			after := requireGot(t, next)
			require.Equal(t, "handed over", requireAcquired(t, a, "exclusive", "name").Got)
			require.NoError(t, after.Release(t.Context()))
			time.Sleep(time.Second)
		}
		one, err := e.AcquirePermit(ctx, "name", 1, 0)
		require.NoError(t, err)
		got := make(chan *Lock, 1)
		go func() {
			lock, _ := e.AcquirePermit(ctx, "name", 1, 0)
			got <- lock
		}()
		time.Sleep(3 * time.Millisecond) // it is refused
		a.take()
		require.NoError(t, one.Release(t.Context()))
		require.NotNil(t, <-got)
		permit := requireAcquired(t, a, "permit", "name")
		require.Equal(t, "handed over", permit.Got)
		require.Equal(t, []int{5, 0, 0}, []int{permit.Attempt.Granted, permit.Attempt.Refused, permit.Attempt.Unknown}, "of the lock that it got, not of the attempt before")

		first := mustAcquireShared(t, e, "name", 0)
		soon, cancel := context.WithTimeout(t.Context(), 3*time.Millisecond)
		defer cancel()
		writer := goAcquire(soon, e, 0)
		second := goAcquireShared(ctx, e, 0)
		require.ErrorIs(t, (<-writer).err, ErrTaken)
		reader := requireGot(t, second)
		var how []string
		for _, one := range a.take() {
			how = append(how, one.Kind+" "+one.Got)
		}
		require.ElementsMatch(t, []string{"shared asked", "exclusive ", "shared joined"}, how, "once the writer had gone")
		require.Nil(t, e.ReleaseMany(t.Context(), []*Lock{first, reader}))
	})
}

func TestVotesAreThoseOfTheErrorOfTheLastAttempt(t *testing.T) {
	traced(t, func(t *testing.T, e *Engine, s *scripted, a *told, ctx context.Context) {
		s.set(func() { s.away = true })
		_ = e.AcquireMany(ctx, []string{"a", "b"}, 0)
		got := requireAcquired(t, a, "exclusive", "a", "b")
		require.Equal(t, []int{0, 0, 0, 5, 1}, []int{got.Locks, got.Attempt.Granted, got.Attempt.Refused, got.Attempt.Unknown, got.Attempts})
		_, err := e.Adopt(ctx, "a", "value", 0)
		require.ErrorIs(t, err, ErrNoQuorum)
		require.Equal(t, 5, requireAcquired(t, a, "adopted", "a").Attempt.Unknown)
		_, err = e.Adopt(ctx, "a", "", 0)
		require.ErrorIs(t, err, ErrInvalid)
		require.Zero(t, requireAcquired(t, a, "adopted", "a").Attempts, "nobody was asked")
		_ = e.AcquireMany(ctx, []string{""}, 0)
		require.Zero(t, requireAcquired(t, a, "exclusive", "").Attempts)
	})
}

func TestAHoldIsToldWithItsFailedRenewalsAndItsLoss(t *testing.T) {
	traced(t, func(t *testing.T, e *Engine, s *scripted, a *told, ctx context.Context) {
		failed := errors.New("of the work")
		for name, hold := range map[string]func(fn func(context.Context) error) error{
			"exclusive": func(fn func(context.Context) error) error { return e.Do(ctx, "name", 0, fn) },
			"shared":    func(fn func(context.Context) error) error { return e.DoShared(ctx, "name", 0, fn) },
			"permit":    func(fn func(context.Context) error) error { return e.DoPermit(ctx, "name", 3, 0, fn) },
			"set": func(fn func(context.Context) error) error {
				return e.DoAll(ctx, []string{"name"}, 0, func(ctx context.Context, _ *Set) error { return fn(ctx) })
			},
			"leader": func(fn func(context.Context) error) error {
				within, stop := context.WithCancel(ctx)
				defer stop()
				return e.Lead(within, "name", 0, func(ctx context.Context, _ *Lock) error { defer stop(); return fn(ctx) })
			},
		} {
			err := hold(func(ctx context.Context) error {
				require.Equal(t, "hold", ctx.Value(spanKey{}), name)
				time.Sleep(time.Second)
				return failed
			})
			require.ErrorIs(t, err, failed)
			all := a.take()
			require.Equal(t, []string{"acquired", "holding", "released", "held"}, []string{all[0].what, all[1].what, all[2].what, all[3].what}, name)
			for _, one := range all {
				require.Equal(t, "caller", one.ctx.Value(spanKey{}), one.what)
				require.Equal(t, name, one.Kind)
				require.Equal(t, []string{"name"}, one.Names)
			}
			held := all[3]
			require.Equal(t, []any{time.Second, failed}, []any{held.End.Sub(held.Begin), held.Err}, name)
			require.Empty(t, held.Events)
		}

		err := e.Do(ctx, "name", 3*time.Second, func(ctx context.Context) error {
			s.set(func() { s.away = true })
			<-ctx.Done()
			return nil
		})
		s.set(func() { s.away = false })
		require.ErrorIs(t, err, ErrLost)
		events := a.take()[3].Events
		require.Greater(t, len(events), 1)
		for i, event := range events[:len(events)-1] {
			require.ErrorIs(t, event.Err, ErrNoQuorum)
			require.True(t, event.At.Before(events[i+1].At))
		}
		require.ErrorIs(t, events[len(events)-1].Err, ErrLost)
		require.ErrorIs(t, events[len(events)-1].Err, ErrExpired)

		require.Panics(t, func() {
			_ = e.Do(ctx, "other", 0, func(context.Context) error { panic("of the work") })
		})
		held := a.take()
		require.ErrorIs(t, held[len(held)-1].Err, errPanicked)
	})
}

func TestATracerMayGiveAHoldACtxAndWantNoEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, _ *scripted) {
		require.NoError(t, e.Do(t.Context(), "name", 0, func(ctx context.Context) error {
			require.Equal(t, "hold", ctx.Value(spanKey{}))
			_, ok := LockFrom(ctx)
			require.True(t, ok)
			return nil
		}))
		e.cfg.Tracer.Holding = func(context.Context, *Traced) (context.Context, func(*Traced)) { return nil, nil }
		require.NoError(t, e.Do(t.Context(), "name", 0, func(ctx context.Context) error { return ctx.Err() }))
		require.Zero(t, e.Stats().TracerPanics)
	}, func(c *Config) {
		c.Tracer = &Tracer{Holding: func(ctx context.Context, _ *Traced) (context.Context, func(*Traced)) {
			return context.WithValue(ctx, spanKey{}, "hold"), nil
		}}
	})
}

// A call that hands over asks nobody.
func TestAReleaseIsToldWhereItAsksTheMasters(t *testing.T) {
	traced(t, func(t *testing.T, e *Engine, s *scripted, a *told, ctx context.Context) {
		lock, next := mustAcquire(t, e, "name", 0), goAcquire(t.Context(), e, 0)
		a.take()
		require.NoError(t, lock.Release(ctx))
		lock = requireGot(t, next)
		a.take()
		s.drop("name")
		err := lock.Release(ctx)
		require.ErrorIs(t, err, ErrNotHeld)
		all := a.take()
		require.Len(t, all, 1)
		require.Equal(t, []any{"released", err, "caller", time.Millisecond}, []any{all[0].what, all[0].Err, all[0].ctx.Value(spanKey{}), all[0].End.Sub(all[0].Begin)})
		require.ErrorIs(t, lock.Release(ctx), ErrNotHeld)
		require.Empty(t, a.take())

		again := mustAcquire(t, e, "name", 0)
		a.take()
		require.Len(t, e.ReleaseMany(ctx, []*Lock{lock, again}), 2)
		all = a.take()
		require.Len(t, all, 1)
		require.NoError(t, all[0].Err, "it is that of the locks that the masters were asked to release")
	})
}

// Whoever finds the loss, and however many renewals failed before.
func TestEachLossOfAHoldIsAnEvent(t *testing.T) {
	lossOf := func(t *testing.T, a *told) error {
		t.Helper()
		all := a.take()
		require.Equal(t, "held", all[len(all)-1].what)
		events := all[len(all)-1].Events
		require.NotEmpty(t, events)
		require.LessOrEqual(t, len(events), mostEvents)
		return events[len(events)-1].Err
	}
	traced(t, func(t *testing.T, e *Engine, s *scripted, a *told, ctx context.Context) {
		require.ErrorIs(t, e.Do(ctx, "name", 0, func(context.Context) error { s.drop("name"); return nil }), ErrNotHeld)
		require.ErrorIs(t, lossOf(t, a), ErrNotHeld, "its Release found it")

		require.ErrorIs(t, e.Do(ctx, "name", 0, func(ctx context.Context) error {
			lock, _ := LockFrom(ctx)
			for range mostEvents + 1 {
				s.set(func() { s.away = true })
				time.Sleep(e.cfg.TTL / 2)
				s.set(func() { s.away = false })
				time.Sleep(e.cfg.TTL / 2)
				require.True(t, lock.Valid())
			}
			s.drop("name")
			<-ctx.Done()
			return nil
		}), ErrLost)
		require.ErrorIs(t, lossOf(t, a), ErrLost, "after many failures")

		holding := e.cfg.Tracer.Holding
		lose := func() { s.drop("name"); time.Sleep(time.Minute) }
		for _, slow := range []Tracer{
			{Wants: func(context.Context) bool { lose(); return true }, Holding: holding},
			{Holding: func(ctx context.Context, t *Traced) (context.Context, func(*Traced)) { lose(); return holding(ctx, t) }},
		} {
			e.cfg.Tracer = &slow
			require.ErrorIs(t, e.Do(ctx, "name", 0, func(ctx context.Context) error { <-ctx.Done(); return nil }), ErrLost)
			require.ErrorIs(t, lossOf(t, a), ErrLost, "while the tracer was asked, or told that it is held")
		}
	})
}

func TestAnAcquireIsARegionOfTheExecutionTracer(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, trace.Start(&out))
	inBubble(t, func(t *testing.T, e *Engine, _ *scripted) {
		require.NoError(t, mustAcquire(t, e, "name", 0).Release(t.Context()))
	})
	trace.Stop()
	require.Contains(t, out.String(), "muxlock: acquire")
}

// A tracer that does not return delays its caller, and costs nobody a lock.
func TestABlockedTracerCostsNoLockAndDelaysNobodyElse(t *testing.T) {
	slow := func(context.Context, *Traced) { time.Sleep(time.Minute) }
	tracer := &Tracer{Acquired: slow, Released: slow, Holding: func(ctx context.Context, t *Traced) (context.Context, func(*Traced)) {
		slow(ctx, t)
		return nil, nil
	}}
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		until := make(chan struct{})
		free := newEngine(Config{Masters: make([]string, 5)}.withDefaults(), s, new(record))
		defer free.Close()
		waiting := goAcquire(t.Context(), e, time.Second)
		require.NoError(t, mustAcquire(t, free, "other", time.Second).Release(t.Context()))
		begin := time.Now()
		lock := requireGot(t, waiting)
		require.Equal(t, time.Minute, time.Since(begin).Round(time.Second))
		next := goAcquire(t.Context(), free, time.Second)
		go func() { defer close(until); _ = lock.Release(t.Context()) }()
		begin = time.Now()
		require.NoError(t, requireGot(t, next).Release(t.Context()))
		require.Less(t, time.Since(begin), time.Second, "the next holder does not wait for the release's tracer")
		<-until
		require.NoError(t, e.Do(t.Context(), "name", time.Second, func(ctx context.Context) error { return ctx.Err() }))
		lock = mustAcquire(t, e, "name", time.Second)
		time.Sleep(2 * time.Second)
		require.False(t, lock.Valid(), "it is kept alive for the tracer only")
	}, func(c *Config) { c.Tracer = tracer })
}

func TestAPanicOfTheTracerIsCountedAndGoesNoFurther(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		require.NoError(t, e.Do(t.Context(), "name", 0, func(context.Context) error { return nil }))
		require.EqualValues(t, 3, e.Stats().TracerPanics)
	}, func(c *Config) {
		c.Tracer = &Tracer{
			Acquired: func(context.Context, *Traced) { panic("acquired") }, Released: func(context.Context, *Traced) { panic("released") },
			Holding: func(ctx context.Context, _ *Traced) (context.Context, func(*Traced)) {
				return ctx, func(*Traced) { panic("held") }
			},
		}
	})
}

// A place in line: who is in the way is known from the answers, however the lock is got.
func TestTheTracerIsToldHowALockWasGotInLine(t *testing.T) {
	passed := func(int, pipeline.Request) []pipeline.Answer { return all(inLineBehind(ours)) }
	free := func(int, pipeline.Request) []pipeline.Answer { return all(grantedFor(time.Minute)) }
	for how, answers := range map[string]func(int, pipeline.Request) []pipeline.Answer{"passed on": passed, "asked": free} {
		a := &told{}
		standing(t, answers, func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
			time.Sleep(time.Second)
			for m := range 3 {
				l.hears(m, grantedFor(time.Minute))
			}
			requireGot(t, got)
			one := a.take()[0]
			require.Equal(t, how, one.Got)
			require.LessOrEqual(t, one.Attempt.Granted+one.Attempt.Refused+one.Attempt.Unknown, 5)
			if how == "passed on" {
				require.Equal(t, []any{"other", 1}, []any{one.Attempt.Holder, one.Attempt.InLine})
			}
		}, func(c *Config) { c.Tracer = a.tracer() })
	}
}

// The next place begins with what the one before saw.
func TestWhoHasTheNameIsKnownFromPlaceToPlace(t *testing.T) {
	a := &told{}
	answers := func(n int, _ pipeline.Request) []pipeline.Answer {
		answers := all(inLineBehind(ours))
		switch n {
		case 2:
			answers[4] = pipeline.Answer{Kind: line.Missing}
		case 3: // of the next place: nobody answers
			return all(pipeline.Answer{})
		}
		return answers
	}
	standing(t, answers, func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
		time.Sleep(time.Second)
		require.Equal(t, 3, l.asked())
	}, func(c *Config) { c.Tracer = a.tracer() })
	require.Equal(t, []any{"other", 1}, []any{a.all[0].Attempt.Holder, a.all[0].Attempt.InLine})
}

// It is found out when the Tracer is told.
func TestALockThatWasLostByTheEndOfItsAcquireIsOne(t *testing.T) {
	traced(t, func(t *testing.T, e *Engine, s *scripted, a *told, ctx context.Context) {
		lock := mustAcquire(t, e, "name", time.Second)
		time.Sleep(time.Minute)
		a.take()
		c := contender{e: e}
		require.True(t, c.traces(ctx))
		c.told(ctx, []string{"name"}, nil, lock)
		got := requireAcquired(t, a, "exclusive", "name")
		require.Equal(t, []any{1, "asked"}, []any{got.Locks, got.Got})
	})
}
