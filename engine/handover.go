package engine

import (
	"context"
	"slices"
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/fencing"
	"muxlock/internal/line"
	"muxlock/internal/redlock"
)

// Handing a lock over within the process, without a request to the masters. It is bounded,
// so that other processes have their turn: by number (fencing.MaxHandOvers) and by time
// (Config.HandOverTime), whichever is reached first. Where other processes stand in line, only one
// caller who came during the turn is served, unless the turn is short (redlock.TurnOfNewcomers).

// mayHandOver reports whether the lease may go to another holder in this process, after it was held for up to longest.
func (l *lease) mayHandOver(longest time.Duration, now clock.Instant) bool {
	return !l.revealed && kinds[l.kind].handsOver && l.isYoung(longest, now)
}

// isYoung reports whether the lease was neither held for longest nor handed over too often.
func (l *lease) isYoung(longest time.Duration, now clock.Instant) bool {
	return redlock.MayHandOver(int(l.handed), fencing.MaxHandOvers, now.Sub(l.since), longest)
}

// turn returns for how long the lease may be handed over until it goes to w.
func (l *lease) turn(w *waiter) time.Duration {
	longest := l.e.cfg.HandOverTime
	if l.state.lined && l.newcomers && w.cameAfter(l) {
		longest = min(longest, redlock.TurnOfNewcomers(l.e.roundTrip()))
	}
	return longest
}

// cameAfter reports whether w did not wait yet when the lease was granted.
func (w *waiter) cameAfter(l *lease) bool { return !w.since.Before(l.since) }

// handOverLocked ends a holder's use of the lease. The first waiter gets the lease if it may be handed over.
// If too little validity is left, the waiter extends it first.
//
// Otherwise the lease is over, and the caller has it deleted at the masters (mustDelete). If others wait
// here, the caller contends until then, and calls stopContending after the deletion. So they ask the masters
// after the deletion, and after other processes.
//
// While there are other readers, the lease stays theirs.
func (l *lease) handOverLocked(holder *Lock, now clock.Instant) (mustDelete, contending bool) {
	l.holders = slices.DeleteFunc(l.holders, func(h *Lock) bool { return h == holder })
	if len(l.holders) > 0 && !l.ended {
		l.e.released(holder, now, true, true, nil)
		return false, false
	}
	l.kept, l.warn, l.fault = false, 0, nil
	n := l.state
	if n.lease == l && !kinds[l.kind].shared {
		n.left = now
	}
	q := l.kind.queueOf(n)
	w := q.first
	switch {
	case l.ended, n.lease != l: // the latter: other readers of this process have another lease
		l.endLocked()
		return true, false
	case w == nil, q != n && (!l.mayHandOver(l.turn(w), now) || l.until.Left(now) < w.ttl/2 || holder.Slot() >= w.limit): // who waits for a permit contends already
		l.endLocked()
		n.contendNextLocked(false, nil)
		return true, false
	case !kinds[w.kind].takesOver || !l.mayHandOver(l.turn(w), now):
		l.endLocked()
		n.lease, n.contending = nil, true
		return true, true
	}
	l.handed++
	l.e.released(holder, now, true, true, nil) // before the next holder's Acquired
	least := w.ttl / 2
	if l.short && w.ttl <= l.ttl { // and about to be renewed
		least = line.Passed(w.ttl) / 4
	}
	l.ttl = w.ttl // what its renewals ask for
	if l.until.Left(now) < least {
		n.contendNextLocked(false, l)
		return false, false
	}
	q.popLocked()
	l.newcomers = w.cameAfter(l)
	w.lock, l.kind = l.handle(), w.kind
	l.holders = append(l.holders, w.lock)
	if w.stop != nil {
		go w.stop()
	}
	w.ready <- struct{}{}
	return false, false
}

// handle returns the handle of a further holder.
func (l *lease) handle() *Lock {
	return &Lock{lease: l, fence: fencing.Fence(l.fencing, int(l.handed))}
}

// collect completes a hand-over. It reports false, and gives the lease up, if the lock was lost on its way to the caller.
// A readers' lease is left alone: other readers may be at work until they notice.
func (l *Lock) collect(asked clock.Instant) bool {
	now := l.lock()
	lost := l.end != nil
	undo := lost && !kinds[l.lease.kind].shared
	if !lost {
		l.since = now
		l.lease.e.acquired(l, asked, 0)
	}
	l.unlock()
	if undo {
		l.lease.giveUp()
	}
	return !lost
}

// inherit extends a lease that was handed over with too little validity. If that fails, it gives the lease up
// and returns nil.
func (c *contender) inherit(ctx context.Context) *Lock {
	l := c.inherited
	if l.extend(ctx, nil, c.ttl) == nil {
		if lock, err := c.take(l.handle()); err == nil {
			return lock
		}
	}
	l.giveUp()
	return nil
}
