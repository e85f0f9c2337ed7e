package engine

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func measured(c *Config) { c.Measure = true }

func TestEveryTimeLiesInABucketOfASixteenth(t *testing.T) {
	times := []time.Duration{0, 1, 15, 16, 17, 31, 32, 33, 34, 63, 64, time.Second, math.MaxInt64 - 1, math.MaxInt64}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 10_000 {
		times = append(times, time.Duration(rng.Int64()>>rng.IntN(63)))
	}
	for _, d := range times {
		b := bucketOf(d)
		require.Less(t, b, bucketCount)
		require.LessOrEqual(t, d, mostIn(b))
		require.True(t, b == 0 || mostIn(b-1) < d, "%d is in the lowest bucket that holds it", d)
		require.True(t, mostIn(b) == d || float64(mostIn(b)-d) < float64(mostIn(b))/16, "%d", d)
	}
}

// inMeasuredBubble is inBubble with all that is measured but pauses, whose thread knows no
// virtual time.
func inMeasuredBubble(t *testing.T, test func(t *testing.T, e *Engine, s *scripted)) {
	t.Helper()
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		e.record.measure = newMeasures()
		test(t, e, s)
	})
}

// took returns the times one by one.
func took(d Durations) (all []time.Duration) {
	for _, one := range d.Longest {
		all = append(all, one.Took)
	}
	return all
}

func TestHoldsAreFromAcquireToRelease(t *testing.T) {
	inMeasuredBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		hold := func(d time.Duration) {
			lock := mustAcquire(t, e, "name", 0)
			time.Sleep(d)
			_ = lock.Release(t.Context())
		}
		hold(70 * time.Millisecond)
		hold(time.Minute) // the lease ran out meanwhile
		lock := mustAcquire(t, e, "name", 0)
		time.Sleep(time.Second)
		m := e.Measured()
		require.Equal(t, []time.Duration{70 * time.Millisecond, time.Minute}, took(m.Holds), "and not the one that lasts")
		require.EqualValues(t, 2, m.Holds.Count)
		require.Equal(t, []Bucket{{mostIn(bucketOf(70 * time.Millisecond)), 1}, {mostIn(bucketOf(time.Minute)), 1}}, m.Holds.Buckets)
		require.Equal(t, 71*time.Millisecond, m.Holds.Longest[0].At, "when it was released")
		require.Equal(t, time.Minute+time.Second+75*time.Millisecond, m.Span) // three acquires and two releases took a ms each
		require.NoError(t, lock.Release(t.Context()))
		require.ErrorIs(t, lock.Release(t.Context()), ErrNotHeld)
		require.EqualValues(t, 3, e.Measured().Holds.Count, "once")
	})
}

// A lock that is renewed needs no lease as long as its hold, so its hold counts apart.
func TestLocksThatAreRenewedAreApart(t *testing.T) {
	inMeasuredBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		acquire := func(ttl time.Duration) *Lock {
			lock := mustAcquire(t, e, fmt.Sprint("name", ttl, time.Now()), ttl)
			return lock
		}
		short, kept, extended, leader := acquire(0), acquire(0), acquire(time.Second), acquire(0)
		require.NoError(t, short.KeepAlive(0))
		require.NoError(t, kept.KeepAlive(0))
		require.NoError(t, leader.KeepAlive(0))
		require.NoError(t, extended.Extend(t.Context(), 20*time.Second))
		require.NoError(t, short.Release(t.Context()))
		time.Sleep(15 * time.Second)
		require.NoError(t, kept.Release(t.Context()))
		require.NoError(t, extended.Release(t.Context()))
		m := e.Measured()
		require.Len(t, took(m.Holds), 1, "released before its first renewal")
		require.Less(t, m.Holds.Longest[0].Took, time.Second)
		require.Len(t, took(m.RenewedHolds), 2)
		require.GreaterOrEqual(t, m.RenewedHolds.Longest[0].Took, 15*time.Second)
		require.EqualValues(t, 3, m.Renewed, "the leader's is not released")
		require.Equal(t, 20*time.Second, m.LongestTTL)
		require.Equal(t, 30*time.Second, m.MaxTTL, "the default")
		require.NoError(t, leader.Release(t.Context()))
	})
}

func TestAcquiresAreOfTheAttemptThatWins(t *testing.T) {
	inMeasuredBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		s.set(func() { s.away = true })
		_, err := e.TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, ErrNoQuorum)
		s.set(func() { s.away, s.delay = false, 5*time.Millisecond })
		lock := mustAcquire(t, e, "name", 0)
		require.Equal(t, []time.Duration{5 * time.Millisecond}, took(e.Measured().Acquires))

		next := make(chan error)
		go func() {
			lock, err := e.Acquire(t.Context(), "name", 0)
			next <- errors.Join(err, lock.Release(t.Context()))
		}()
		time.Sleep(10 * time.Millisecond)
		require.NoError(t, lock.Release(t.Context()))
		require.NoError(t, <-next)
		m := e.Measured()
		require.EqualValues(t, 1, e.Stats().HandedOver)
		require.Equal(t, []time.Duration{5 * time.Millisecond}, took(m.Acquires))
		require.Equal(t, []time.Duration{15 * time.Millisecond}, took(m.HandOvers), "with less left")
		require.Equal(t, []time.Duration{0, 10 * time.Millisecond}, slices.Sorted(slices.Values(took(m.Holds))))
	})
}

func TestTheLongestStayOneByOneHoweverManyThereAre(t *testing.T) {
	var d durations
	for i := range time.Duration(100_000) {
		d.add(i, i*7919%100_000)
	}
	s := d.snapshot()
	require.EqualValues(t, 100_000, s.Count)
	got := slices.Sorted(slices.Values(took(s)))
	require.Less(t, len(got), 2001)
	require.Greater(t, len(got), 999)
	for i, one := range got {
		require.EqualValues(t, 100_000-len(got)+i, one, "all from one length on")
	}
	require.Equal(t, got[0], s.LongestFrom)
	require.True(t, slices.IsSortedFunc(s.Longest, func(a, b Moment) int { return int(a.At - b.At) }))
}

func TestNothingIsMeasuredUnlessItIsAskedFor(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, _ *scripted) {
		require.NoError(t, mustAcquire(t, e, "name", 0).Release(t.Context()))
		require.Nil(t, e.record.measure)
		require.Zero(t, e.Measured())
	})
}
