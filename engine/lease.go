package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"muxlock/internal/clock"
	"muxlock/pipeline"
)

// A lease is a key that the masters gave this process: its token, its term, and the
// handle of whoever holds it. It may have several holders, one after the other (a Lock
// each); the token stays.
//
//	held --Release, somebody waits--> held by the next, or to be extended by it first
//	     --Release, nobody waits, its turn is over, or its token was revealed--> over, and
//	                                                deleted at the masters
//	     --validity out, denied, Close--> over: lost
type lease struct {
	e       *Engine
	place   *place // fixed
	name    string // fixed
	token   string // fixed
	round   uint64 // fixed: of the acquire
	since   clock.Instant
	matched atomic.Int32 // masters that had it when they were last counted

	// The mutex of the place's shard guards the following.
	over      bool
	expired   bool          // over because validity ran out
	holder    *Lock         // nil while nobody holds it
	handed    int           // times that it was handed over
	revealed  bool          // others may have the token: it is not handed over any more
	longest   time.Duration // ttl that a master may have been given
	extension *extension    // the Extend that is under way; nil: none is
	term

	due   clock.Instant // when the keeper looks at it; guarded by keeper.mu, like index
	index int           // in the keeper's heap, from 1; 0: not in it
}

// grant makes a lease and its first handle, in one piece; take makes that the holder.
func grant(e *Engine, p *place, req pipeline.Request, matched int, start, now clock.Instant) *Lock {
	both := &struct {
		lock  Lock
		lease lease
	}{}
	l := &both.lease
	l.e, l.place = e, p
	l.name, l.token, l.round, l.since = req.Name, req.Token, req.Round, now
	l.term, l.longest = newTerm(req.TTL, e.cfg.Drift, start), req.TTL
	l.matched.Store(int32(matched))
	both.lock.lease = l
	return &both.lock
}

// extendLocked is the request to let the lease live for ttl.
func (l *lease) extendLocked(ttl time.Duration) pipeline.Request {
	l.longest = max(l.longest, ttl) // a master may extend although we never hear of it
	return pipeline.Request{Op: pipeline.Extend, Name: l.name, Token: l.token, TTL: ttl, Round: l.round}
}

// releaseLocked is the request to delete the lease's key.
func (l *lease) releaseLocked() pipeline.Request {
	return pipeline.Request{Op: pipeline.Release, Name: l.name, Token: l.token, TTL: l.longest, Round: l.round}
}

// passLocked ends the hold of one of ours. The first who waits gets the lease, if its turn
// is not over, nobody outside knows its token and enough validity is left, or can still be had. Otherwise it is over: the
// caller is to have it deleted at the masters, and then to resign the place if it has got
// the turn there. So those who wait here ask the masters only after the deletion, and behind
// those who wait elsewhere.
func (l *lease) passLocked(now clock.Instant) (over, turn bool) {
	h := l.holder
	l.holder = nil
	l.kept, l.warn, l.fault = false, 0, nil
	p, cfg := l.place, &l.e.cfg
	w := p.first
	switch {
	case l.over:
		return true, false
	case w == nil:
		l.endLocked()
		p.nextLocked(false, nil)
		return true, false
	case l.revealed || l.handed >= cfg.HandOvers || now.Sub(l.since) >= cfg.HandOverTime:
		l.endLocked()
		p.lease, p.trying = nil, true
		return true, true
	}
	l.handed++
	l.e.released(h, now, false, true, nil) // told before the next one's Acquired
	if l.until.Left(now) < w.ttl/2 {
		p.nextLocked(false, l)
		return false, false
	}
	l.ttl = w.ttl // what its renewals ask for
	p.popLocked()
	l.holder = &Lock{lease: l}
	w.lock = l.holder
	w.ready <- struct{}{}
	return false, false
}

// endLocked is the end of the lease.
func (l *lease) endLocked() {
	if !l.over {
		l.over = true
		l.e.keeper.forget(l)
	}
}

// giveUp ends a lease that nobody holds, and has it deleted at the masters.
func (l *lease) giveUp() {
	l.place.shard.mu.Lock()
	l.endLocked()
	req := l.releaseLocked()
	l.place.shard.mu.Unlock()
	l.e.undo(req)
}

// expireLocked ends the lease if its validity has run out.
func (l *lease) expireLocked(now clock.Instant) {
	if !l.over && l.until.Reached(now) {
		l.expired = true
		l.loseLocked(errors.Join(ErrExpired, l.fault))
	}
}

// loseLocked ends the lease for the given cause; whoever waits goes on.
func (l *lease) loseLocked(cause error) {
	if l.over {
		return
	}
	h, p := l.holder, l.place
	l.holder = nil
	l.endLocked()
	if h != nil {
		h.endLocked(errors.Join(ErrLost, cause))
		if !h.since.IsZero() { // else its caller was never told that he has it
			l.e.lost(h, cause)
		}
	}
	if p.lease == l {
		p.nextLocked(false, nil)
	}
}

