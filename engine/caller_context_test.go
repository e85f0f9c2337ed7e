package engine

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/pipeline"
)

// A parent is a context of the caller's own, whose methods may take any mutex of the caller's:
// one, say, that another goroutine holds while it calls the engine.
type parent struct {
	context.Context
	look func() // called by each method
}

func (p *parent) Value(key any) any     { p.look(); return p.Context.Value(key) }
func (p *parent) Done() <-chan struct{} { p.look(); return p.Context.Done() }
func (p *parent) Err() error            { p.look(); return p.Context.Err() }

func TestNoMethodOfACallersContextIsCalledUnderAShardsMutex(t *testing.T) {
	// With one processor, a goroutine that yields lets whoever has the mutex go on, however busy the machine is.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	runOut := func(l *Lock) {
		l.lock()
		l.lease.renewal.until = l.since
		l.unlock()
	}
	for name, end := range map[string]func(t *testing.T, e *Engine, s *scripted, l *Lock, own context.Context){
		"released": func(t *testing.T, _ *Engine, _ *scripted, l *Lock, _ context.Context) {
			require.NoError(t, l.Release(t.Context()))
		},
		"released among many": func(t *testing.T, e *Engine, _ *scripted, l *Lock, _ context.Context) {
			require.Nil(t, e.ReleaseMany(t.Context(), []*Lock{l, mustAcquire(t, e, "other", 0)}))
		},
		"handed over": func(t *testing.T, e *Engine, _ *scripted, l *Lock, _ context.Context) {
			next := goAcquire(t.Context(), e, 0)
			require.NoError(t, l.Release(t.Context()))
			require.NoError(t, requireGot(t, next).Release(t.Context()))
		},
		"lost, as the keeper finds": func(_ *testing.T, _ *Engine, _ *scripted, l *Lock, _ context.Context) {
			<-l.Done()
		},
		"lost, as its holder finds": func(t *testing.T, _ *Engine, _ *scripted, l *Lock, _ context.Context) {
			runOut(l)
			require.ErrorIs(t, l.Err(), ErrLost)
		},
		"lost, as the next caller finds": func(t *testing.T, e *Engine, s *scripted, l *Lock, _ context.Context) {
			runOut(l)
			s.drop("name")
			require.NoError(t, mustAcquire(t, e, "name", 0).Release(t.Context()))
		},
		"lost, as the sweep finds": func(_ *testing.T, _ *Engine, _ *scripted, l *Lock, _ context.Context) {
			runOut(l)
			l.lease.state.shard.sweep()
		},
		"lost, as a renewal finds": func(t *testing.T, _ *Engine, s *scripted, l *Lock, _ context.Context) {
			s.drop("name")
			require.NoError(t, l.KeepAlive(0))
			<-l.Done()
			require.ErrorIs(t, l.Err(), ErrNotHeld)
		},
		"lost, as an extend finds": func(t *testing.T, _ *Engine, s *scripted, l *Lock, own context.Context) {
			s.drop("name")
			require.ErrorIs(t, l.Extend(own, 0), ErrNotHeld)
		},
		"closed": func(t *testing.T, e *Engine, _ *scripted, _ *Lock, _ context.Context) {
			require.NoError(t, e.Close())
		},
		"ended before": func(t *testing.T, _ *Engine, _ *scripted, l *Lock, own context.Context) {
			require.NoError(t, l.Release(t.Context()))
			ctx, cancel := l.Context(own)
			defer cancel()
			require.ErrorIs(t, context.Cause(ctx), ErrNotHeld)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
				lock := mustAcquire(t, e, "name", 0)
				var ending atomic.Bool
				var calls, under atomic.Int32
				own := &parent{Context: t.Context(), look: func() {
					if !ending.Load() {
						return
					}
					calls.Add(1)
					mu := &lock.lease.state.shard.mu
					for range 1000 { // another goroutine may have it for a moment
						if mu.TryLock() {
							mu.Unlock()
							return
						}
						runtime.Gosched()
					}
					under.Add(1)
				}}
				held, cancel := lock.Context(own)
				defer cancel()
				ending.Store(true)
				end(t, e, s, lock, own)
				synctest.Wait()
				ending.Store(false)
				require.Error(t, held.Err())
				require.Positive(t, calls.Load())
				require.Zero(t, under.Load())
			})
		})
	}
}

