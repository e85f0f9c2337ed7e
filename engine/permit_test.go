package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine/internal/inside"
	"muxlock/internal/limits"
	"muxlock/pipeline"
)

func mustPermit(t testing.TB, e *Engine, name string, limit int) *Lock {
	t.Helper()
	l, err := e.AcquirePermit(context.Background(), name, limit, 0)
	require.NoError(t, err)
	return l
}

func keyOf(slot int, name string) string { return fmt.Sprint(inside.SlotPrefix, slot, ":", name) }

// holdSlots gives slots of a name to another process.
func (s *scripted) holdSlots(name string, d time.Duration, slots ...int) {
	s.set(func() {
		for _, i := range slots {
			s.keys[keyOf(i, name)] = scriptedKey{token: "of another process", ends: time.Now().Add(d)}
		}
	})
}

// upTo returns 0 to n-1.
func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

func TestWrongPermitIsRefusedBeforeAnythingIsSent(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		for _, limit := range []int{-1, 0, 65, 1 << 40} {
			for _, acquire := range []func(context.Context, string, int, time.Duration) (*Lock, error){e.AcquirePermit, e.TryAcquirePermit} {
				_, err := acquire(t.Context(), "a", limit, 0)
				require.ErrorIs(t, err, ErrInvalid)
				require.ErrorContains(t, err, fmt.Sprintf("limit %d is not between 1 and 64", limit))
			}
		}
		_, err := e.AcquirePermit(t.Context(), "", 1, 0)
		require.ErrorIs(t, err, ErrInvalid)
		_, err = e.AcquirePermit(t.Context(), "a", 1, time.Nanosecond)
		require.ErrorIs(t, err, ErrInvalid)
		require.ErrorIs(t, e.DoPermit(t.Context(), "a", 1, 0, nil), ErrInvalid)
		require.Zero(t, s.requests())
	})
}

func TestFreePermitTakesOneRoundTrip(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		var permits []*Lock
		for range 3 {
			begun := time.Now()
			permits = append(permits, mustPermit(t, e, "name", 10))
			require.Equal(t, time.Millisecond, time.Since(begun))
		}
		require.Equal(t, 3, s.count(pipeline.Acquire))
		for _, p := range permits {
			require.NoError(t, p.Release(t.Context()))
		}
		p := mustPermit(t, e, "name", 10)
		require.Equal(t, permits[0].Slot(), p.Slot(), "its home is asked for first")
		require.NoError(t, p.Release(t.Context()))
		requireNothingLeft(t, e, s)
	})
}

// Callers that come at once do not wait for each other while permits are free.
func TestPermitsAreAskedForSideBySide(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		begun := time.Now()
		var all sync.WaitGroup
		slots := make([]int, 20)
		for i := range slots {
			all.Go(func() { slots[i] = mustPermit(t, e, "name", limits.Permits).Slot() })
		}
		all.Wait()
		require.LessOrEqual(t, time.Since(begun), 2*time.Millisecond)
		slices.Sort(slots)
		require.Len(t, slices.Compact(slots), 20)
	})
}

// The last free slot is found, whichever it is, also with a short queue.
func TestTryAcquirePermitFindsTheLastFreeSlot(t *testing.T) {
	for queue, limit := range map[int]int{100: limits.Permits, limits.Permits: limits.Permits, 8: 16} {
		inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
			for free := range limit {
				name := fmt.Sprint("name", free)
				s.holdSlots(name, time.Hour, slices.DeleteFunc(upTo(limit), func(i int) bool { return i == free })...)
				p, err := e.TryAcquirePermit(t.Context(), name, limit, 0)
				require.NoError(t, err)
				require.Equal(t, free, p.Slot())
				_, err = e.TryAcquirePermit(t.Context(), name, limit, 0)
				require.ErrorIs(t, err, ErrTaken)
				require.NotErrorIs(t, err, errTakenHere, "it asked")
			}
			require.EqualValues(t, limit, e.Stats().Taken, "an attempt is one, also if it asks for some slots and then for all")
		}, func(c *Config) { c.Queue = queue })
	}
}

func TestReleasedPermitIsHandedOverInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		first := []*Lock{mustPermit(t, e, "name", 2), mustPermit(t, e, "name", 2)}
		order := make(chan int, 5)
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				p := mustPermit(t, e, "name", 2)
				order <- i
				time.Sleep(4 * time.Millisecond) // longer than the next one asks the masters, and may be overtaken
				require.True(t, p.Valid())
				require.NoError(t, p.Release(t.Context()))
			})
			time.Sleep(5 * time.Millisecond)
		}
		_, err := e.TryAcquirePermit(t.Context(), "name", 2, 0)
		require.ErrorIs(t, err, errTakenHere)
		// What was held for long is released at the masters; a fresh one is handed over.
		asked := s.count(pipeline.Acquire)
		require.NoError(t, first[1].Release(t.Context()))
		all.Wait()
		require.Equal(t, []int{0, 1, 2, 3, 4}, []int{<-order, <-order, <-order, <-order, <-order})
		require.GreaterOrEqual(t, e.Stats().HandedOver, uint64(4))
		require.LessOrEqual(t, s.count(pipeline.Acquire), asked+2, "nobody asks for what is handed over")
		require.NoError(t, first[0].Release(t.Context()))
		requireNothingLeft(t, e, s)
	})
}

// A contender that is handed a permit while it waits does not ask for another.
func TestWaitingContenderIsHandedAPermit(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		s.holdSlots("name", time.Hour, 0)
		mine := mustPermit(t, e, "name", 2)
		require.Empty(t, mine.Reveal())
		got := make(chan *Lock, 1)
		go func() { got <- mustPermit(t, e, "name", 2) }()
		time.Sleep(3 * time.Millisecond)
		released := s.count(pipeline.Release)
		require.NoError(t, mine.Release(t.Context()))
		p := <-got
		require.Empty(t, p.Reveal())
		require.Equal(t, 1, p.Slot())
		require.EqualValues(t, 1, e.Stats().HandedOver)
		require.Equal(t, released, s.count(pipeline.Release))
		require.NoError(t, p.Release(t.Context()))
		s.drop(keyOf(0, "name"))
		requireNothingLeft(t, e, s)
	}, func(c *Config) { c.RetryHeld = time.Second })
}

func TestPermitReleasedAtTheMastersWakesWhoWaitsHere(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		var mine []*Lock
		for range 8 {
			mine = append(mine, mustPermit(t, e, "name", 8))
		}
		for i := range 20 {
			got := make(chan *Lock, 1)
			go func() { got <- mustPermit(t, e, "name", 8) }()
			time.Sleep(time.Second)
			require.NoError(t, mine[i%8].Release(t.Context()))
			begun := time.Now()
			mine[i%8] = <-got
			require.LessOrEqual(t, time.Since(begun), 2*time.Millisecond)
		}
		require.Zero(t, e.Stats().HandedOver)
		for _, p := range mine {
			require.NoError(t, p.Release(t.Context()))
		}
		requireNothingLeft(t, e, s)
	}, func(c *Config) { c.HandOverTime, c.RetryHeld, c.TTL = 1, time.Minute, time.Hour; c.MaxTTL = time.Hour })
}

// Another process releases a permit, or dies with it.
func TestPermitOfAnotherProcessIsWaitedFor(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		for _, limit := range []int{1, 3, 20} {
			for _, dies := range []bool{false, true} {
				ends := time.Hour
				if dies {
					ends = 10 * time.Second
				}
				s.holdSlots("name", ends, upTo(limit)...)
				got := make(chan *Lock, 1)
				go func() { got <- mustPermit(t, e, "name", limit) }()
				time.Sleep(time.Second)
				require.Empty(t, got)
				if dies {
					time.Sleep(9 * time.Second)
				} else {
					s.drop(keyOf(limit/2, "name"))
				}
				begun := time.Now()
				p := <-got
				require.Less(t, time.Since(begun), 2*time.Second)
				require.NoError(t, p.Release(t.Context()))
				s.set(func() { clear(s.keys) })
				requireNothingLeft(t, e, s)
			}
		}
	})
}

