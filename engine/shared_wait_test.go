package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/pipeline"
)

func TestImpatientWritersDoNotLiftTheIntentOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakes(t, 5)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var all sync.WaitGroup
		for i := range 6 { // processes that read for 400 ms, again and again
			e := f.near(300 * time.Microsecond)
			all.Go(func() {
				for time.Sleep(time.Duration(i) * 70 * time.Millisecond); ctx.Err() == nil; {
					if l, err := e.AcquireShared(ctx, "name", 5*time.Second); err == nil {
						time.Sleep(400 * time.Millisecond)
						_ = l.Release(ctx)
					}
				}
			})
		}
		impatient, patient := f.near(300*time.Microsecond), f.near(300*time.Microsecond)
		time.Sleep(time.Second)
		all.Go(func() { // another process wants to write, for about 60 ms at a time
			for ctx.Err() == nil {
				short, end := context.WithTimeout(ctx, time.Duration(40+rand.IntN(40))*time.Millisecond)
				if l, err := impatient.Acquire(short, "name", 5*time.Second); err == nil {
					_ = l.Release(ctx)
				}
				end()
			}
		})
		begun := time.Now()
		l, err := patient.Acquire(ctx, "name", 5*time.Second)
		waited := time.Since(begun)
		if err == nil {
			_ = l.Release(ctx)
		}
		cancel()
		all.Wait()
		require.NoError(t, err, "after %v", waited) // 0.34 s without the other process
		require.Less(t, waited, 15*time.Second)     // once its intent is the first one, in one of three repeats, it has the lock soon
	})
}

func TestReaderThatWaitsForAWriterDoesNotSpin(t *testing.T) {
	for n := 1; n <= 6; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakes(t, n)
				writer, reader := f.near(500*time.Microsecond), f.near(500*time.Microsecond)
				w := mustAcquire(t, writer, "name", 10*time.Second)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := reader.AcquireShared(ctx, "name", 10*time.Second)
				require.ErrorIs(t, err, ErrTaken)
				require.Less(t, reader.Stats().Taken, uint64(20))
				require.NoError(t, w.Release(t.Context()))
			})
		})
	}
}

func TestReaderJoinsThoseWhoFollowedTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakes(t, 5)
		near, far := f.near(100*time.Microsecond), f.near(5*time.Millisecond)
		w := mustAcquire(t, near, "name", 10*time.Second)
		got := make(chan time.Time, 1)
		go func() {
			l := mustAcquireShared(t, far, "name", 10*time.Second)
			got <- time.Now()
			_ = l.Release(context.Background())
		}()
		time.Sleep(5500 * time.Microsecond) // it was refused, and is about to look when the writer's lease ends
		require.NoError(t, w.Release(t.Context()))
		r, err := near.TryAcquireShared(t.Context(), "name", 10*time.Second)
		require.NoError(t, err)
		begun := time.Now()
		require.Less(t, (<-got).Sub(begun), time.Second, "nobody writes")
		_ = r.Release(t.Context())
	})
}

func TestSetDoesNotKeepOutTheReaderBehindWhichItQueues(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		begun := time.Now()
		s.set(func() { // a reader of another process, for 250 ms
			ends := begun.Add(250 * time.Millisecond)
			s.keys["a"] = scriptedKey{ends: ends, readers: map[string]time.Time{"of another process": ends}}
		})
		set := make(chan *Set, 1)
		go func() { set <- mustAcquireAll(t, e, "a", "b") }()
		time.Sleep(40 * time.Millisecond)
		s.set(func() {}) // another reader came or went: the Set asks again, and keeps new readers out
		time.Sleep(60 * time.Millisecond)
		lock := mustAcquireShared(t, e, "a", 0)
		read := time.Since(begun)
		require.NoError(t, lock.Release(t.Context()))
		require.NoError(t, (<-set).Release(t.Context()))
		require.Less(t, read, 300*time.Millisecond, "the name is free after 250 ms")
	})
}

// The masters that answer first have the intent of a writer that is gone.
func TestReaderThatAMinorityKeepsOutDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakes(t, 5)
		w := mustAcquire(t, f.near(0), "name", 10*time.Second)
		paths := time.Duration(0)
		reader := f.engine(func() time.Duration {
			paths += 200 * time.Microsecond
			return paths
		})
		for _, address := range f.addresses[:2] {
			f.servers[address].Set(pipeline.IntentPrefix+"name", "gone")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := reader.AcquireShared(ctx, "name", 10*time.Second)
		require.ErrorIs(t, err, ErrTaken)
		require.Less(t, reader.Stats().Taken, uint64(20))
		require.NoError(t, w.Release(t.Context()))
	})
}

// The other writer has extended the intent of the one that gives up, and repeats its own later.
func TestWriterThatGivesUpLetsNoReaderInBeforeOneThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakes(t, 5)
		reader, first, second, late := f.near(0), f.near(0), f.near(0), f.near(0)
		read := mustAcquireShared(t, reader, "name", 10*time.Second)
		var all sync.WaitGroup
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 3*intendAfter)
			defer cancel()
			_, err := first.Acquire(ctx, "name", 0)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
		time.Sleep(intendAfter / 2)
		waiting := goAcquire(t.Context(), second, 0)
		all.Wait()
		time.Sleep(intendAfter / 2)
		_, err := late.TryAcquireShared(t.Context(), "name", 0)
		require.ErrorIs(t, err, ErrTaken)
		require.NoError(t, read.Release(t.Context()))
		require.NoError(t, requireGot(t, waiting).Release(t.Context()))
	})
}
