package engine

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
	"muxlock/internal/redlock"
	"muxlock/pipeline"
)

const third = lease10 / redlock.RenewalsPerTTL

// keptAlive acquires the lock "name" for ten seconds and keeps it alive.
func keptAlive(t *testing.T, e *Engine) *Lock {
	t.Helper()
	lock := mustAcquire(t, e, "name", 0)
	require.NoError(t, lock.KeepAlive(0))
	return lock
}

// requireLostAt waits until the lock is lost and checks that this is at the given time.
func requireLostAt(t *testing.T, lock *Lock, at time.Time, causes ...error) {
	t.Helper()
	<-lock.Done()
	require.Zero(t, time.Since(at))
	require.False(t, lock.Valid())
	for _, cause := range append(causes, ErrLost) {
		require.ErrorIs(t, lock.Err(), cause)
	}
}

func TestRenewalsKeepALockForAnHour(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := keptAlive(t, e)
		last := time.Now()
		time.Sleep(time.Hour)
		require.True(t, lock.Valid())
		require.InDelta(t, time.Hour/third, s.count(pipeline.Extend), 2)
		requests, when := s.history()
		for i, at := range when[1:] {
			require.Equal(t, pipeline.Extend, requests[i+1].Op)
			require.Equal(t, lease10, requests[i+1].TTL)
			require.InDelta(t, third, at.Sub(last), float64(10*time.Millisecond))
			last = at
		}
		require.EqualValues(t, s.count(pipeline.Extend), e.Stats().Renewed)
		require.Zero(t, e.Stats().RenewalsFailed)
		require.NoError(t, lock.Release(t.Context()))
		requireNothingLeft(t, e, s)
	})
}

func TestRenewalsThatAreDueAtAboutTheSameTimeAreSentTogether(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		for i := range 100 {
			require.NoError(t, mustAcquire(t, e, string(rune('a'+i)), 0).KeepAlive(0)) // one a millisecond
		}
		time.Sleep(third)
		moments := make(map[time.Time]int)
		requests, when := s.history()
		for i, req := range requests {
			if req.Op == pipeline.Extend {
				moments[when[i]]++
			}
		}
		require.Equal(t, 100, s.count(pipeline.Extend))
		require.LessOrEqual(t, len(moments), 100/4, "a few milliseconds' worth at a time")
	})
}

func TestKeepAliveOfALockThatIsNotHeldOrWithABadBound(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		require.ErrorIs(t, lock.KeepAlive(-1), ErrInvalid)
		require.ErrorIs(t, lock.WarnBefore(0, func() {}), ErrInvalid)
		time.Sleep(lease10 / 2)
		require.Equal(t, 1, s.requests(), "nothing is kept")
		require.NoError(t, lock.Release(t.Context()))
		require.ErrorIs(t, lock.KeepAlive(0), ErrNotHeld)
		require.NotErrorIs(t, lock.KeepAlive(0), ErrLost)
		require.ErrorIs(t, lock.WarnBefore(1, func() {}), ErrNotHeld)

		lost := mustAcquire(t, e, "name", 0)
		time.Sleep(lease10)
		require.ErrorIs(t, lost.KeepAlive(0), ErrLost)
		require.ErrorIs(t, lost.KeepAlive(0), ErrExpired)
		time.Sleep(time.Minute)
		require.Zero(t, s.count(pipeline.Extend))
	})
}

func TestReleaseEndsRenewals(t *testing.T) {
	for name, after := range map[string]time.Duration{"between them": 5 * time.Second, "while one is under way": third + 60*time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
				lock := keptAlive(t, e)
				s.set(func() { s.delay = 100 * time.Millisecond })
				time.Sleep(after)
				require.NoError(t, lock.Release(t.Context()))
				require.ErrorIs(t, lock.Err(), ErrNotHeld)
				requireNothingLeft(t, e, s)
				time.Sleep(time.Minute)
				require.Equal(t, []pipeline.Op{pipeline.Acquire, pipeline.Extend, pipeline.Release}, s.ops())
				require.Zero(t, e.Stats().Lost)
				require.Equal(t, after > 4*time.Second, e.Stats().Renewed == 1, "an answer that came too late is nobody's")
			})
		})
	}
}

