package engine

import (
	"context"
	"errors"
	"time"

	"github.com/valyala/fastrand"

	"muxlock/engine/internal/turn"
	"muxlock/internal/clock"
	"muxlock/internal/oneline"
	"muxlock/internal/redlock"
	"muxlock/pipeline"
)

// How a caller gets the lock of one name: at once, from the one before it in this process, or as the contender.

// enter makes c the contender for a name, or returns a lock that it was given in this process.
func (c *contender) enter(ctx context.Context, name string, ttl time.Duration) (*Lock, error) {
	key, err := c.e.cfg.key(name)
	if err == nil {
		err = c.admit(ctx, key, ttl)
	}
	if err == nil && !kinds[c.kind].Shared {
		err = c.e.refuseUpgrade(ctx, key)
	}
	if err != nil {
		return nil, err
	}
	lock, err := c.queue(ctx, c.tries.waits(), 0)
	if err != nil {
		return nil, c.failed(err)
	}
	return lock, nil
}

// queue makes c the contender at once or after a wait, or returns a lock that was handed over. limit is that of the permits, if it
// wants one.
func (c *contender) queue(ctx context.Context, wait bool, limit int) (*Lock, error) {
	for {
		w, lock, theirs, err := c.e.names.join(c, wait, limit)
		if theirs > 0 {
			if err := c.leaveToReaders(ctx, theirs); err != nil {
				return nil, err
			}
			continue
		}
		if w != nil {
			got, err := c.park(ctx, w)
			if err != nil {
				return nil, err
			}
			c.turn = ownTurn{called: c.turn.called, began: clock.Now(), queued: true, inherited: got.inherited, yieldFirst: got.yieldFirst, contended: c.turn.contended || got.yieldFirst}
			lock = got.lock
		}
		if lock == nil || lock.collect(c.turn.called) { // else it was lost on its way here: start over
			return lock, err
		}
	}
}

// quit lets the next waiter of this process contend, and returns why c has no lock.
func (c *contender) quit(why error) error {
	if c.turn.queued && errors.Is(why, ErrClosed) && !errors.Is(why, ErrTaken) { // its turn came while the engine closed
		why = oneline.Join(errTakenHere, why)
	}
	why = c.e.unlessKnown(c.name, errUnanswered, why)
	c.state.stopContending(c.turn.yieldFirst)
	return why
}