func TestContextEndsAfterTheLockAndBeforeTheNextHolderInTheProcessHasIt(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		done, waiting := lock.Done(), goAcquire(t.Context(), e, 0)
		held, cancel := lock.Context(t.Context())
		defer cancel()
		own, ended := &parent{Context: t.Context(), look: func() {}}, false
		other, cancel := lock.Context(own)
		defer cancel()
		own.look = func() {
			require.False(t, lock.Valid())
			<-done
			requireOpen(t, waiting, "the context of the holder before has not ended")
			ended = true
		}
		require.NoError(t, lock.Release(t.Context()))
		require.True(t, ended)
		require.ErrorIs(t, context.Cause(held), ErrNotHeld)
		require.ErrorIs(t, context.Cause(other), ErrNotHeld)
		own.look = func() {}
		require.NoError(t, requireGot(t, waiting).Release(t.Context()))
		require.Equal(t, []pipeline.Op{pipeline.Acquire, pipeline.Release}, s.ops(), "handed over")
		requireNothingLeft(t, e, s)
	})
}

func TestLeaseThatIsLostWhileItsHoldersContextsEndIsReleasedAndNotLost(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		waiting := goAcquire(t.Context(), e, 0)
		own := &parent{Context: t.Context(), look: func() {}}
		_, cancel := lock.Context(own)
		defer cancel()
		own.look = sync.OnceFunc(func() { time.Sleep(lease10) })
		require.ErrorIs(t, lock.Release(t.Context()), ErrNotHeld, "the key is gone")
		require.ErrorIs(t, lock.Err(), ErrNotHeld)
		require.NotErrorIs(t, lock.Err(), ErrLost)
		require.Zero(t, e.Stats().Lost)
		require.NoError(t, requireGot(t, waiting).Release(t.Context()))
		requireNothingLeft(t, e, s)
	})
}

// A goroutine waits for the engine with a mutex that the parent of a context takes.
func TestNoCallWaitsForAMutexThatItsOwnCallerHas(t *testing.T) {
	for name, call := range map[string]func(t *testing.T, e *Engine, l *Lock){
		"Valid": func(t *testing.T, _ *Engine, l *Lock) {
			time.Sleep(lease10)
			require.False(t, l.Valid())
		},
		"Extend": func(t *testing.T, e *Engine, _ *Lock) { // the keeper has the outcome
			other := mustAcquire(t, e, "other", 2*lease10)
			time.Sleep(lease10)
			require.NoError(t, other.Extend(t.Context(), 0))
		},
		"Acquire": func(t *testing.T, e *Engine, _ *Lock) {
			time.Sleep(lease10)
			require.NoError(t, mustAcquire(t, e, "name", 0).Release(t.Context()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
				lock := mustAcquire(t, e, "name", 0)
				mu := make(chan struct{}, 1) // a mutex whose end virtual time can wait for
				own := &parent{Context: t.Context(), look: func() {
					mu <- struct{}{}
					<-mu
				}}
				held, cancel := lock.Context(own)
				defer cancel()
				mu <- struct{}{}
				call(t, e, lock)
				<-mu
				<-held.Done()
				require.ErrorIs(t, context.Cause(held), ErrLost)
			})
		})
	}
}

func TestNoContextOfALockThatIsLostWaitsForTheParentOfAnother(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, _ *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		var others []context.Context
		for range 9 {
			other, cancel := lock.Context(t.Context())
			defer cancel()
			others = append(others, other)
		}
		var ending atomic.Bool
		_, cancel := lock.Context(&parent{Context: t.Context(), look: func() {
			for _, other := range others {
				if ending.Load() {
					<-other.Done()
				}
			}
		}})
		defer cancel()
		ending.Store(true)
		time.Sleep(lease10)
		require.False(t, lock.Valid())
		synctest.Wait()
		for _, other := range others {
			require.ErrorIs(t, context.Cause(other), ErrLost)
		}
	})
}

func TestLockIsNotRenewedAfterAReleaseInWhichACallersContextPanics(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		require.NoError(t, lock.KeepAlive(0))
		own := &parent{Context: t.Context(), look: func() {}}
		_, cancel := lock.Context(own)
		defer cancel()
		own.look = func() { panic("the caller's") }
		require.Panics(t, func() { _ = lock.Release(t.Context()) })
		own.look = func() {}
		time.Sleep(2 * lease10)
		require.Equal(t, []pipeline.Op{pipeline.Acquire}, s.ops())
		s.drop("name") // its lease has run out there, too
		require.NoError(t, mustAcquire(t, e, "name", 0).Release(t.Context()))
	})
}