func TestLockIsLostAtTheEndOfValidityWhenMastersStayAway(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := keptAlive(t, e)
		held, cancel := lock.Context(t.Context())
		defer cancel()
		time.Sleep(5 * time.Second) // one renewal
		s.set(func() { s.away = true })
		end := lock.Until()
		time.Sleep(time.Until(end) - 1)
		require.True(t, lock.Valid())
		requireLostAt(t, lock, end, ErrExpired, ErrNoQuorum)
		require.NotErrorIs(t, lock.Err(), ErrNotHeld)
		synctest.Wait()
		require.ErrorIs(t, context.Cause(held), ErrNoQuorum)
		s.set(func() { s.away = false })
		before := s.requests()
		time.Sleep(time.Minute)
		require.ErrorIs(t, lock.Err(), ErrExpired, "final")
		require.Equal(t, before+1, s.requests(), "nobody asks any more; what was under way is undone")
		require.EqualValues(t, 1, e.Stats().Lost)
	})
}

func TestDeletedKeyIsALossAtTheNextRenewalAndIsNeverSetAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := keptAlive(t, e)
		begin := time.Now()
		time.Sleep(time.Second)
		s.drop("name")
		requireLostAt(t, lock, begin.Add(third+time.Millisecond), ErrNotHeld)
		require.NotErrorIs(t, lock.Err(), ErrExpired)
		require.ErrorIs(t, lock.Extend(t.Context(), 0), ErrLost)
		time.Sleep(time.Minute)
		require.Equal(t, []pipeline.Op{pipeline.Acquire, pipeline.Extend, pipeline.Release}, s.ops(), "a minority may have it still")
		requireNothingLeft(t, e, s)
	})
}

func TestRenewalUnderWayIsNotCreditedWithALongerExtendThatFails(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := keptAlive(t, e)
		begin := time.Now()
		s.set(func() { s.delay = 100 * time.Millisecond })
		time.Sleep(third + 20*time.Millisecond)
		extended := make(chan error, 1)
		go func() { extended <- lock.Extend(t.Context(), 25*time.Second) }()
		time.Sleep(40 * time.Millisecond) // the renewal is done at the masters, the extend is not
		s.set(func() { s.away = true })
		require.ErrorIs(t, <-extended, ErrNoQuorum)
		require.EqualValues(t, 1, e.Stats().Renewed)
		require.Equal(t, third+redlock.Validity(lease10, 0, redlock.DefaultDrift), lock.Until().Sub(begin))

		s.set(func() { s.away = false })
		require.NoError(t, lock.Release(t.Context()))
		requests, _ := s.history()
		require.Equal(t, 25*time.Second, requests[len(requests)-1].TTL, "a master may have taken the extend")
	})
}

func TestHolderIsWarnedWhenRenewalsFailAndNotOtherwise(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := keptAlive(t, e)
		var warned []time.Time
		warn := func() { warned = append(warned, time.Now()) }
		require.NoError(t, lock.WarnBefore(4*time.Second, func() { t.Error("replaced") }))
		require.NoError(t, lock.WarnBefore(3*time.Second, warn))
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Empty(t, warned)

		s.set(func() { s.away = true })
		time.Sleep(time.Until(lock.Until().Add(-3 * time.Second)))
		synctest.Wait()
		require.Equal(t, []time.Time{time.Now()}, warned)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Len(t, warned, 1, "once")
		s.set(func() { s.away = false })
		time.Sleep(2 * third)
		require.True(t, lock.Valid())
		s.set(func() { s.away = true })
		time.Sleep(time.Until(lock.Until()) - 1)
		synctest.Wait()
		require.Len(t, warned, 2, "again after a renewal")

		s.set(func() { s.away = false })
		lock = mustAcquire(t, e, "other", 0)
		require.NoError(t, lock.WarnBefore(3*time.Second, warn))
		require.NoError(t, lock.WarnBefore(3*time.Second, nil))
		<-lock.Done()
		synctest.Wait()
		require.Len(t, warned, 2, "no longer wanted")
	})
}

