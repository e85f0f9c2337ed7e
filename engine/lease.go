package engine

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"muxlock/engine/internal/turn"
	"muxlock/internal/clock"
	"muxlock/internal/fencing"
	"muxlock/internal/oneline"
	"muxlock/pipeline"
)

// A lease is a key that the masters granted this process: its token, its renewal, and the handles of its
// holders. Several holders may have it one after the other (a Lock each), with the same token.
//
//	held --Release, handed over (handover.go)--> held by the next, or extended by it first
//	     --Release, not handed over------------> ended, and deleted at the masters
//	     --validity out, denied, Close---------> ended: lost
type lease struct {
	e       *Engine
	state   *nameState      // fixed
	name    string          // fixed
	token   string          // fixed
	origin  pipeline.Origin // fixed: of the acquire
	fencing uint64          // fixed: its fencing token; 0: none
	heldOn  atomic.Int32    // how many masters have it, as last known

	// The shard's mutex guards the following.
	kind      kind          // of the present holder, or the last one
	expired   bool          // ended because validity ran out
	healed    bool          // a heal was sent (heal.go)
	term      turn.Term     // what it has seen in this process
	holders   []*Lock       // several if it is shared; none on the way to the next
	longest   time.Duration // longest ttl that a master may have been sent
	extension *extension    // the Extend that is under way; nil: none is
	renewal   renewal

	due   clock.Instant // when the keeper runs onDue; guarded by keeper.mu, like index
	index int           // in the keeper's heap, from 1; 0: not in it
}

// grant makes a lease, its first handle and room for one holder in one allocation; take makes that handle the holder.
func grant(e *Engine, n *nameState, req pipeline.Request, heldOn int, start, now clock.Instant) *Lock {
	both := &struct {
		lock    Lock
		lease   lease
		holders [1]*Lock
	}{}
	l := &both.lease
	l.holders = both.holders[:0]
	l.e, l.state = e, n
	l.name, l.token, l.origin, l.fencing, l.term.Since = req.Name, req.Token, req.Origin, req.Fence, now
	l.renewal, l.longest = newRenewal(req.TTL, e.cfg.Drift, start), req.TTL
	l.heldOn.Store(int32(heldOn))
	both.lock.lease, both.lock.fence = l, fencing.Fence(l.fencing, 0)
	return &both.lock
}

// extendLocked returns the request that lets the lease live for ttl.
func (l *lease) extendLocked(ttl time.Duration) pipeline.Request {
	l.longest = max(l.longest, ttl) // a master may extend although its reply is lost
	return pipeline.Request{Op: pipeline.Extend, Name: l.name, Token: l.token, TTL: ttl, Origin: l.origin, Fence: l.fencing, Shared: kinds[l.kind].Shared}
}

// releaseLocked returns the request that deletes the lease's key, or passes it on where other processes want it.
func (l *lease) releaseLocked() pipeline.Request {
	req := pipeline.Request{Op: pipeline.Release, Name: l.name, Token: l.token, TTL: l.longest, Origin: l.origin, Shared: kinds[l.kind].Shared, Healed: l.healed}
	if l.state.lined && kinds[l.kind].passedOn {
		req.Op, req.Line = pipeline.Pass, l.passLocked(clock.Now())
		if l.fencing > 0 {
			req.Fence = l.fencing + 1
		}
	}
	return req
}

// endLocked ends the lease.
func (l *lease) endLocked() {
	if !l.term.Ended {
		l.term.Ended = true
		l.e.keeper.unschedule(l)
		l.state.Apart = slices.DeleteFunc(l.state.Apart, func(other *lease) bool { return other == l })
	}
}

// giveUp ends a lease that nobody holds, and has it deleted at the masters.
func (l *lease) giveUp() {
	l.state.shard.mu.Lock()
	l.endLocked()
	req := l.releaseLocked()
	l.state.shard.unlock()
	l.e.masters.undo(req)
}

