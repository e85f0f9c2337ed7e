package engine

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/pipeline"
)

// This file is about a writer that comes back to a name where it met readers.

// A meeting is of a writer here and readers elsewhere.
type meeting struct {
	e, elsewhere *Engine
	s            *scripted
}

// inMeeting runs fn in a bubble, after e has kept readers of "name" out for longer than it will leave it to them.
func inMeeting(t *testing.T, fn func(t *testing.T, m meeting)) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		m := meeting{e, newEngine(Config{Masters: make([]string, 5)}.withDefaults(), s, new(record)), s}
		defer m.elsewhere.Close()
		m.write(t, 2*intendAfter, intendAfter)
		fn(t, m)
	})
}

// write has the writer ask for the name meanwhile a reader has it, which stays for a while after the writer has asked again.
// It returns what was asked, and when the writer left.
func (m meeting) write(t *testing.T, meanwhile, stays time.Duration) (ops []pipeline.Op, left time.Time) {
	reader, before := mustAcquireShared(t, m.elsewhere, "name", 0), len(m.s.ops())
	written := goAcquire(t.Context(), m.e, 0)
	reads(t, reader, meanwhile, stays)
	writer := requireGot(t, written)
	left = time.Now()
	require.NoError(t, writer.Release(t.Context()))
	return m.s.ops()[before:], left
}

// reads has a reader go on meanwhile a writer waits, and stay for a while after the writer has asked again.
func reads(t *testing.T, reader *Lock, meanwhile, stays time.Duration) {
	time.Sleep(meanwhile)
	require.NoError(t, reader.Extend(t.Context(), 0)) // so that the writer asks again
	time.Sleep(stays)
	require.NoError(t, reader.Release(t.Context()))
}

// intended returns when an intent was executed after the first so many requests.
func (m meeting) intended(t *testing.T, from int) time.Time {
	i := slices.Index(m.s.ops()[from:], pipeline.Intend)
	require.GreaterOrEqual(t, i, 0, "an intent")
	return m.s.when[from+i]
}

func TestWriterThatMetReadersKeepsThemOutAtOnceTheNextTime(t *testing.T) {
	inMeeting(t, func(t *testing.T, m meeting) {
		time.Sleep(time.Second)
		ops, _ := m.write(t, 2*intendAfter, intendAfter)
		require.Equal(t, []pipeline.Op{pipeline.Intend, pipeline.Acquire}, ops[:2])
		require.NoError(t, mustAcquire(t, m.e, "name", 0).Release(t.Context()))
		before := len(m.s.ops())
		require.NoError(t, mustAcquire(t, m.e, "name", 0).Release(t.Context()))
		require.Equal(t, []pipeline.Op{pipeline.Acquire, pipeline.Release}, m.s.ops()[before:], "it met none the last time")
	})
}

func TestWriterThatComesBackLeavesReadersTheirTime(t *testing.T) {
	inMeeting(t, func(t *testing.T, m meeting) {
		left, before := time.Now(), len(m.s.ops())
		_, next := m.write(t, intendAfter, 4*time.Millisecond)
		begun := m.intended(t, before)
		require.InDelta(t, intendAfter, begun.Sub(left), float64(2*time.Millisecond), "it kept readers out for longer, but that is the most")
		keptOut := next.Sub(begun)
		require.Less(t, keptOut*3/2, intendAfter)

		before = len(m.s.ops())
		m.write(t, intendAfter, 4*time.Millisecond)
		require.InDelta(t, keptOut*3/2, m.intended(t, before).Sub(next), float64(2*time.Millisecond))

		require.NoError(t, mustAcquireShared(t, m.e, "name", 0).Release(t.Context()))
		time.Sleep(intendAfter)
		require.NoError(t, mustAcquireShared(t, m.e, "name", 0).Release(t.Context()))
		asked, before := time.Now(), len(m.s.ops())
		m.write(t, intendAfter, 4*time.Millisecond)
		require.Less(t, m.intended(t, before).Sub(asked), 4*time.Millisecond, "they had their time")
	})
}

func TestReadersOfTheWritersProcessHaveTheNameMeanwhile(t *testing.T) {
	inMeeting(t, func(t *testing.T, m meeting) {
		written, asked := goAcquire(t.Context(), m.e, 0), time.Now()
		reader, err := m.e.TryAcquireShared(t.Context(), "name", 0)
		require.NoError(t, err)
		require.Less(t, time.Since(asked), 4*time.Millisecond)
		require.NoError(t, reader.Release(t.Context()))
		require.NoError(t, requireGot(t, written).Release(t.Context()))
	})
}