// contend asks the masters until they grant the lock, ctx ends or the attempts are used up.
func (c *contender) contend(ctx context.Context) (*Lock, error) {
	e := c.e
	if c.turn.inherited != nil {
		if lock := c.inherit(ctx); lock != nil {
			return lock, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c.turn.began = clock.Now()
	}
	if c.turn.yieldFirst && !c.standsInLine(ctx) {
		// Other processes learn of the release at about the same time, however far the masters
		// are, and wait for up to a spread. The rest is for slow machines.
		if err := e.pause(ctx, 4*e.masters.spread()+c.gap()); err != nil {
			return nil, err
		}
	}
	if c.intents.met { // readers may hold the name again: keep new ones out before the masters have answered
		c.intents.met, c.intents.asksSoon, c.others.crowded = false, true, true
		c.keepReadersOut()
	}
	return persist(ctx, c.attempt, c.rest)
}

// attempt asks the masters once, or stands in line. It returns the lock, or the next step and why the attempt
// failed. It returns an error if the masters were not asked or ctx ended.
func (c *contender) attempt(ctx context.Context) (*Lock, step, error) {
	if c.standsInLine(ctx) {
		return c.stand(ctx)
	}
	e, began, req := c.e, c.begins(), c.request(c.name)
	out, err := e.masters.ask(ctx, &req)
	if err != nil {
		return nil, step{}, err
	}
	e.masters.sample(&out, c.turn.contended, sentAt(out, began))
	if kinds[c.kind].Shared {
		c.intents.asksSoon = out.Held == 0 // else a writer holds the name: its release is notified
	}
	start, next := c.judge(&out, began)
	lock, next := c.conclude(&req, &out, next, start)
	return lock, next, nil
}

// conclude returns the lock of a won attempt. It undoes a failed attempt, and returns the next step with the reason.
func (c *contender) conclude(req *pipeline.Request, out *pipeline.Outcome, next step, start clock.Instant) (*Lock, step) {
	if next.hold {
		lock := grant(c.e, c.state, *req, int(out.Tally.Granted), start, clock.Now())
		err := c.take([]*shard{c.state.shard}, lock)
		if err == nil {
			return lock, next
		}
		next = c.tries.retry(err)
	}
	return nil, c.refused(req, out, next)
}

// inherit extends a lease that was handed over with too little validity. If that fails, it gives the lease up
// and returns nil.
func (c *contender) inherit(ctx context.Context) *Lock {
	l := c.turn.inherited
	if l.extend(ctx, nil, c.tries.ttl) == nil {
		if lock := l.handle(); c.take([]*shard{c.state.shard}, lock) == nil {
			return lock
		}
	}
	l.giveUp()
	return nil
}

// rest waits before the next attempt, unless c stands in line from now on.
func (c *contender) rest(ctx context.Context, next step) (*Lock, error) {
	if next.kind == ErrTaken {
		if c.others.crowded = true; c.standsInLine(ctx) {
			return nil, nil
		}
		c.look(ctx)
		if err := c.intend(ctx); err != nil {
			return nil, err
		}
	}
	var err error
	if next.await || kinds[c.kind].Shared && next.kind == ErrTaken { // readers split no votes: a writer comes or goes
		err = c.await(ctx, c.name, next)
	} else {
		err = c.e.pause(ctx, redlock.Jitter(next.from, next.to, fastrand.Uint32n))
	}
	if err == nil && next.await {
		err = c.e.pause(ctx, c.gap())
	}
	if err == nil {
		c.e.record.counts.retries.Add(1)
	}
	return nil, err
}

// await waits until a name may be free, and then for a random delay. All waiters are woken at once, and
// three that ask at once would split the vote. After a long delay await checks once whether the name is
// still free.
func (c *contender) await(ctx context.Context, name string, next step) error {
	e, crowd := c.e, &c.tries.crowd
	asked := clock.Now()
	if err := c.awaken(ctx, name); err != nil {
		return err
	}
	if kinds[c.kind].Shared { // all readers may come at once
		return nil
	}
	crowd.Woken(clock.Now().Sub(asked))
	longest := max(next.to, e.masters.spread(), crowd.Window())
	delay := redlock.Jitter(next.from, longest, fastrand.Uint32n)
	if err := e.pause(ctx, delay); err != nil || !crowd.Stale(delay) {
		return err
	}
	asked = clock.Now()
	err := c.awaken(ctx, name)
	if err == nil && crowd.Held(clock.Now().Sub(asked)) {
		err = e.pause(ctx, redlock.Jitter(next.from, longest, fastrand.Uint32n))
	}
	return err
}

// join makes the caller the contender, or puts it into the queue and returns its waiter, or refuses a caller
// that does not wait. A reader may join others and gets its lock. theirs is for how long c must leave the name to readers first.
func (t *nameTable) join(c *contender, wait bool, limit int) (w *waiter, lock *Lock, theirs time.Duration, err error) {
	s := t.shard(c.name)
	s.mu.Lock()
	defer s.unlock()
	if s.closed {
		return nil, nil, 0, ErrClosed
	}
	now := c.turn.began
	n := s.stateLocked(c.name, now)
	c.state = n
	switch n.Join(&kinds[c.kind].Kind, c.tries.ttl, wait, c.e.cfg.HandOverTime, now) {
	case turn.Asks:
		theirs = c.comesBack(n.courtesy)
		n.Asks = theirs == 0
	case turn.Joins:
		lock = n.Lease.joinLocked(c.tries.ttl)
	case turn.Refused:
		c.e.record.counts.taken.Add(1)
		err = errTakenHere
	case turn.Waits:
		w = n.queueLocked(c, limit, now)
	}
	return w, lock, theirs, err
}

// queueLocked puts a waiter into the queue.
func (n *nameState) queueLocked(c *contender, limit int, now clock.Instant) *waiter {
	w := n.shard.table.waiters.Get().(*waiter)
	w.Kind, w.TTL, w.Limit, w.Since, w.Of.kind = &kinds[c.kind].Kind, c.tries.ttl, limit, now, c.kind
	n.Wait(w)
	if n.Lease != nil {
		n.Lease.scheduleLocked(now) // w is woken when it ends
	}
	return w
}

// park waits until w has left the queue of c.state or ctx ends. If w is given something just as ctx ends,
// park passes that on to the next.
func (c *contender) park(ctx context.Context, w *waiter) (got parked, err error) {
	n, left := c.state, false
	c.e.record.counts.waiting.Add(1)
	defer c.e.record.counts.waiting.Add(-1)
	select {
	case <-w.Of.ready:
	case <-ctx.Done():
		err = ctx.Err()
		n.shard.mu.Lock()
		if left = n.Leave(w); left {
			n.letInLocked(c.e.cfg.HandOverTime, clock.Now()) // it may have been a writer
		}
		n.shard.unlock()
		if !left {
			<-w.Of.ready
		}
	}
	got = w.Of
	*w = waiter{Of: parked{ready: got.ready}}
	c.e.names.waiters.Put(w)
	switch {
	case err == nil && got.closed:
		return got, oneline.Join(errTakenHere, ErrClosed)
	case err == nil:
		return got, nil
	case left || got.closed:
	case got.lock != nil:
		_ = got.lock.Release(ctx) // to the next; it does not matter that ctx has ended
	default:
		if got.inherited != nil {
			got.inherited.giveUp()
		}
		n.stopContending(got.yieldFirst)
	}
	return parked{}, c.e.unlessKnown(c.name, errTakenHere, err)
}
