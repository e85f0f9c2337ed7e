package bench

import (
	"math"
	"sync/atomic"
	"time"
)

// audit looks for two holders of one name at the same time, and for fences that do not grow.
// A hold begins when Acquire returns. It ends when its validity ends or Release is called,
// whichever comes first, on the run's monotonic clock.
//
// Each name has a word for the stamp of its holder. Stamps are unique among live holds. enter
// puts the new holder's stamp in; if the old one is neither cleared nor past, two held at
// once. leave clears only its own stamp, before Release is called, so the next holder of a
// correct lock finds the word clear.
//
// A second word has the fence of the name's last fenced hold. Valid holds of a correct lock
// enter in the order in which they were acquired. Each permit has such a word, too.
//
// The audit may miss an overlap that follows another on the same name, since the word has
// room for one holder. It never misses all of them, and never reports a false one. The same
// holds for holders that share a name, in slots.go.
//
// A holder that is killed keeps its word until its validity ends, and so counts until then.
type audit struct{ *table }

// A stamp has the worker's number in its low bits and the end of validity, in microseconds,
// above them. The end is rounded down: a hold seems shorter, never longer.
const (
	workerBits = 20
	forever    = math.MaxInt64 >> workerBits // microseconds
)

// enter notes that worker holds key from acquired to until, times on the clock now, with a
// fence. It returns the stamp for leave. The stamp is 0 if the hold was over before it began, or
// before enter saw another holder.
func (a *audit) enter(key, worker int, acquired, until int64, fence uint64, now func() int64) int64 {
	if until <= acquired {
		return 0
	}
	stamp, slot := stampOf(worker, until), a.holder(key)
	overlaps := false
	for entered := false; !entered; {
		old := slot.Load()
		if live(old, acquired) {
			// If this goroutine did not run between Acquire's return and here until its own lease
			// had ended, the other holder may be a rightful successor, whose word stays.
			if now() >= until {
				return 0
			}
			overlaps = true
		}
		entered = slot.CompareAndSwap(old, stamp)
	}
	if overlaps || a.hasReaders(key, acquired) && now() < until {
		a.violated(a.overlaps(), key, acquired)
	}
	a.compareFence(key, a.fence(key), acquired, until, fence, now)
	return stamp
}

// compareFence notes the fence of a hold from acquired to until. last has that of the hold before.
func (a *audit) compareFence(key int, last *atomic.Int64, acquired, until int64, fence uint64, now func() int64) {
	if fence == 0 || until <= acquired {
		return
	}
	switch before := last.Swap(int64(fence)); {
	case before < int64(fence):
	case now() >= until: // a rightful successor may have come first, as in enter
		last.CompareAndSwap(int64(fence), before)
	default:
		a.violated(a.stale(), key, acquired)
	}
}

func (a *audit) violated(count *atomic.Int64, key int, acquired int64) {
	count.Add(1)
	if a.stride == lineWords {
		a.firstViolation(key).CompareAndSwap(0, acquired+1)
	}
}

// renew notes that Extend returned at extended, and that the validity now ends at until. It returns the new stamp. A holder
// whose stamp is gone enters again: another holder came, or the lease had ended before enter. Its lock is held again.
func (a *audit) renew(key, worker int, stamp, extended, until int64, now func() int64) int64 {
	if next := stampOf(worker, until); stamp != 0 && a.holder(key).CompareAndSwap(stamp, next) {
		return next
	}
	return a.enter(key, worker, extended, until, 0, now)
}

// leave notes that the holder is about to call Release. It returns false when there is
// nothing to hand over: the lock had run out, or another had taken it.
func (a *audit) leave(key int, stamp, now int64) bool {
	return stamp != 0 && (a.holder(key).CompareAndSwap(stamp, 0) || a.freeSlot(key, stamp)) && live(stamp, now)
}

func stampOf(worker int, until int64) int64 {
	return min(until/1000, forever)<<workerBits | int64(worker)
}

func workerOf(stamp int64) int { return int(stamp & (1<<workerBits - 1)) }

// live reports whether the validity of a stamp's hold ends after now.
func live(stamp, now int64) bool { return stamp>>workerBits > now/1000 }

// untilNs converts the end of a validity to the clock that began at base. The zero time
// means a lock that never ends by itself.
func untilNs(base, until time.Time) int64 {
	if until.IsZero() {
		return math.MaxInt64
	}
	return int64(until.Sub(base))
}
