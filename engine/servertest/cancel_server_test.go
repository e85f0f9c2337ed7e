package servertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/draw"
	"muxlock/internal/testing/faultconn"
	"muxlock/internal/testing/redistest"
)

func TestEndedContextSendsNothing(t *testing.T) {
	e := open(t, five(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := e.TryAcquire(ctx, t.Name(), 0)
	require.ErrorIs(t, err, context.Canceled)
	_, err = e.Acquire(ctx, t.Name(), 0)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, e.Do(ctx, t.Name(), 0, func(context.Context) error { panic("not held") }), context.Canceled)
	require.Zero(t, e.Stats().Requests)
}

func TestAcquireCancelledInFlightReturnsAtOnceAndIsReleased(t *testing.T) {
	masters := redistest.Masters(t, 5)
	e, links := bent(t, masters, masterTimeout(9*time.Second))
	for _, link := range links[:3] {
		link.HoldReplies(true)
	}
	ctx, cancel := context.WithCancel(t.Context())
	returned := make(chan error)
	go func() {
		_, err := e.Acquire(ctx, t.Name(), 20*time.Second)
		returned <- err
	}()
	await.True(t, func() bool { return redistest.Get(t, masters[:1], t.Name())[0] != "" }, "sent")
	cancel()
	require.ErrorIs(t, <-returned, context.Canceled)
	require.Equal(t, 5, upMasters(e), "no answer has come, nor MasterTimeout")
	for _, link := range links[:3] {
		link.HoldReplies(false)
	}
	redistest.Gone(t, masters, t.Name())
	require.Equal(t, 5, upMasters(e))
	cycle(t, e, t.Name())
}

func TestWaitForAHeldLockEndsWithItsContext(t *testing.T) {
	masters := five(t)
	e, holder := open(t, masters), open(t, masters)
	lock := heldEverywhere(t, holder, masters, 0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	returned := make(chan error)
	go func() {
		_, err := e.Acquire(ctx, t.Name(), 0)
		returned <- err
	}()
	await.True(t, func() bool { return e.Stats().Taken > 0 })
	cancel()
	err := <-returned
	require.ErrorIs(t, err, engine.ErrTaken)
	require.ErrorIs(t, err, engine.ErrNotAcquired)
	require.ErrorIs(t, err, context.Canceled)
	var attempt *engine.AttemptError
	require.ErrorAs(t, err, &attempt)
	require.GreaterOrEqual(t, attempt.Refused, 3)
	require.True(t, lock.Valid())
	require.NoError(t, lock.Release(t.Context()))
}

func TestReleaseIsSentThoughItsContextHasEnded(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	lock, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := lock.Release(ctx); err != nil { // the verdict may be quicker
		require.ErrorIs(t, err, engine.ErrNoQuorum)
		require.ErrorIs(t, err, context.Canceled)
	}
	redistest.Gone(t, masters, t.Name())
}

// cancelledInFlight has a call's requests stay on the way for good and ends its ctx when they
// have been sent. It returns what the call said.
func cancelledInFlight(t *testing.T, e *engine.Engine, links []*faultconn.Link, call func(context.Context) error) error {
	t.Helper()
	quiet(t, e)
	rounds := e.Stats().Rounds
	for _, link := range links {
		link.BlackHole(true)
	}
	ctx, cancel := context.WithCancel(t.Context())
	returned := make(chan error)
	go func() { returned <- call(ctx) }()
	await.True(t, func() bool { return e.Stats().Rounds > rounds })
	cancel()
	return <-returned
}

func TestReleaseCancelledInFlightIsNotConfirmedAndGoesOn(t *testing.T) {
	masters := redistest.Masters(t, 5)
	e, links := bent(t, masters, masterTimeout(9*time.Second))
	lock := heldEverywhere(t, e, masters, 0)
	err := cancelledInFlight(t, e, links, func(ctx context.Context) error { return lock.Release(ctx) })
	require.ErrorIs(t, err, engine.ErrNoQuorum)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, uint64(1), e.Stats().ReleasesUnconfirmed)
	for _, link := range links {
		link.BlackHole(false)
	}
	redistest.Gone(t, masters, t.Name())
	require.ErrorIs(t, lock.Release(t.Context()), engine.ErrNotHeld)
}

func TestExtendCancelledInFlightLeavesTheOldUntil(t *testing.T) {
	masters := redistest.Masters(t, 5)
	e, links := bent(t, masters, masterTimeout(9*time.Second))
	lock, err := e.TryAcquire(t.Context(), t.Name(), 25*time.Second)
	require.NoError(t, err)
	old := lock.Until()
	err = cancelledInFlight(t, e, links, func(ctx context.Context) error { return lock.Extend(ctx, 30*time.Second) })
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, old, lock.Until())
	require.True(t, lock.Valid())
	for _, link := range links {
		link.BlackHole(false)
	}
	require.NoError(t, lock.Release(t.Context()))
	redistest.Gone(t, masters, t.Name())
}

