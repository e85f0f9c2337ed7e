package bench

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ms = int64(time.Millisecond)

// shares is the audit of two names.
func shares(op Op) *audit {
	return &audit{newTable(Config{Keys: 2, Dist: Uniform(), Op: op})}
}

func at(ns int64) func() int64 { return func() int64 { return ns } }

func TestAuditSeesTwoAtOnce(t *testing.T) {
	a := shares(AcquireRelease)
	a.enter(0, 1, 10*ms, 100*ms, 0, at(10*ms))
	a.enter(1, 2, 20*ms, 100*ms, 0, at(20*ms)) // another name
	require.Zero(t, a.overlaps().Load())
	a.enter(0, 2, 50*ms, 150*ms, 0, at(50*ms))
	require.EqualValues(t, 1, a.overlaps().Load())
}

func TestAuditIsSilentAfterReleaseOrExpiry(t *testing.T) {
	a := shares(AcquireRelease)
	stamp := a.enter(0, 1, 10*ms, 100*ms, 0, at(10*ms))
	a.leave(0, stamp, 11*ms)
	a.enter(0, 2, 11*ms, 50*ms, 0, at(11*ms)) // never released
	a.enter(0, 3, 50*ms, 90*ms, 0, at(50*ms))
	require.Zero(t, a.overlaps().Load())
}

func TestAuditLetsALateLeaveTouchNobodyElse(t *testing.T) {
	a := shares(AcquireRelease)
	first := a.enter(0, 1, 0, 10*ms, 0, at(0))
	a.enter(0, 2, 10*ms, 100*ms, 0, at(10*ms))
	require.False(t, a.leave(0, first, 15*ms))
	a.enter(0, 3, 20*ms, 100*ms, 0, at(20*ms))
	require.EqualValues(t, 1, a.overlaps().Load())
}

func TestAuditForgivesAHolderThatSleptThroughItsLease(t *testing.T) {
	a := shares(AcquireRelease)
	// Worker 1 got the lock from 0 to 10 ms, but enters at 20 ms, when worker 2 rightly holds it.
	second := a.enter(0, 2, 12*ms, 100*ms, 0, at(12*ms))
	stamp := a.enter(0, 1, 0, 10*ms, 0, at(20*ms))
	require.Zero(t, stamp)
	require.Zero(t, a.overlaps().Load())
	// Worker 2 is still seen to hold it.
	a.enter(0, 3, 30*ms, 100*ms, 0, at(30*ms))
	require.EqualValues(t, 1, a.overlaps().Load())
	a.leave(0, second, 31*ms)
}

// Worker 2 leaves while worker 1 sees that it has slept through its lease.
func TestAuditRemembersNobodyWhoLeftWhileALateHolderLooked(t *testing.T) {
	a := shares(AcquireRelease)
	second := a.enter(0, 2, 12*ms, 100*ms, 0, at(12*ms))
	a.enter(0, 1, 0, 10*ms, 0, func() int64 {
		a.leave(0, second, 20*ms)
		return 20 * ms
	})
	a.enter(0, 3, 30*ms, 100*ms, 0, at(30*ms))
	require.Zero(t, a.overlaps().Load())
}

func TestAuditTakesNoUntilAsForever(t *testing.T) {
	a := shares(AcquireRelease)
	base := time.Now()
	require.EqualValues(t, math.MaxInt64, untilNs(base, time.Time{}))
	a.enter(0, 1, 0, untilNs(base, time.Time{}), 0, at(0))
	a.enter(0, 2, int64(time.Hour), int64(2*time.Hour), 0, at(int64(time.Hour)))
	require.EqualValues(t, 1, a.overlaps().Load())
}

func TestAuditIgnoresAHoldWithoutValidity(t *testing.T) {
	a := shares(AcquireRelease)
	a.enter(0, 1, 0, 100*ms, 0, at(0))
	require.Zero(t, a.enter(0, 2, 10*ms, 10*ms, 0, at(10*ms)))
	require.Zero(t, a.overlaps().Load())
}

func TestAuditIsSilentForCorrectLocksUnderRace(t *testing.T) {
	base := time.Now()
	now := func() int64 { return int64(time.Since(base)) }
	var lock sync.RWMutex
	permits := make(chan struct{}, 3)
	for op, hold := range map[Op]func(a *audit, worker, n int){
		AcquireRelease: func(a *audit, worker, _ int) {
			lock.Lock()
			defer lock.Unlock()
			a.leave(0, a.enter(0, worker, now(), math.MaxInt64, 0, now), now())
		},
		ReadWrite(75): func(a *audit, worker, n int) {
			if (worker+n)%4 == 0 {
				lock.Lock()
				defer lock.Unlock()
				a.leave(0, a.enter(0, worker, now(), math.MaxInt64, 0, now), now())
				return
			}
			lock.RLock()
			defer lock.RUnlock()
			a.leave(0, a.enterReader(0, worker, now(), math.MaxInt64, now), now())
		},
		Permit(cap(permits)): func(a *audit, worker, _ int) {
			permits <- struct{}{}
			a.leave(0, a.enterPermit(0, worker, now(), math.MaxInt64, now), now())
			<-permits
		},
	} {
		a := shares(op)
		var done sync.WaitGroup
		for worker := range 8 {
			done.Go(func() {
				for n := range 3000 {
					hold(a, worker, n)
				}
			})
		}
		done.Wait()
		require.Zero(t, a.overlaps().Load(), op)
	}
}
