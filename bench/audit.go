package bench

import (
	"math"
	"sync/atomic"
	"time"
)

// audit watches every hold of a run for a second holder of the same name. A hold
// is the interval from Acquire's return to the end of its validity or the call of
// Release, whichever comes first, on the run's monotonic clock.
//
// One slot per name holds the stamp of its holder: end of validity, and the
// worker, so that a stamp is unique among live holds. enter swaps its stamp in; if the old one is neither
// cleared nor past, two held at once. leave clears the slot, but only of its own
// stamp. leave comes before the call of Release, so a correct lock's next holder
// always finds the slot clear.
//
// It may miss an overlap that follows another on the same name (the slot has
// room for one holder), never all of them, and does not report one that is none.
type audit struct {
	slots    []atomic.Int64
	stride   int // slots from one name to the next
	overlaps atomic.Int64
}

// A stamp is the end of validity in whole microseconds (rounded down: a hold
// seems shorter, never longer) above the worker's number.
const (
	workerBits = 20
	forever    = math.MaxInt64 >> workerBits // microseconds
)

// spreadNames is up to how many names have a cache line each; among more,
// neighbours rarely meet.
const spreadNames = 1 << 16

func newAudit(names int) *audit {
	a := &audit{stride: 1}
	if names <= spreadNames {
		a.stride = 8
	}
	a.slots = make([]atomic.Int64, names*a.stride)
	return a
}

// enter notes that worker has held key since acquired, until the given times on
// the clock now. It returns the stamp for leave. A hold that was over before
// it began is not one; a zero stamp.
func (a *audit) enter(key, worker int, acquired, until int64, now func() int64) int64 {
	if until <= acquired {
		return 0
	}
	stamp := min(until/1000, forever)<<workerBits | int64(worker)
	slot := &a.slots[key*a.stride]
	old := slot.Swap(stamp)
	if old>>workerBits <= acquired/1000 {
		return stamp
	}
	// The old hold seems to last. If this goroutine was not run between Acquire's
	// return and the swap for so long that its own lease ended, the old hold may
	// be a rightful successor's: put it back.
	if now() >= until {
		slot.CompareAndSwap(stamp, old)
		return 0
	}
	a.overlaps.Add(1)
	return stamp
}

// leave notes that the holder is about to call Release.
func (a *audit) leave(key int, stamp int64) {
	if stamp != 0 {
		a.slots[key*a.stride].CompareAndSwap(stamp, 0)
	}
}

// untilNs puts the end of a validity on the clock that began at base. The zero
// time is a lock that does not end by itself.
func untilNs(base, until time.Time) int64 {
	if until.IsZero() {
		return math.MaxInt64
	}
	return int64(until.Sub(base))
}