// expireLocked ends the lease, if there is one, when its validity has run out.
func (l *lease) expireLocked(now clock.Instant) {
	if l != nil && !l.term.Ended && l.renewal.until.Reached(now) {
		l.expired = true
		l.loseLocked(oneline.Join(ErrExpired, l.renewal.fault))
	}
}

// loseLocked ends the lease, if there is one, for the given cause; the next waiter contends.
func (l *lease) loseLocked(cause error) {
	if l == nil || l.term.Ended {
		return
	}
	l.endLocked()
	for _, h := range l.holders {
		if h.end == nil { // else it is being released
			h.endLocked(oneline.Join(ErrLost, cause))
			h.noteLocked(h.end, causes[lossCause(cause)])
			l.e.record.lost(h, cause)
		}
	}
	l.holders = nil
	if n := l.state; n.Lease == l {
		n.contendNextLocked(false)
	}
}

// scheduleLocked makes the keeper run onDue when the renewal next has something to do.
func (l *lease) scheduleLocked(now clock.Instant) {
	if l.term.Ended {
		return
	}
	r := l.renewal // a copy: next changes it
	do, due := r.next(now)
	if do != idle {
		due = now
	}
	l.e.keeper.schedule(l, due)
}

// An extension is one Extend at the masters. A lease has one at a time. Callers that ask for no more share
// its outcome; others wait for it first.
type extension struct {
	lease  *lease        // fixed, like the following
	ttl    time.Duration // wanted
	began  clock.Instant // before it was given to the pipeline
	before int32         // how often the lease was handed over until then
	done   chan struct{} // closed by the keeper once the lease knows the outcome
	err    error         // the outcome; written before
}

// extend lets the lease live for ttl from now on. h is the caller's handle, nil for an inherited lease. The
// caller gets ErrNotHeld once h is no longer the holder. ctx ends the wait, and not what was sent.
func (l *lease) extend(ctx context.Context, h *Lock, ttl time.Duration) error {
	return l.extendUntil(ctx, h, nil, ttl, clock.Now().Add(ttl))
}

// extendUntil is extend to an instant. It goes on with x, which its caller has begun; nil: nothing.
func (l *lease) extendUntil(ctx context.Context, h *Lock, x *extension, ttl time.Duration, wanted clock.Instant) (err error) {
	for {
		if x == nil {
			if x, err = l.beginExtension(h, ttl); err != nil {
				return err
			}
		}
		select {
		case <-x.done:
		case <-ctx.Done():
			return ctx.Err()
		case <-l.e.closing:
			return ErrClosed
		}
		if !x.began.Add(x.ttl).Before(wanted) {
			return x.err
		}
		x = nil
	}
}

// beginExtension begins an extension, or returns the one that is under way.
func (l *lease) beginExtension(h *Lock, ttl time.Duration) (*extension, error) {
	l.state.shard.mu.Lock()
	if l.term.Ended || h != nil && !slices.Contains(l.holders, h) {
		l.state.shard.unlock()
		return nil, ErrNotHeld
	}
	x := l.extension
	if x != nil {
		l.state.shard.unlock()
		return x, nil
	}
	x = &extension{lease: l, ttl: ttl, began: clock.Now(), before: l.term.HandOvers, done: make(chan struct{})}
	l.extension = x
	req := l.extendLocked(ttl)
	l.state.shard.unlock()
	if err := l.e.masters.at(req.Name).Start(req, x); err != nil {
		l.e.keeper.answer(answer{l: l, x: x, err: err})
	}
	return x, nil
}

// The lease receives the outcomes of its renewals by Decided and Counted, and an extension those of its own.
func (l *lease) Decided(out pipeline.Outcome) { l.e.keeper.answer(answer{l: l, out: out}) }
func (x *extension) Decided(out pipeline.Outcome) {
	x.lease.e.keeper.answer(answer{l: x.lease, x: x, out: out})
}
func (x *extension) Counted(granted, gone uint64) { x.lease.Counted(granted, gone) }
func (x *extension) Over() bool                   { return false }