func TestFullQueueIsOverloadedUnlessAcquireMayWait(t *testing.T) {
	masters := redistest.Masters(t, 3)
	for _, wait := range []bool{false, true} {
		e, links := bent(t, masters, masterTimeout(5*time.Second), func(c *engine.Config) { c.Queue, c.WaitWhenFull = 1, wait })
		for _, link := range links {
			link.HoldReplies(true)
		}
		var held sync.WaitGroup
		occupy := func(name string) {
			held.Go(func() {
				lock, err := e.Acquire(context.Background(), t.Name()+name, 10*time.Second)
				if err != nil {
					t.Error(err)
					return
				}
				if err := lock.Release(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		queued := func() bool { return e.Stats().Queued == 1 }
		var names []string
		for i := uint64(1); !queued(); i++ { // fill the window
			names = append(names, fmt.Sprint("/", i))
			occupy(names[i-1])
			await.True(t, func() bool { return e.Stats().Rounds == i || queued() })
		}

		_, err := e.TryAcquire(t.Context(), t.Name(), 0)
		require.ErrorIs(t, err, engine.ErrOverloaded, "TryAcquire never waits")
		ctx, cancel := context.WithCancel(t.Context())
		returned := make(chan error, 1)
		go func() {
			_, err := e.Acquire(ctx, t.Name(), 0)
			returned <- err
		}()
		if wait {
			await.Equal(t, 2, func() any { return e.Stats().Queued })
			cancel()
			require.ErrorIs(t, <-returned, context.Canceled)
			occupy("/waiting")
		} else {
			require.ErrorIs(t, <-returned, engine.ErrOverloaded)
			cancel()
		}
		for _, link := range links {
			link.HoldReplies(false)
		}
		held.Wait()
		require.Positive(t, e.Stats().Overloaded)
		for _, name := range append(names, "/waiting") {
			redistest.Gone(t, masters, t.Name()+name)
		}
	}
}

func TestTenThousandAbandonedAcquiresLeaveNoGoroutineAndNoKey(t *testing.T) {
	masters := redistest.Masters(t, 5)
	e := open(t, masters)
	for i := range 50 {
		cycle(t, e, fmt.Sprint(i))
	}
	opened := func() bool { // the connections that waiters need
		for _, m := range e.Stats().Masters {
			if !m.Tracking {
				return false
			}
		}
		return true
	}
	holder, ctx := open(t, masters), t.Context()
	cycle(t, holder, "warm-up")
	held, err := holder.TryAcquire(ctx, "warm-up", 0)
	require.NoError(t, err)
	var waiting sync.WaitGroup
	waiting.Go(func() { _ = e.Do(ctx, "warm-up", 0, func(context.Context) error { return nil }) })
	await.True(t, opened)
	require.NoError(t, held.Release(ctx))
	waiting.Wait()
	before := runtime.NumGoroutine() + 1 // soon runs its condition in one
	seed := draw.Seed(t)
	var abandoned, acquired atomic.Int64
	var work sync.WaitGroup
	for g := range 64 {
		work.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(g)))
			for abandoned.Load() < 10_000 {
				limit := time.Duration(r.IntN(2000)) * time.Microsecond
				ctx, cancel := context.WithTimeout(context.Background(), limit)
				if r.IntN(2) == 0 {
					ctx, cancel = context.WithCancel(context.Background())
					time.AfterFunc(limit, cancel)
				}
				lock, err := e.Acquire(ctx, fmt.Sprint("name ", r.IntN(48)), 25*time.Second)
				switch {
				case err == nil:
					acquired.Add(1)
					lock.Release(ctx) // which may have ended as well
				case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
					abandoned.Add(1)
				default:
					t.Errorf("unexpected: %v", err)
				}
				cancel()
			}
		})
	}
	work.Wait()
	t.Logf("%d abandoned, %d acquired, largest round %d", abandoned.Load(), acquired.Load(), e.Stats().LargestRound)
	await.Equal(t, 0, func() any { return len(redistest.Keys(t, masters...)) }, "no key is left")
	await.True(t, func() bool { return runtime.NumGoroutine() <= before }, "no goroutine is left")
	require.Zero(t, e.Stats().Queued)
	cycle(t, e, t.Name())
}