func TestWriterWithoutThatMuchTimeAsksAtOnce(t *testing.T) {
	inMeeting(t, func(t *testing.T, m meeting) {
		ctx, cancel := context.WithTimeout(t.Context(), intendAfter/2)
		defer cancel()
		lock, err := m.e.Acquire(ctx, "name", 0)
		require.NoError(t, err)
		require.NoError(t, lock.Release(t.Context()))
	})
}

func TestWriterThatIsCancelledMeanwhileSaysThatTheNameIsTaken(t *testing.T) {
	inMeeting(t, func(t *testing.T, m meeting) {
		ctx, cancel := context.WithCancel(t.Context())
		written := goAcquire(ctx, m.e, 0)
		cancel()
		got := <-written
		require.ErrorIs(t, got.err, ErrTaken)
		require.ErrorIs(t, got.err, context.Canceled)
		require.NoError(t, mustAcquire(t, m.e, "name", 0).Release(t.Context()))
	})
}

// Who makes one attempt waits for nobody, and meets nobody.
func TestOneAttemptIsNoReasonToForgetReaders(t *testing.T) {
	inMeeting(t, func(t *testing.T, m meeting) {
		asked := time.Now()
		lock, err := m.e.TryAcquire(t.Context(), "name", 0)
		require.NoError(t, err)
		require.Less(t, time.Since(asked), 4*time.Millisecond)
		require.NoError(t, lock.Release(t.Context()))
		left, before := time.Now(), len(m.s.ops())
		require.NoError(t, mustAcquire(t, m.e, "name", 0).Release(t.Context()))
		require.InDelta(t, intendAfter, m.intended(t, before).Sub(left), float64(2*time.Millisecond))
	})
}

func TestSetDoesNotTakeReadersOfOneNameForThoseOfAnother(t *testing.T) {
	inMeeting(t, func(t *testing.T, m meeting) {
		reader := mustAcquireShared(t, m.elsewhere, "name", 0)
		got := make(chan *Set)
		go func() {
			set, _ := m.e.AcquireAll(context.Background(), []string{"name", "other"}, 0)
			got <- set
		}()
		reads(t, reader, 2*intendAfter, intendAfter)
		require.NoError(t, (<-got).Release(t.Context()))
		before := len(m.s.ops())
		require.NoError(t, mustAcquire(t, m.e, "other", 0).Release(t.Context()))
		require.Equal(t, []pipeline.Op{pipeline.Acquire, pipeline.Release}, m.s.ops()[before:])
	})
}

func TestSetLeavesNoIntentAtANameThatKeepsItNoMore(t *testing.T) {
	inMeeting(t, func(t *testing.T, m meeting) {
		a, b := mustAcquireShared(t, m.elsewhere, "a", 0), mustAcquireShared(t, m.elsewhere, "b", 0)
		got := make(chan *Set)
		go func() {
			set, _ := m.e.AcquireAll(context.Background(), []string{"a", "b"}, 0)
			got <- set
		}()
		for _, reader := range []*Lock{a, b} { // the set is kept by one after the other
			reads(t, reader, 2*intendAfter, intendAfter)
		}
		require.NoError(t, (<-got).Release(t.Context()))
		synctest.Wait()
		for _, name := range []string{"a", "b"} {
			lock, err := m.elsewhere.TryAcquireShared(t.Context(), name, 0)
			require.NoError(t, err, name)
			require.NoError(t, lock.Release(t.Context()))
		}
	})
}

// A lease that was lost was not released. Bubbles begin long before the clock of this machine did.
func TestWriterThatLostItsLockLeavesReadersNoMoreTime(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		elsewhere := newEngine(Config{Masters: make([]string, 5)}.withDefaults(), s, new(record))
		defer elsewhere.Close()
		reader := mustAcquireShared(t, elsewhere, "name", 0)
		written := goAcquire(t.Context(), e, time.Second)
		reads(t, reader, 2*intendAfter, intendAfter)
		lost := requireGot(t, written)
		<-lost.Done()
		asked := time.Now()
		require.NoError(t, mustAcquire(t, e, "name", 0).Release(t.Context()))
		require.Less(t, time.Since(asked), intendAfter)
		require.ErrorIs(t, lost.Release(t.Context()), ErrNotHeld)
	})
}

// The reader finds a writer at some masters only, so that it looks as if others had split the vote.
func TestReaderThatSomeMastersLetInWaitsForTheWriter(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		other := newEngine(e.cfg, bareQuorum{s}, new(record))
		defer other.Close()
		lock := mustAcquire(t, e, "name", 0)
		reading := goAcquireShared(t.Context(), other, 0)
		time.Sleep(3 * time.Second)
		require.LessOrEqual(t, s.count(pipeline.Acquire), 5, "it asks now and then, whether readers have followed the writer")
		require.NoError(t, lock.Release(t.Context()))
		require.NoError(t, requireGot(t, reading).Release(t.Context()))
	})
}