func TestPollsForPermitsBecomeRarer(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		s.holdSlots("name", time.Hour, upTo(8)...)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		_, err := e.AcquirePermit(ctx, "name", 8, 0)
		require.ErrorIs(t, err, ErrTaken)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		requests, _ := s.history()
		require.InDelta(t, 600/0.2, float64(len(requests)), 600, "each attempt is undone")
		require.InDelta(t, e.Stats().Taken, e.Stats().Retries, 1)
		s.set(func() { clear(s.keys) })
		requireNothingLeft(t, e, s)
	})
}

// A permit is handed over at the moment at which its taker leaves.
func TestPermitHandedToOneWhoLeavesGoesToTheNext(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		for range 50 {
			mine := mustPermit(t, e, "name", 1)
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for i := range 4 {
				all.Go(func() {
					ctx := ctx
					if i == 3 {
						ctx = t.Context()
					}
					p, err := e.AcquirePermit(ctx, "name", 1, 0)
					if err == nil {
						require.NoError(t, p.Release(t.Context()))
					} else {
						require.ErrorIs(t, err, context.Canceled)
					}
				})
				time.Sleep(time.Millisecond)
			}
			go cancel()
			require.NoError(t, mine.Release(t.Context()))
			all.Wait()
			requireNothingLeft(t, e, s)
		}
	})
}

func TestPermitsThatMeetCloseLeaveNoKey(t *testing.T) {
	for after := range 30 {
		inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					_, err := e.AcquirePermit(t.Context(), "name", 3, 0)
					require.True(t, err == nil || errors.Is(err, ErrClosed), err)
					if err == nil {
						s.set(func() { clear(s.keys) }) // it was there before Close
					}
				})
			}
			time.Sleep(time.Duration(after) * 100 * time.Microsecond)
			require.NoError(t, e.Close())
			all.Wait()
			time.Sleep(time.Second)
			require.Empty(t, s.locked())
		})
	}
}

// A permit is released by force, and another caller of the process gets its slot before the holder knows.
func TestSlotThatWasReleasedByForceIsNotGivenOutTwiceHere(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		mine := mustPermit(t, e, "name", 1)
		s.drop(keyOf(0, "name"))
		_, err := e.TryAcquirePermit(t.Context(), "name", 1, 0)
		require.ErrorIs(t, err, ErrTaken)
		require.ErrorIs(t, mine.Extend(t.Context(), 0), ErrLost)
		p, err := e.TryAcquirePermit(t.Context(), "name", 1, 0)
		require.NoError(t, err)
		require.ErrorIs(t, mine.Release(t.Context()), ErrNotHeld)
		require.True(t, p.Valid())
		require.NoError(t, p.Release(t.Context()))
		requireNothingLeft(t, e, s)
	})
}

func TestEachSlotHasItsFences(t *testing.T) {
	overFencedFakes(t, func(t *testing.T, f *fencedFakes) {
		last := make(map[int]uint64)
		for range 3 {
			var permits []*Lock
			for range 10 {
				p := mustPermit(t, f.e, "name", 10)
				require.Greater(t, p.Fence(), last[p.Slot()])
				last[p.Slot()] = p.Fence()
				permits = append(permits, p)
			}
			require.Len(t, last, 10)
			for _, p := range permits {
				require.NoError(t, p.Release(t.Context()))
			}
		}
		var keys []string
		for i := range 10 {
			keys = append(keys, keyOf(i, "name"))
		}
		synctest.Wait()                    // all masters have all releases
		raised := f.e.Stats().FencesRaised // where one was behind
		f.spread(keys, 500*time.Millisecond)
		p := mustPermit(t, f.e, "name", 10)
		require.Greater(t, p.Fence(), last[p.Slot()])
		require.Equal(t, raised+1, f.e.Stats().FencesRaised)
		require.NoError(t, p.Release(t.Context()))
	})
}

