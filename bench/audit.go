package bench

import (
	"math"
	"sync/atomic"
	"time"
)

// audit watches every hold of a run for a second holder of the same name, and for a fence
// that is not larger than that of the hold before. A hold is the interval from Acquire's
// return to the end of its validity or the call of Release, whichever comes first, on the
// run's monotonic clock.
//
// One word per name holds the stamp of its holder, which is unique among live holds. enter
// swaps its stamp in; if the old one is neither cleared nor past, two held at once. leave
// clears no stamp but its own, and before the call of Release, so a correct lock's next
// holder always finds the word clear.
//
// A second word has the fence of the name's last hold that had one. Holds of a correct
// lock enter in the order in which they were acquired, as long as they are valid.
//
// It may miss an overlap that follows another on the same name (the word has
// room for one holder), never all of them, and does not report one that is none.
type audit struct {
	*table
	overlaps atomic.Int64
	stale    atomic.Int64 // holds whose fence is not larger than that before
}

// A stamp is the end of validity in whole microseconds (rounded down: a hold
// seems shorter, never longer) above the worker's number.
const (
	workerBits = 20
	forever    = math.MaxInt64 >> workerBits // microseconds
)

func newAudit(t *table) *audit { return &audit{table: t} }

// enter notes that worker has held key since acquired, until the given times on
// the clock now, with a fence. It returns the stamp for leave. A hold that was over before
// it began is not one; a zero stamp.
func (a *audit) enter(key, worker int, acquired, until int64, fence uint64, now func() int64) int64 {
	if until <= acquired {
		return 0
	}
	stamp := min(until/1000, forever)<<workerBits | int64(worker)
	slot, last := a.holder(key), a.fence(key)
	old, before := slot.Swap(stamp), int64(0)
	if fence > 0 {
		before = last.Swap(int64(fence))
	}
	overlaps, stale := old>>workerBits > acquired/1000, before > 0 && before >= int64(fence)
	if !overlaps && !stale {
		return stamp
	}
	// Another seems to hold it, or to have come after this one. If this goroutine was not run
	// between Acquire's return and the swap for so long that its own lease ended, the other
	// may be a rightful successor: put its words back.
	if now() >= until {
		slot.CompareAndSwap(stamp, old)
		last.CompareAndSwap(int64(fence), before)
		return 0
	}
	if overlaps {
		a.overlaps.Add(1)
	}
	if stale {
		a.stale.Add(1)
	}
	if a.stride == lineWords {
		a.firstViolation(key).CompareAndSwap(0, acquired+1)
	}
	return stamp
}

// renew notes that the holder's validity ends later. It returns the new stamp; that
// of a hold which has been overwritten stays as it is.
func (a *audit) renew(key int, stamp, until int64) int64 {
	next := min(until/1000, forever)<<workerBits | stamp&(1<<workerBits-1)
	if stamp == 0 || !a.holder(key).CompareAndSwap(stamp, next) {
		return stamp
	}
	return next
}

// leave notes that the holder is about to call Release. It is false when that
// gives the lock to nobody: it had run out, or had been another's.
func (a *audit) leave(key int, stamp, now int64) bool {
	return stamp != 0 && a.holder(key).CompareAndSwap(stamp, 0) && stamp>>workerBits > now/1000
}

// untilNs puts the end of a validity on the clock that began at base. The zero
// time is a lock that does not end by itself.
func untilNs(base, until time.Time) int64 {
	if until.IsZero() {
		return math.MaxInt64
	}
	return int64(until.Sub(base))
}
