package engine

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/valyala/fastrand"

	"muxlock/engine/internal/inside"
	"muxlock/internal/clock"
	"muxlock/internal/limits"
	"muxlock/internal/redlock"
	"muxlock/pipeline"
)

// A permitContender asks the masters for one of the slots of a name. Callers of this process ask side by side until one is
// refused. From then on they queue, and only the first of them asks:
//
//	asks for some slots, then for all --granted----------------------------> held
//	   | refused
//	   v
//	queues here --its turn--> asks for all --granted-----------------------> held
//	   |                       ^     | refused
//	   |                       |     v
//	   |                       '-- waits for one slot, or a while
//	   |                             |
//	   '-----------------------------'--a permit of this process is handed over--> held
//
// Each master grants the first slot of the request that is free there. So a caller wins one slot at most, by the votes on
// that slot alone.
type permitContender struct {
	contender            // of the queue for permits of the name; state is nil until it is the contender
	permits   *nameState // of the queue; not swept while c asks
	first     int        // the slot to ask for first
	woken     bool       // a notification says that first is free
	freed     int32      // how many permits of the name this process had released at its last request
	polls     int        // requests for all slots without being woken
}

// firstAsked is how many slots an attempt asks for first. More slots cost the masters more, and are hardly ever needed while
// half of all slots are free.
const firstAsked = 8

func (e *Engine) acquirePermit(ctx context.Context, name string, limit int, ttl time.Duration, most int, waitWhenFull bool) (*Lock, error) {
	ctx, stop := waiting(ctx)
	defer stop()
	if limit < 1 || limit > limits.Permits {
		return nil, invalid("limit", "%d is not between 1 and %d", limit, limits.Permits)
	}
	c := permitContender{contender: e.newContender(most, waitWhenFull, permit)}
	c.limit, c.name = limit, inside.SlotPrefix+":"
	if err := c.ask(ctx, name, ttl); err != nil {
		return nil, err
	}
	c.first = int(e.names.index(c.name)) % limit // a home: its seed differs from process to process
	lock, err := c.contend(ctx)
	if err != nil {
		return nil, e.record.notAcquired(name, c.asked, c.made, err)
	}
	return lock, nil
}

// contend asks the masters until they grant a permit, ctx ends or the attempts are used up.
func (c *permitContender) contend(ctx context.Context) (lock *Lock, err error) {
	queues, err := c.e.names.beginPermit(c)
	if err != nil {
		return nil, err
	}
	defer func() {
		err = c.e.unlessKnown(c.name, errUnanswered, err) // before end clears the reason
		c.end()
	}()
	switch {
	case queues && c.most == 1:
		c.e.record.counts.taken.Add(1)
		return nil, errTakenHere
	case queues:
		if lock, err := c.wait(ctx, step{}); lock != nil || err != nil {
			return lock, err
		}
	}
	return persist(ctx, c.attempt, c.wait)
}

// end lets the next waiter of this process contend.
func (c *permitContender) end() {
	if c.state != nil {
		c.state.stopContending(c.yieldFirst)
	}
	c.permits.shard.mu.Lock()
	c.permits.Exit()
	c.permits.shard.unlock()
	c.e.names.contenderEnded()
}

// wait makes c the contender, and waits until a slot may be free; or returns a permit that was handed over. It waits for a
// slot only if the masters have just refused c or the contender before it.
func (c *permitContender) wait(ctx context.Context, next step) (*Lock, error) {
	e := c.e
	if next.again {
		e.record.counts.retries.Add(1)
	}
	if c.state == nil {
		lock, err := c.queue(ctx, true)
		if lock != nil || err != nil {
			c.state = nil
			return lock, err
		}
		if !c.yieldFirst && (next.kind == nil || c.begin != c.asked) {
			return nil, nil
		}
	}
	from, to := redlock.HeldDelay(e.cfg.RetryHeld << min(c.polls, 3))
	during, stop := context.WithTimeout(ctx, redlock.Jitter(from, to, fastrand.Uint32n))
	defer stop()
	w := &waiter{Kind: &kinds[c.kind].Kind, TTL: c.ttl, Limit: c.limit, Of: parked{ready: make(chan struct{}, 1), kind: c.kind, stop: stop}}
	if c.permits.queueFirst(w); c.made > 0 && c.permits.freed.Load() != c.freed { // one was released after it asked
		stop()
	}
	var err error
	if c.yieldFirst = false; next.kind != nil && next.kind != ErrTaken {
		err = e.pause(during, to)
	} else {
		if c.splits == 0 { // else somebody may hold c.first on a bare quorum
			c.first = rand.IntN(c.limit)
		}
		err = c.await(during, slotKey(c.first, c.name), next)
		if c.woken = err == nil; !c.woken {
			c.polls++
		}
	}
	switch lock := c.permits.leave(w); {
	case lock != nil && lock.collect(c.asked):
		c.yieldFirst = true // the next waiter was refused, too
		return lock, nil
	case lock != nil: // lost during the hand-over
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case during.Err() == nil || errors.Is(err, ErrClosed):
		return nil, err
	}
	return nil, nil
}

