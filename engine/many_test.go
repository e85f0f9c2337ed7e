package engine

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/limits"
)

// numbered returns n names that start with prefix.
func numbered(prefix string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint(prefix, "/", i))
	}
	return names
}

func locksOf(results []Result) (locks []*Lock) {
	for _, r := range results {
		locks = append(locks, r.Lock)
	}
	return locks
}

func TestReleaseManyHandsEachLockToItsWaiter(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		names := numbered("name", 10)
		locks := locksOf(e.AcquireMany(t.Context(), names, 0))
		got := make(chan *Lock, len(names))
		for _, name := range names[:5] {
			go func() {
				lock, err := e.Acquire(t.Context(), name, 0)
				if err == nil {
					got <- lock
				}
			}()
		}
		synctest.Wait()
		require.Nil(t, e.ReleaseMany(t.Context(), locks))
		synctest.Wait()
		require.Len(t, got, 5)
		require.EqualValues(t, 5, e.Stats().HandedOver)
		for range 5 {
			require.NoError(t, (<-got).Release(t.Context()))
		}
		requireNothingLeft(t, e, s)
	})
}

// The end of one context may wait for that of another, and for the goroutine that asked for both.
func TestReleaseManyEndsAllContextsTogether(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		locks := locksOf(e.AcquireMany(t.Context(), numbered("name", 5), 0))
		contexts := make([]context.Context, len(locks))
		var ending atomic.Bool
		for i, l := range locks {
			own := &parent{Context: t.Context(), look: func() {
				if ending.Load() {
					for _, other := range contexts {
						<-other.Done()
					}
				}
			}}
			ctx, cancel := l.Context(own)
			defer cancel()
			contexts[i] = ctx
		}
		ending.Store(true)
		released := make(chan []error, 1)
		go func() { released <- e.ReleaseMany(t.Context(), locks) }()
		time.Sleep(time.Second)
		require.Len(t, released, 1)
		require.Nil(t, <-released)
		requireNothingLeft(t, e, s)
	})
}

// A contender of AcquireMany leaves the name to the next in this process, whatever becomes of it.
func TestOneOfManyThatGetsNoLockLetsTheNextContend(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		s.set(func() { s.away = true })
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		results := make(chan []Result, 2)
		for _, ctx := range []context.Context{ctx, t.Context()} {
			go func() { results <- e.AcquireMany(ctx, numbered("name", 2), 0) }()
			synctest.Wait()
			cancel()
			synctest.Wait()
		}
		for range 2 {
			for _, r := range <-results {
				require.Error(t, r.Err)
			}
		}
		s.set(func() { s.away = false })
		locks := locksOf(e.AcquireMany(t.Context(), numbered("name", 2), 0))
		require.NotContains(t, locks, nil)
		require.Nil(t, e.ReleaseMany(t.Context(), locks))
		requireNothingLeft(t, e, s)
	})
}

func TestManyFencingTokensAreRaisedTogether(t *testing.T) {
	for _, set := range []bool{false, true} {
		overFencedFakes(t, func(t *testing.T, f *fencedFakes) {
			const delay = 500 * time.Millisecond
			names := numbered("name", 20)
			acquire := func() []*Lock {
				if set {
					return mustAcquireAll(t, f.e, names...).Locks()
				}
				return locksOf(f.e.AcquireMany(t.Context(), names, 0))
			}
			f.spread(names[:10], delay)
			begun := time.Now()
			first := acquire()
			require.Equal(t, 2*delay, time.Since(begun))
			require.EqualValues(t, 10, f.e.Stats().FencesRaised)
			require.Nil(t, f.e.ReleaseMany(t.Context(), first))
			for i, l := range acquire() {
				require.NotZero(t, first[i].Fence())
				require.Greater(t, l.Fence(), first[i].Fence())
				require.NoError(t, l.Release(t.Context()))
			}
		})
	}
}

func TestManyNamesOfAClosedEngineAreNotAcquired(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		locks := locksOf(e.AcquireMany(t.Context(), numbered("name", 3), 0))
		require.NoError(t, e.Close())
		for _, r := range e.AcquireMany(t.Context(), numbered("other", 3), 0) {
			require.ErrorIs(t, r.Err, ErrClosed)
		}
		for _, err := range e.ReleaseMany(t.Context(), locks) {
			require.ErrorIs(t, err, ErrClosed)
		}
	})
}

func TestManyNamesAreAcquiredInOneCallEachWithItsOwnResult(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		other := newEngine(Config{Masters: make([]string, 5)}.withDefaults(), s, new(record))
		defer other.Close()
		here, there := mustAcquire(t, e, "here", 0), mustAcquire(t, other, "there", 0)
		asked := []string{"a", "here", "there", "b", "a", "", strings.Repeat("x", limits.NameBytes+1)}
		results := e.AcquireMany(t.Context(), asked, 0)
		for i, kind := range []error{nil, errTakenHere, ErrTaken, nil, errTakenHere, ErrInvalid, ErrInvalid} {
			require.ErrorIs(t, results[i].Err, kind, i)
			require.Equal(t, kind == nil, results[i].Lock != nil, i)
		}
		require.Equal(t, "b", results[3].Lock.Name())
		require.Equal(t, 3, e.Stats().Held)
		require.NoError(t, results[0].Lock.Release(t.Context()))
		errs := e.ReleaseMany(t.Context(), append(locksOf(results), here, there))
		for i, kind := range []error{ErrNotHeld, nil, nil, nil, nil, nil, nil, nil, ErrInvalid} {
			require.ErrorIs(t, errs[i], kind, i)
		}
		require.ErrorContains(t, errs[8], "locks[8]")
		require.True(t, there.Valid())
		require.Nil(t, other.ReleaseMany(t.Context(), []*Lock{there, nil}))
		require.ErrorIs(t, e.AcquireMany(t.Context(), []string{"a"}, time.Nanosecond)[0].Err, ErrInvalid)
		require.Empty(t, e.AcquireMany(t.Context(), nil, 0))
		require.Nil(t, e.ReleaseMany(t.Context(), nil))
		requireNothingLeft(t, e, s)
	})
}
