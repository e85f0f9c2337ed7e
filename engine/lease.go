package engine

import (
	"errors"
	"sync/atomic"

	"muxlock/internal/clock"
	"muxlock/pipeline"
)

// A lease is a key that the masters gave this process: its token, its term, and the
// handle of whoever holds it. It may have several holders, one after the other (a Lock
// each); the token stays.
//
//	held --Release, somebody waits--> held by the next, or to be extended by it first
//	     --Release, nobody waits, or its turn is over--> over, and deleted at the masters
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
	over   bool
	holder *Lock // nil while nobody holds it
	handed int   // times that it was handed over
	term

	due   clock.Instant // when the keeper looks at it; guarded by keeper.mu, like index
	index int           // in the keeper's heap, from 1; 0: not in it
}

// grant makes a lease and its first handle, in one piece.
func grant(e *Engine, p *place, req pipeline.Request, matched int, start, now clock.Instant) *Lock {
	both := &struct {
		lock  Lock
		lease lease
	}{}
	l := &both.lease
	l.e, l.place = e, p
	l.name, l.token, l.round, l.since = req.Name, req.Token, req.Round, now
	l.term = newTerm(req.TTL, e.cfg.Drift, start)
	l.matched.Store(int32(matched))
	l.holder = &both.lock
	both.lock.lease, both.lock.since = l, now
	return l.holder
}

// request is what the lease asks of the masters.
func (l *lease) request(op pipeline.Op) pipeline.Request {
	return pipeline.Request{Op: op, Name: l.name, Token: l.token, TTL: l.ttl, Round: l.round}
}

// passLocked ends the hold of one of ours. The first who waits gets the lease, if its turn
// is not over and enough validity is left, or can still be had. Otherwise it is over: the
// caller is to have it deleted at the masters, and then to resign the place if it has got
// the turn there. So those who wait here ask the masters only after the deletion, and two
// round trips behind those who wait elsewhere.
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
	case l.handed >= cfg.HandOvers || now.Sub(l.since) >= cfg.HandOverTime:
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
	l.ttl = max(l.ttl, w.ttl) // what its renewals ask for
	p.popLocked()
	l.holder = &Lock{lease: l, since: now}
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
	req := l.request(pipeline.Release)
	l.place.shard.mu.Unlock()
	l.e.undo(req)
}

// expireLocked ends the lease if its validity has run out.
func (l *lease) expireLocked(now clock.Instant) {
	if !l.over && l.until.Reached(now) {
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
		l.e.lost(h, cause)
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

// Decided and Counted make a lease the receiver of its renewals.
func (l *lease) Decided(out pipeline.Outcome) { l.e.keeper.answer(l, out, nil) }
func (l *lease) Counted(granted int)          { l.matched.Store(int32(granted)) }

// settle ends a renewal.
func (l *lease) settle(out pipeline.Outcome, err error, now clock.Instant) {
	if err == nil {
		err = l.e.refusal(out)
	}
	l.place.shard.mu.Lock()
	// A confirmation that comes after the old validity has run out does not bring the
	// lease back: its holder may have been told already.
	l.expireLocked(now)
	if l.over {
		l.place.shard.mu.Unlock()
		return
	}
	denied := errors.Is(err, ErrNotHeld)
	switch {
	case denied:
		l.loseLocked(err)
	case err != nil:
		l.failed(now, err)
		l.attendLocked(now)
	default:
		l.renewed(now)
		l.attendLocked(now)
	}
	req := l.request(pipeline.Release)
	l.place.shard.mu.Unlock()
	l.e.renewed(l.name, err)
	if denied {
		l.e.undo(req) // a minority may still have it
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