// A caller won the slot before the release of it was answered: a bare quorum was enough.
func TestSlotThatIsWonBeforeItsReleaseIsAnsweredIsThatOfItsHolder(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		first := mustPermit(t, e, "name", 1)
		got := make(chan *Lock, 1)
		go func() { got <- mustPermit(t, e, "name", 1) }()
		time.Sleep(50 * time.Millisecond) // longer than a hand-over may take
		s.drop(keyOf(0, "name"))
		r := release{lock: first, began: first.lock()}
		require.NoError(t, r.beginLocked())
		req := r.handOverLocked()
		first.unlock()
		second := <-got
		out, err := e.masters.pipe.Do(t.Context(), req)
		_ = r.end(t.Context(), &req, &out, err)
		require.True(t, second.Valid())
		require.NoError(t, e.Close())
		<-second.Done()
		require.ErrorIs(t, second.Err(), ErrClosed)
	})
}

func TestSlotAboveTheLimitOfAWaiterIsNotHandedToIt(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		s.holdSlots("name", time.Minute, upTo(7)...)
		mine := mustPermit(t, e, "name", 8)
		require.Equal(t, 7, mine.Slot())
		got := make(chan *Lock, 1)
		go func() { got <- mustPermit(t, e, "name", 2) }()
		time.Sleep(5 * time.Millisecond)
		require.NoError(t, mine.Release(t.Context()))
		require.Less(t, (<-got).Slot(), 2)
	})
}

func TestBurstOfCallersAsksForNoMorePermitsThanThereAre(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		var all sync.WaitGroup
		for range 500 {
			all.Go(func() {
				require.NoError(t, mustPermit(t, e, "name", 8).Release(t.Context()))
			})
		}
		synctest.Wait()
		require.LessOrEqual(t, s.requests(), 9*8)
		all.Wait()
		requireNothingLeft(t, e, s)
	})
}

func TestPermitErrorSaysWhatThisProcessKnows(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		s.holdSlots("name", time.Hour, 0)
		want := func() (context.CancelFunc, <-chan error) {
			ctx, cancel := context.WithCancel(t.Context())
			got := make(chan error, 1)
			go func() { _, err := e.AcquirePermit(ctx, "name", 1, 0); got <- err }()
			time.Sleep(100 * time.Millisecond)
			return cancel, got
		}
		leave, first := want()
		leaveToo, second := want()
		leave()
		require.ErrorIs(t, <-first, ErrTaken)
		time.Sleep(500 * time.Microsecond) // the second one's first attempt is under way
		leaveToo()
		require.ErrorIs(t, <-second, ErrTaken)
	})
}

func TestPermitReleasedWhileTheContenderAsksIsNotOverlooked(t *testing.T) {
	slow := 0
	for range 20 {
		inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
			var mine []*Lock
			for range 8 {
				mine = append(mine, mustPermit(t, e, "name", 8))
			}
			time.Sleep(time.Second) // none is handed over
			s.set(func() { s.delay = 10 * time.Millisecond })
			got := make(chan *Lock, 1)
			go func() { got <- mustPermit(t, e, "name", 8) }()
			time.Sleep(6 * time.Millisecond) // it was refused, and will hear of that in 4 ms
			s.set(func() { s.delay = time.Millisecond })
			require.NoError(t, mine[0].Release(t.Context()))
			begun := time.Now()
			if mine[0] = <-got; time.Since(begun) > time.Second {
				slow++
			}
			for _, p := range mine {
				require.NoError(t, p.Release(t.Context()))
			}
		}, func(c *Config) { c.RetryHeld, c.TTL, c.MaxTTL = time.Minute, time.Hour, time.Hour })
	}
	require.Zero(t, slow, "of 20 waited for a poll although a permit was free")
}
