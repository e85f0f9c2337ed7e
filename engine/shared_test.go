package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
	"muxlock/pipeline"
)

func mustAcquireShared(t testing.TB, e *Engine, name string, ttl time.Duration) *Lock {
	t.Helper()
	lock, err := e.AcquireShared(context.Background(), name, ttl)
	require.NoError(t, err)
	return lock
}

func goAcquireShared(ctx context.Context, e *Engine, ttl time.Duration) <-chan acquired {
	got := make(chan acquired, 1)
	go func() {
		lock, err := e.AcquireShared(ctx, "name", ttl)
		got <- acquired{lock, err, time.Now()}
	}()
	synctest.Wait()
	return got
}

func TestReadersOfAProcessShareALease(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		first := mustAcquireShared(t, e, "name", 0)
		var locks []*Lock
		for range 10 {
			locks = append(locks, mustAcquireShared(t, e, "name", 0))
		}
		tried, err := e.TryAcquireShared(t.Context(), "name", 0)
		require.NoError(t, err)
		require.Equal(t, 1, s.requests(), "others join")
		require.Equal(t, 12, e.Stats().Held)
		require.NoError(t, first.Release(t.Context()))
		require.ErrorIs(t, first.Err(), ErrNotHeld)
		require.ErrorIs(t, first.Extend(t.Context(), 0), ErrNotHeld)
		for _, l := range append(locks, tried) {
			require.True(t, l.Valid())
			require.Equal(t, 1, s.requests())
			require.NoError(t, l.Release(t.Context()))
		}
		require.Equal(t, []pipeline.Op{pipeline.Acquire, pipeline.Release}, s.ops())
		require.Equal(t, []uint64{11, 1}, []uint64{e.Stats().HandedOver, e.Stats().Released}, "all but the last left it to others")
		requireNothingLeft(t, e, s)
	})
}

func TestReaderJoinsAYoungLeaseThatIsLongEnoughElseItHasAnother(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		first := mustAcquireShared(t, e, "name", 2*time.Second)
		mustAcquireShared(t, e, "name", 3*time.Second)
		require.Equal(t, 1, s.requests())
		long := mustAcquireShared(t, e, "name", 10*time.Second)
		require.Equal(t, 2, s.requests())
		require.NotSame(t, first.lease, long.lease)
		require.Same(t, long.lease, mustAcquireShared(t, e, "name", 10*time.Second).lease)
		time.Sleep(e.cfg.HandOverTime)
		later := mustAcquireShared(t, e, "name", 10*time.Second)
		require.Equal(t, 3, s.requests())
		require.True(t, first.Valid() && long.Valid() && later.Valid())
		_, err := e.TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, ErrTaken)

		ctx, leave := context.WithCancel(t.Context())
		writer := goAcquire(ctx, e, 0)
		_, err = e.TryAcquireShared(t.Context(), "name", time.Second)
		require.ErrorIs(t, err, ErrTaken, "a writer waits")
		reader := goAcquireShared(t.Context(), e, time.Second)
		requireOpen(t, reader, "a writer waits before it")
		leave()
		require.ErrorIs(t, (<-writer).err, context.Canceled)
		require.NoError(t, requireGot(t, reader).Release(t.Context()))
		require.NoError(t, later.Release(t.Context()))
		require.NoError(t, long.Release(t.Context()))
		require.True(t, first.Valid())
		sweepAll(e)
		require.NoError(t, e.Close())
		require.ErrorIs(t, first.Err(), ErrClosed, "of a lease that no further reader could join")
	})
}

func sweepAll(e *Engine) {
	for i := range e.names.shards {
		s := &e.names.shards[i]
		s.mu.Lock()
		s.sweepLocked(clock.Now())
		s.unlock()
	}
}

