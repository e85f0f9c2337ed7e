package engine

import (
	"slices"
	"time"

	"muxlock/engine/internal/turn"
	"muxlock/internal/clock"
	"muxlock/internal/fencing"
	"muxlock/internal/line"
	"muxlock/internal/redlock"
)

// Handing a lock over within the process, without a request to the masters. Package turn has the rules. It is bounded,
// so that other processes have their turn: by number (fencing.MaxHandOvers) and by time
// (Config.HandOverTime), whichever is reached first. Where other processes stand in line, only one
// caller who came during the turn is served, unless the turn is short (redlock.TurnOfNewcomers).

// Kind, Term and Lasts show the lease to package turn, which has the rules. Lasts reports whether a holder who wants ttl may
// have it without extending it first.
func (l *lease) Kind() *turn.Kind { return &kinds[l.kind].Kind }
func (l *lease) Term() *turn.Term { return &l.term }
func (l *lease) Lasts(ttl time.Duration, now clock.Instant) bool {
	least := ttl / 2
	if l.renewal.short && ttl <= l.renewal.ttl { // and about to be renewed
		least = line.Passed(ttl) / 4
	}
	return l.renewal.until.Left(now) >= least
}

// bounds says for how long the lease may be handed over.
func (l *lease) bounds() turn.Bounds {
	b := turn.Bounds{Longest: l.e.cfg.HandOverTime, Newcomers: l.e.cfg.HandOverTime}
	if l.state.lined {
		b.Newcomers = redlock.TurnOfNewcomers(l.e.masters.roundTrip())
	}
	return b
}

// handOverLocked ends a holder's use of the lease, which stays with its other holders, or goes to the first waiter.
//
// Otherwise the lease is over, and the caller has it deleted at the masters (mustDelete). If others wait
// here, the caller contends until then, and calls stopContending after the deletion. So they ask the masters
// after the deletion, and after other processes.
func (l *lease) handOverLocked(holder *Lock, now clock.Instant) (mustDelete, contending bool) {
	l.holders = slices.DeleteFunc(l.holders, func(h *Lock) bool { return h == holder })
	if len(l.holders) > 0 && !l.term.Ended {
		l.e.record.released(holder, now, true, true, nil)
		return false, false
	}
	l.renewal.kept, l.renewal.warn, l.renewal.fault = false, 0, nil
	n := l.state
	if n.Lease == l && !kinds[l.kind].Shared {
		n.courtesy.since = now
	}
	fate, w := n.Release(l, &l.kind.queueOf(n).queue, holder.Slot(), l.bounds(), now)
	if fate == turn.Deleted || fate == turn.DeletedOwn {
		if n.Idle() {
			n.failed = nil
		}
		n.asker = asker{now, l.kind}
		l.endLocked()
		return true, fate == turn.DeletedOwn
	}
	l.e.record.released(holder, now, true, true, nil) // before the next holder's Acquired
	l.renewal.ttl = w.TTL                             // what its renewals want
	if fate == turn.Extended {
		w.Of.inherited = l
	} else {
		w.Of.lock, l.kind = l.handle(), w.Of.kind
		l.holders = append(l.holders, w.Of.lock)
		if w.Of.stop != nil {
			go w.Of.stop()
		}
	}
	n.wakeLocked(w)
	return false, false
}

// handle returns the handle of a further holder.
func (l *lease) handle() *Lock {
	return &Lock{lease: l, fence: fencing.Fence(l.fencing, int(l.term.HandOvers))}
}

// collect completes a hand-over. It reports false, and gives the lease up, if the lock was lost on its way to the caller.
// A readers' lease is left alone: other readers may be at work until they notice.
func (l *Lock) collect(asked clock.Instant) bool {
	now := l.lock()
	lost := l.end != nil
	undo := lost && !kinds[l.lease.kind].Shared
	if !lost {
		l.since = now
		l.lease.e.record.acquired(l, asked, 0)
	}
	l.unlock()
	if undo {
		l.lease.giveUp()
	}
	return !lost
}

// joinLocked adds a reader.
func (l *lease) joinLocked(ttl time.Duration) *Lock {
	h := l.handle()
	l.holders = append(l.holders, h)
	l.renewal.ttl = max(l.renewal.ttl, ttl)
	return h
}

// letInLocked serves the readers at the head of the queue while readers hold the name: they join the lease, or the first
// of them asks the masters for another lease.
func (n *nameState) letInLocked(longest time.Duration, now clock.Instant) {
	for {
		switch w, joins := n.NextReader(longest, now); {
		case w == nil:
			return
		case joins:
			w.Of.lock = n.Lease.joinLocked(w.TTL)
			n.wakeLocked(w)
		default: // it asks
			n.wakeLocked(w)
		}
	}
}