// attempt asks for some slots, then for all if those are refused, unless c was woken for one slot. A contender that has
// queued was refused before, and asks for all at once.
func (c *permitContender) attempt(ctx context.Context) (lock *Lock, next step, err error) {
	slots, e := rand.Perm(c.limit), c.e
	at := slices.Index(slots, c.first)
	slots[0], slots[at] = slots[at], slots[0]
	most := min(c.limit, firstAsked)
	if c.state != nil && !c.woken {
		most = c.limit
	}
	for ; ; most = c.limit {
		c.freed = c.permits.freed.Load()
		var keys []string
		for _, slot := range slots[:min(most, e.cfg.Queue)] {
			keys = append(keys, slotKey(slot, c.name))
		}
		a, err := c.askJointly(ctx, keys, true)
		if err != nil {
			return nil, step{}, err
		}
		for i := range a.reqs { // the pipeline releases later grants
			if i != a.best && a.outs[i].Tally.Granted > 0 {
				e.undo(a.reqs[i])
			}
		}
		req, out := &a.reqs[a.best], &a.outs[a.best]
		if next = a.next; next.hold {
			lock, err := c.take(req, out, a.start)
			if err == nil {
				return lock, next, nil
			}
			next = c.retry(err)
		}
		if c.first = slots[a.best]; c.woken || most == c.limit || next.kind != ErrTaken {
			c.woken = false
			return nil, c.refused(req, out, next), nil
		}
		e.undo(*req)
		c.made-- // it is the same attempt
		slots = slices.Concat(slots[len(keys):], slots[:len(keys)])
	}
}

// take gives c the slot that it won.
func (c *permitContender) take(req *pipeline.Request, out *pipeline.Outcome, start clock.Instant) (*Lock, error) {
	s := c.e.names.shard(c.name)
	s.mu.Lock()
	defer s.unlock()
	now := clock.Now()
	n := s.stateLocked(req.Name, now)
	lock := grant(c.e, n, *req, int(out.Tally.Granted), start, now)
	err := lock.lease.overLocked(now)
	if err != nil || n.Lease != nil { // n.Lease was released by force, and its holder does not know it yet
		return nil, cmp.Or(err, ErrTaken)
	}
	c.takeLocked(lock, now)
	return lock, nil
}

// beginPermit reports whether c must queue: other callers of this process do, or as many ask as there are permits. The
// caller must call end: close waits for it.
func (t *nameTable) beginPermit(c *permitContender) (queues bool, err error) {
	s := t.shard(c.name)
	s.mu.Lock()
	defer s.unlock()
	if s.closed {
		return false, ErrClosed
	}
	t.awaited.Add(1)
	c.permits = s.stateLocked(c.name, c.begin)
	return c.permits.Enter(c.limit), nil
}

// permitQueue returns the queue for permits of which n is a slot; n: there is none.
func permitQueue(n *nameState) *nameState {
	_, of := inside.SlotOf(n.name)
	return cmp.Or(n.shard.states[inside.SlotPrefix+":"+of], n)
}

// slotReleased wakes the contender for a permit here, now that its slot n is free at the masters.
func slotReleased(n *nameState) {
	n.shard.mu.Lock()
	defer n.shard.unlock()
	q := permitQueue(n)
	q.freed.Add(1)
	if w := q.First(); w != nil && w.Of.stop != nil {
		go w.Of.stop()
	}
}

// queueFirst puts a contender in front of the queue, so that it may be handed a permit while it waits.
func (n *nameState) queueFirst(w *waiter) {
	n.shard.mu.Lock()
	defer n.shard.unlock()
	n.WaitFirst(w)
}

// leave takes a contender out of the queue, and returns the permit that was handed over to it; nil: none.
func (n *nameState) leave(w *waiter) *Lock {
	n.shard.mu.Lock()
	defer n.shard.unlock()
	n.Leave(w)
	return w.Of.lock
}