func TestWarningThatBlocksHoldsUpNoOtherLock(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := keptAlive(t, e)
		blocked := make(chan struct{})
		defer close(blocked)
		warned := mustAcquire(t, e, "other", 0)
		require.NoError(t, warned.WarnBefore(time.Second, func() { <-blocked }))
		time.Sleep(time.Minute)
		require.True(t, lock.Valid())
	})
}

func TestHolderIsWarnedAtOnceHoweverEarlyItWantsToBe(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", 0)
		warned := 0
		require.NoError(t, lock.WarnBefore(math.MaxInt64, func() { warned++ }))
		synctest.Wait()
		require.Equal(t, 1, warned)
	})
}

func TestHeldOnCountsTheMastersThatStillHaveTheLock(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := keptAlive(t, e)
		for _, yes := range []uint8{5, 3, 4} {
			s.set(func() { s.yes = yes })
			time.Sleep(third + 5*time.Millisecond)
			masters, total := lock.HeldOn()
			require.Equal(t, []int{int(yes), 5}, []int{masters, total})
		}
	})
}

// In real time: virtual time begins in the past, and does not overflow.
func TestLongestBoundIsNoBound(t *testing.T) {
	t.Parallel()
	s := &scripted{keys: make(map[string]scriptedKey)}
	e := newEngine(Config{Masters: make([]string, 5)}.withDefaults(), s, new(record))
	require.NoError(t, e.Do(t.Context(), "name", 3*time.Second, func(ctx context.Context) error {
		lock, _ := LockFrom(ctx)
		require.NoError(t, lock.KeepAlive(math.MaxInt64))
		for s.count(pipeline.Extend) == 0 {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(time.Millisecond):
			}
		}
		return nil
	}))
	require.NoError(t, e.Close())
}

func TestKeeperServesWhatRanOutInASuspendAtOnceAndOnce(t *testing.T) {
	k := &keeper{wakeup: make(chan struct{}, 1)}
	before := clock.Now()
	awake := before.AfterSuspend(time.Minute)
	old, fresh := &lease{}, &lease{}
	k.schedule(old, before.Add(lease10))
	k.schedule(fresh, awake.Add(time.Second))
	require.Equal(t, []*lease{old}, k.dueLocked(nil, awake), "fresh comes first by the monotonic clock")
	require.Empty(t, k.dueLocked(nil, awake))
	require.Equal(t, []*lease{fresh}, k.dueLocked(nil, awake.Add(time.Second)))
	require.Empty(t, k.leases)
}

// The process may be stopped while an instant is read: its two clocks are apart then, as they
// are after a suspend, and later ones are not.
func TestKeeperServesWhatIsDueByEitherClock(t *testing.T) {
	k := &keeper{wakeup: make(chan struct{}, 1)}
	now := clock.Now()
	for name, due := range map[string]clock.Instant{
		"monotonic": now.AfterSuspend(time.Minute),
		"boot":      now.Add(time.Minute).AfterSuspend(-time.Minute - 1),
	} {
		l := &lease{}
		k.schedule(l, due)
		require.Equal(t, []*lease{l}, k.dueLocked(nil, now), name)
	}
}

func TestKeeperSleepsForASecondAtMostWhileItHasLeases(t *testing.T) {
	k := &keeper{wakeup: make(chan struct{}, 1)}
	now := clock.Now()
	k.schedule(&lease{}, now.Add(lease10))
	require.Equal(t, time.Second, k.sleepLocked(now))
	require.Equal(t, 100*time.Millisecond, k.sleepLocked(now.Add(lease10-100*time.Millisecond)))
	require.Zero(t, k.sleepLocked(now.AfterSuspend(time.Minute)))
}
