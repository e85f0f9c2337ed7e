package engine

import (
	"context"
	"muxlock/engine/internal/turn"
	"muxlock/internal/clock"
	"muxlock/internal/oneline"
	"time"
)

// How a caller becomes the contender in this process, or is given the lock here.

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
		if lock == nil {
			return nil, err
		}
		if lock.collect(c.turn.called) { // else it was lost on its way here: start over
			if c.got = gotHandedOver; kinds[c.kind].Shared {
				c.got = gotJoined
			}
			return lock, nil
		}
	}
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
		n.Asks, n.asker = theirs == 0, asker{c.turn.called, c.kind}
	case turn.Joins:
		lock = n.Lease.joinLocked(c.tries.ttl)
	case turn.Refused:
		c.e.record.counts.fail(c.kind, whyTaken)
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
	n, gone := c.state, false
	c.e.record.counts.waiting.Add(1)
	defer c.e.record.counts.waiting.Add(-1)
	select {
	case <-w.Of.ready:
	case <-ctx.Done():
		err = ctx.Err()
		n.shard.mu.Lock()
		if gone = n.Leave(w); gone {
			n.letInLocked(c.e.cfg.HandOverTime, clock.Now()) // it may have been a writer
		}
		n.shard.unlock()
		if !gone {
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
	case gone || got.closed:
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