func TestReadersThatWaitAreLetInTogether(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		writer := mustAcquire(t, e, "name", 0)
		var readers []<-chan acquired
		for range 5 {
			readers = append(readers, goAcquireShared(t.Context(), e, 0))
		}
		next := goAcquire(t.Context(), e, 0)
		late := goAcquireShared(t.Context(), e, 0)
		require.NoError(t, writer.Release(t.Context()))
		var locks []*Lock
		for _, r := range readers {
			locks = append(locks, requireGot(t, r))
		}
		require.Equal(t, []pipeline.Op{pipeline.Acquire, pipeline.Release, pipeline.Acquire}, s.ops(), "a writer's lease is handed to no reader")
		requireOpen(t, next, "they read")
		requireOpen(t, late, "a writer waits before it")
		for _, l := range locks {
			requireOpen(t, next, "one reads")
			require.NoError(t, l.Release(t.Context()))
		}
		writer = requireGot(t, next)
		require.False(t, kinds[writer.lease.kind].Shared, "a reader's lease is handed to no writer")
		requireOpen(t, late, "it writes")
		require.NoError(t, writer.Release(t.Context()))
		require.NoError(t, requireGot(t, late).Release(t.Context()))
		requireNothingLeft(t, e, s)
	})
}

func TestReaderThatLeavesAfterCloseLeavesTheLeaseToReadersWhoMayBeAtWork(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		first, second := mustAcquireShared(t, e, "name", 0), mustAcquireShared(t, e, "name", 0)
		e.names.awaited.Add(1) // a call is under way, and Close waits for it
		go e.Close()
		synctest.Wait()
		require.ErrorIs(t, second.Err(), ErrClosed)
		require.ErrorIs(t, first.Release(t.Context()), ErrClosed)
		require.Equal(t, []string{"name"}, s.locked())
	})
}

// Some of the readers have joined the lease when it ends, and do not know it yet.
func TestReaderThatHasJustJoinedLeavesTheLeaseToReadersWhoMayBeAtWork(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		writer := mustAcquire(t, e, "name", 0)
		e.names.awaited.Add(1) // a call is under way, and Close waits for it
		var readers []<-chan acquired
		for range 50 {
			got := make(chan acquired, 1)
			go func() {
				lock, err := e.AcquireShared(context.Background(), "name", 0)
				if err == nil {
					err = e.Close() // the first, who is at work
				}
				got <- acquired{lock, err, time.Now()}
			}()
			readers = append(readers, got)
		}
		synctest.Wait()
		require.NoError(t, writer.Release(t.Context()))
		for _, got := range readers {
			<-got
		}
		time.Sleep(time.Second)
		require.Contains(t, s.locked(), "name")
	})
}

// The process stood in line for the name, as a writer, before it read.
func TestReadersPassNothingOn(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquireShared(t, e, "name", 0)
		lock.lease.state.stoodInLine(clock.Instant{}, nil)
		require.NoError(t, lock.Release(t.Context()))
		require.Equal(t, []int{1, 0}, []int{s.count(pipeline.Release), s.count(pipeline.Pass)})
		requireNothingLeft(t, e, s)
	})
}

func TestReaderOfALeaseThatStandsApartLeavesThePresentOneToTheOthers(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		apart := mustAcquireShared(t, e, "name", 0)
		time.Sleep(2 * e.cfg.HandOverTime)
		present := mustAcquireShared(t, e, "name", 0)
		require.Equal(t, 2, s.count(pipeline.Acquire))
		require.NoError(t, apart.Release(t.Context()))
		_, err := e.TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, errTakenHere)
		third := mustAcquireShared(t, e, "name", 0)
		require.Equal(t, 2, s.count(pipeline.Acquire), "it joins the second")
		require.NoError(t, present.Release(t.Context()))
		require.NoError(t, third.Release(t.Context()))
		requireNothingLeft(t, e, s)
	})
}

func TestLossOfALeaseIsThatOfAllItsReaders(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		first, second, third := mustAcquireShared(t, e, "name", 0), mustAcquireShared(t, e, "name", 0), mustAcquireShared(t, e, "name", 0)
		ctx, cancel := second.Context(t.Context())
		defer cancel()
		require.NoError(t, third.Release(t.Context()))
		s.drop("name")
		require.ErrorIs(t, first.Extend(t.Context(), 0), ErrLost)
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), ErrLost)
		require.ErrorIs(t, second.Err(), ErrLost)
		require.ErrorIs(t, third.Err(), ErrNotHeld)
		require.EqualValues(t, 2, e.Stats().Lost)
		require.ErrorIs(t, first.Release(t.Context()), ErrNotHeld)
		require.NoError(t, mustAcquireShared(t, e, "name", 0).Release(t.Context()), "others go on")
	})
}