// attendLocked has the keeper look at the lease when its term next asks for it.
func (l *lease) attendLocked(now clock.Instant) {
	if !l.over {
		l.e.keeper.watch(l, l.soonest(now))
	}
}

// soonest is when the term will next have something to do.
func (l *lease) soonest(now clock.Instant) clock.Instant {
	t := l.term // next notes what it has asked for; this is only a look
	if do, again := t.next(now); do == rest {
		return again
	}
	return now
}

// An extension is one Extend at the masters. A lease has one at a time: who asks for no
// more than it does shares its outcome, others come after it.
type extension struct {
	lease  *lease        // fixed, like the following
	ttl    time.Duration // asked for
	handed clock.Instant // before it was handed to the pipeline
	done   chan struct{} // closed by the keeper once the lease knows the outcome
	err    error         // the outcome; written before
}

// extend lets the lease live for ttl from now on. h is who asks, nil for an heir: it gets
// ErrNotHeld once the lease is not its own any more. ctx ends the wait, and not what was
// sent.
func (l *lease) extend(ctx context.Context, h *Lock, ttl time.Duration) error {
	for wanted := clock.Now().Add(ttl); ; {
		l.place.shard.mu.Lock()
		if l.over || l.holder != h {
			l.place.shard.mu.Unlock()
			return ErrNotHeld
		}
		x, req := l.extension, pipeline.Request{}
		first := x == nil
		if first {
			x = &extension{lease: l, ttl: ttl, handed: clock.Now(), done: make(chan struct{})}
			l.extension, l.ttl = x, max(l.ttl, ttl)
			req = l.extendLocked(ttl)
		}
		l.place.shard.mu.Unlock()
		if first {
			if err := l.e.pipe.Start(req, x); err != nil {
				l.e.keeper.answer(answer{l: l, x: x, err: err})
			}
		}
		select {
		case <-x.done:
		case <-ctx.Done():
			return ctx.Err()
		case <-l.e.closing:
			return ErrClosed
		}
		if !x.handed.Add(x.ttl).Before(wanted) {
			return x.err
		}
	}
}

// Decided and Counted make the lease the receiver of its renewals, and an extension that
// of its own.
func (l *lease) Decided(out pipeline.Outcome) { l.e.keeper.answer(answer{l: l, out: out}) }
func (l *lease) Counted(granted int)          { l.matched.Store(int32(granted)) }
func (x *extension) Decided(out pipeline.Outcome) {
	x.lease.e.keeper.answer(answer{l: x.lease, x: x, out: out})
}
func (x *extension) Counted(granted int) { x.lease.Counted(granted) }

// settle ends a renewal or an extension.
func (l *lease) settle(a answer, now clock.Instant) {
	err := a.err
	if err == nil {
		err = l.e.refusal(a.out)
	}
	l.place.shard.mu.Lock()
	// A confirmation that comes after the old validity has run out does not bring the
	// lease back: its holder may have been told already. What it did is undone: nobody
	// else is to wait for a lease that is nobody's.
	l.expireLocked(now)
	ended, denied := l.over, errors.Is(err, ErrNotHeld)
	undo := l.expired && a.err == nil || !ended && denied // a minority may still have it
	switch {
	case ended:
	case denied:
		l.loseLocked(err)
	case a.x != nil && err == nil:
		l.extended(a.x.ttl, sentAt(a.out, a.x.handed))
	case a.x != nil: // the old until stands
	case err != nil:
		l.failed(now, err)
	default:
		l.renewed(sentAt(a.out, l.asked), now)
	}
	l.attendLocked(now)
	if a.x != nil {
		l.extension, a.x.err = nil, err
	}
	req := l.releaseLocked()
	l.place.shard.mu.Unlock()
	if a.x == nil && !ended {
		l.e.renewed(l.name[len(l.e.cfg.Prefix):], err)
	}
	if undo {
		l.e.undo(req)
	}
	if a.x != nil {
		close(a.x.done)
	}
}

// attend does what the term asks for.
func (l *lease) attend(now clock.Instant) {
	l.place.shard.mu.Lock()
	defer l.place.shard.mu.Unlock()
	for !l.over {
		do, again := l.next(now)
		switch do {
		case rest:
			l.e.keeper.watch(l, again)
			return
		case warn:
			if l.holder != nil && l.holder.warn != nil {
				go l.holder.warn() // the holder's own code: it may take its time
			}
		case renew:
			l.e.keeper.send(l)
		case expire:
			l.expireLocked(now)
		}
	}
}