// takeOutcome takes the outcome of a renewal or an extension.
func (l *lease) takeOutcome(a answer, now clock.Instant) {
	err := a.err
	if err == nil {
		err = l.e.masters.refusal(anExtend, a.out)
	}
	l.state.shard.mu.Lock()
	// A confirmation that comes after the old validity has run out does not bring the
	// lease back: its holder may know of the loss already. The extension is undone, so that
	// nobody waits for a lease without a holder; but others may have adopted a token that they know.
	l.expireLocked(now)
	ended, denied := l.term.Ended, errors.Is(err, ErrNotHeld)
	undo := l.expired && a.err == nil && !l.isKnown() || !ended && denied // a minority may still have it
	switch {
	case ended:
	case denied:
		l.loseLocked(err)
	case a.x != nil && err == nil:
		if a.x.before == l.term.HandOvers { // else it is not what the present holder wanted
			l.renewal.ttl = max(l.renewal.ttl, a.x.ttl)
		}
		l.renewal.extended(a.x.ttl, sentAt(a.out, a.x.began))
		l.noteExtendedLocked(false)
	case a.x != nil: // the old until stands
	case err != nil:
		l.renewal.failed(now, err)
		for _, h := range l.holders {
			h.noteLocked(err, "")
		}
	default:
		l.renewal.renewed(sentAt(a.out, l.renewal.requestedAt), now)
		l.noteExtendedLocked(true)
	}
	l.sumLocked(now)
	l.scheduleLocked(now)
	if a.x != nil {
		l.extension, a.x.err = nil, err
	}
	var req pipeline.Request
	if undo {
		req = l.releaseLocked()
	}
	l.state.shard.unlock()
	if a.x == nil && !ended {
		l.e.record.renewed(l.e.cfg.nameOf(l.name), err)
	}
	if undo {
		l.e.masters.undo(req)
	}
	if a.x != nil {
		close(a.x.done)
	}
}

// noteExtendedLocked measures whose locks are renewed. A renewal is for those that are kept alive.
func (l *lease) noteExtendedLocked(renewal bool) {
	if m := l.e.record.measure; m != nil {
		for _, h := range l.holders {
			if h.kept || !renewal {
				m.extended(h)
			}
		}
	}
}

// onDue carries out what the renewal commands. The keeper calls it.
func (l *lease) onDue(now clock.Instant) {
	l.state.shard.mu.Lock()
	defer l.state.shard.unlock()
	for !l.term.Ended {
		l.sumLocked(now)
		do, again := l.renewal.next(now)
		switch do {
		case idle:
			l.e.keeper.schedule(l, l.e.keeper.healAt(l, now, again))
			return
		case warn:
			l.warnLocked()
		case renew:
			l.e.keeper.send(l)
		case expire:
			l.expireLocked(now)
		}
	}
}

// sumLocked sums the holders' wishes for the renewal: it goes on while one holder wants it, and warns at the earliest notice.
// A holder's change only makes the keeper run onDue sooner.
func (l *lease) sumLocked(now clock.Instant) {
	var stop clock.Instant
	kept, forever := false, false
	l.renewal.warn, l.renewal.warned = 0, false
	for _, h := range l.holders {
		if h.kept {
			kept, forever, stop = true, forever || h.stop.IsZero(), clock.Later(stop, h.stop)
		}
		if w := h.notice; w != nil && w.of != l.renewal.until {
			l.renewal.warn = max(l.renewal.warn, w.left)
		}
	}
	if forever {
		stop = clock.Instant{}
	}
	if kept {
		l.renewal.keep(now, stop)
	}
	l.renewal.kept = kept
}

// warnLocked warns the holders that want to be warned first.
func (l *lease) warnLocked() {
	for _, h := range l.holders {
		if w := h.notice; w != nil && w.of != l.renewal.until && w.left >= l.renewal.warn {
			go w.fn() // user code: it may block
			w.of = l.renewal.until
		}
	}
}

// isKnown reports whether other processes may hold the lock by the same token.
func (l *lease) isKnown() bool { return l.term.Revealed || kinds[l.kind].known }