func TestLeaseOfReadersIsRenewedWhileOneOfThemAsksForIt(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		kept, bounded, other := mustAcquireShared(t, e, "name", 3*time.Second), mustAcquireShared(t, e, "name", 3*time.Second), mustAcquireShared(t, e, "name", 3*time.Second)
		require.NoError(t, kept.KeepAlive(0))
		require.NoError(t, bounded.KeepAlive(20*time.Second))
		time.Sleep(time.Minute)
		require.True(t, kept.Valid() && bounded.Valid() && other.Valid())
		require.NoError(t, kept.Release(t.Context()))
		time.Sleep(10 * time.Second)
		require.ErrorIs(t, other.Err(), ErrExpired)
		require.ErrorIs(t, bounded.Err(), ErrExpired)

		kept, other = mustAcquireShared(t, e, "name", 3*time.Second), mustAcquireShared(t, e, "name", 3*time.Second)
		require.NoError(t, kept.KeepAlive(10*time.Second))
		require.NoError(t, other.Release(t.Context()))
		time.Sleep(8 * time.Second)
		require.True(t, kept.Valid())
		time.Sleep(10 * time.Second)
		require.False(t, kept.Valid())

		mustAcquireShared(t, e, "name", 3*time.Second)
		kept = mustAcquireShared(t, e, "name", 5*time.Second)
		require.NoError(t, kept.KeepAlive(0))
		time.Sleep(time.Minute)
		require.Greater(t, time.Until(kept.Until()), 3*time.Second, "for the longest that one of them asked for")
	})
}

func TestEachReaderIsWarnedAtItsTime(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		early, late, quiet := mustAcquireShared(t, e, "name", 4*time.Second), mustAcquireShared(t, e, "name", 4*time.Second), mustAcquireShared(t, e, "name", 4*time.Second)
		begun, warned := time.Now(), make(chan string, 9)
		warn := func(who string) func() {
			return func() { warned <- fmt.Sprint(who, " ", time.Since(begun).Round(100*time.Millisecond)) }
		}
		require.NoError(t, early.WarnBefore(3*time.Second, warn("early")))
		require.NoError(t, late.WarnBefore(time.Second, warn("late")))
		require.Equal(t, "early 1s", <-warned)
		require.Equal(t, "late 3s", <-warned)
		require.NoError(t, quiet.Extend(t.Context(), 4*time.Second)) // until 7 s
		require.Equal(t, "early 3.9s", <-warned)
		require.NoError(t, early.Release(t.Context()))
		require.Equal(t, "late 5.9s", <-warned)
		require.NoError(t, late.WarnBefore(time.Second, warn("again")))
		require.Equal(t, "again 5.9s", <-warned)
		time.Sleep(2 * time.Second)
		require.Empty(t, warned)
	})
}

func TestReaderThatWantsToWriteIsToldThatItCannot(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		require.NoError(t, e.DoShared(t.Context(), "name", 0, func(ctx context.Context) error {
			for _, acquire := range []func(context.Context, string, time.Duration) (*Lock, error){e.Acquire, e.TryAcquire} {
				_, err := acquire(ctx, "name", 0)
				require.ErrorIs(t, err, ErrInvalid)
				require.ErrorContains(t, err, "name is held by the caller's ctx, as a reader")
			}
			_, err := e.AcquireAll(ctx, []string{"free", "name"}, 0)
			require.ErrorIs(t, err, ErrInvalid)
			many := e.AcquireMany(ctx, []string{"free", "name"}, 0)
			require.NoError(t, many[0].Lock.Release(ctx), "it is one by itself")
			require.ErrorIs(t, many[1].Err, ErrInvalid)
			require.NoError(t, mustAcquire(t, e, "free", 0).Release(ctx))
			lock, err := e.AcquireShared(ctx, "name", 0)
			require.NoError(t, err, "it may read twice while nobody waits")
			return lock.Release(ctx)
		}))
		require.ErrorIs(t, e.DoShared(t.Context(), "name", 0, nil), ErrInvalid)
		_, err := e.AcquireShared(t.Context(), "", 0)
		require.ErrorIs(t, err, ErrInvalid)
		requireNothingLeft(t, e, s)
	})
}