// Callers tell "somebody has it" from "the masters are away" by the kind.
func TestEveryAcquireWhoseContextEndsSaysWhy(t *testing.T) {
	masters := redistest.Masters(t, 5)
	e, links := bent(t, masters, func(c *engine.Config) { c.Queue, c.WaitWhenFull = 4, true })
	holder := open(t, masters)
	hold := func(e *engine.Engine, name string) func() {
		lock, err := e.Acquire(t.Context(), name, 30*time.Second)
		require.NoError(t, err)
		return func() { require.NoError(t, lock.Release(context.Background())) }
	}
	for _, c := range []struct {
		what   string
		begin  func(name string) (end func())
		kind   error // of those that were refused or waited; nil: either
		always bool  // also of those whose ctx had no time for an answer
	}{
		{"another process holds it", func(name string) func() { return hold(holder, name) }, nil, false},
		{"this process holds it", func(name string) func() { return hold(e, name) }, engine.ErrTaken, true},
		{"nobody holds it", func(string) func() { return func() {} }, nil, false},
		{"a majority is away", func(string) func() {
			for _, link := range links[:3] {
				link.RefuseDials(true)
				link.Cut()
			}
			await.Equal(t, 2, func() any { return upMasters(e) })
			return func() {
				for _, link := range links[:3] {
					link.RefuseDials(false)
				}
			}
		}, engine.ErrNoQuorum, true},
	} {
		name := t.Name() + c.what
		end := c.begin(name)
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				for range 60 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.Int64N(int64(10*time.Millisecond))))
					lock, err := e.Acquire(ctx, name, 0)
					cancel()
					if err == nil {
						_ = lock.Release(context.Background())
						continue
					}
					assert.ErrorIs(t, err, engine.ErrNotAcquired, c.what)
					assert.True(t, errors.Is(err, engine.ErrTaken) != errors.Is(err, engine.ErrNoQuorum), "%s: %v", c.what, err)
					if c.always {
						assert.ErrorIs(t, err, c.kind, c.what)
					}
				}
			})
		}
		all.Wait()
		end()
	}
}

func TestAcquireThatNeverAskedSaysWhatIsKnownOfTheMasters(t *testing.T) {
	e, links := bent(t, redistest.Masters(t, 3))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	missing := func() (m *engine.NotReadyError) {
		_, err := e.Acquire(ended, t.Name(), 0)
		require.ErrorIs(t, err, engine.ErrNoQuorum)
		require.ErrorIs(t, err, engine.ErrNotAcquired)
		require.ErrorIs(t, err, context.Canceled)
		errors.As(err, &m)
		return m
	}
	require.Nil(t, missing())
	for _, link := range links[:2] {
		link.RefuseDials(true)
		link.Cut()
	}
	await.Equal(t, 1, func() any { return upMasters(e) })
	m := missing()
	require.NotNil(t, m)
	require.Len(t, m.Causes, 2)
}

// The next in line had no answer of its own.
func TestWhatTheLastContenderFoundIsKnownToTheNext(t *testing.T) {
	masters := redistest.Masters(t, 3)
	e, links := bent(t, masters, masterTimeout(9*time.Second), func(c *engine.Config) { c.TTL = 30 * time.Second })
	lock, err := open(t, masters).Acquire(t.Context(), t.Name(), 30*time.Second)
	require.NoError(t, err)
	everywhere(t, masters, lock)
	acquire := func() (cancel context.CancelFunc, returned chan error) {
		ctx, cancel := context.WithCancel(t.Context())
		returned = make(chan error, 1)
		go func() {
			_, err := e.Acquire(ctx, t.Name(), 0)
			returned <- err
		}()
		return cancel, returned
	}
	endFirst, first := acquire()
	await.True(t, func() bool { return e.Stats().Taken > 0 })
	endNext, next := acquire()
	await.Equal(t, 1, func() any { return e.Stats().Waiting })
	for _, link := range links {
		link.HoldReplies(true)
	}
	endFirst()
	require.ErrorIs(t, <-first, engine.ErrTaken)
	await.Equal(t, 0, func() any { return e.Stats().Waiting }, "the next one contends")
	endNext()
	err = <-next
	require.ErrorIs(t, err, engine.ErrTaken)
	require.NotErrorIs(t, err, engine.ErrNoQuorum)
	require.ErrorIs(t, err, context.Canceled)
	for _, link := range links {
		link.HoldReplies(false)
	}
	require.NoError(t, lock.Release(t.Context()))
}