// Readers elsewhere come and go, so that there is always one.
func TestWriterThatWaitsKeepsNewReadersOut(t *testing.T) {
	for name, acquire := range map[string]func(e *Engine) (held, error){
		"Acquire":    func(e *Engine) (held, error) { return e.Acquire(context.Background(), "name", 0) },
		"AcquireAll": func(e *Engine) (held, error) { return e.AcquireAll(context.Background(), []string{"name", "other"}, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
				ctx, stop := context.WithCancel(t.Context())
				var readers sync.WaitGroup
				for range 3 {
					elsewhere := newEngine(Config{Masters: make([]string, 5)}.withDefaults(), s, new(record))
					defer elsewhere.Close()
					readers.Go(func() {
						for ctx.Err() == nil {
							if lock, err := elsewhere.AcquireShared(ctx, "name", 0); err == nil {
								time.Sleep(time.Second + time.Duration(len(name))*time.Millisecond)
								_ = lock.Release(ctx)
							}
						}
					})
					time.Sleep(300 * time.Millisecond)
				}
				begun := time.Now()
				lock, err := acquire(e)
				require.NoError(t, err)
				require.Less(t, time.Since(begun), 3*time.Second, "those who read by then, and one or two more")
				require.NoError(t, lock.Release(t.Context()))
				reader := mustAcquireShared(t, e, "name", 0)
				require.Less(t, time.Since(begun), 4*time.Second, "its intent is over")
				require.NoError(t, reader.Release(t.Context()))
				stop()
				readers.Wait()
				require.False(t, slices.Contains(s.ops(), pipeline.Pass))
			})
		})
	}
}

// Readers of other processes leave one by one. Another one comes behind a writer that waits for them.
func TestReaderBehindAWriterAsksAgainWhenTheIntentEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		open := func() *Engine {
			e := newEngine(Config{Masters: make([]string, 5)}.withDefaults(), s, new(record))
			t.Cleanup(func() { e.Close() })
			return e
		}
		var readers []*Lock
		for range 10 {
			readers = append(readers, mustAcquireShared(t, open(), "name", 0))
		}
		written := goAcquire(t.Context(), e, 0)
		time.Sleep(2 * intendAfter)
		require.NoError(t, readers[0].Release(t.Context())) // so that the writer asks again
		time.Sleep(10 * time.Millisecond)
		late := open()
		read := goAcquireShared(t.Context(), late, 0)
		for _, r := range readers[1:] {
			time.Sleep(10 * time.Millisecond)
			require.NoError(t, r.Release(t.Context()))
		}
		writer := requireGot(t, written)
		requireOpen(t, read, "it writes")
		require.NoError(t, writer.Release(t.Context()))
		require.NoError(t, requireGot(t, read).Release(t.Context()))
		require.LessOrEqual(t, late.Stats().Retries, uint64(2), "when the writer had the name, and when it left")
	})
}

func TestReaderThatLeavesTakesNothingAlong(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		ctx, leave := context.WithCancel(t.Context())
		asking := goAcquireShared(ctx, e, 0)
		leave()
		require.ErrorIs(t, (<-asking).err, context.Canceled)
		requireNothingLeft(t, e, s)

		first := mustAcquireShared(t, e, "name", 0)
		ctx, leave = context.WithCancel(t.Context())
		writer, reader := goAcquire(ctx, e, 0), goAcquireShared(ctx, e, 0)
		leave()
		require.ErrorIs(t, (<-writer).err, context.Canceled)
		require.ErrorIs(t, (<-reader).err, context.Canceled)
		require.NoError(t, first.Release(t.Context()))
		requireNothingLeft(t, e, s)
		require.NoError(t, e.Close())
		_, err := e.AcquireShared(t.Context(), "name", 0)
		require.ErrorIs(t, err, ErrClosed)
	})
}
