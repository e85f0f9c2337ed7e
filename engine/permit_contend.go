package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/valyala/fastrand"

	"muxlock/internal/clock"
	"muxlock/internal/oneline"
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
	contender // of the queue for permits of the name; state is nil until it is the contender
	key       string
	limit     int
	first     int  // the slot to ask for first
	woken     bool // it is said to be free
	polls     int  // how often it has asked for all slots without being woken
}

// firstAsked is how many slots an attempt asks for first. More cost the masters more, and are hardly ever needed while half
// of them are free.
const firstAsked = 8

func (e *Engine) acquirePermit(ctx context.Context, name string, limit int, ttl time.Duration, most int, waitWhenFull bool) (*Lock, error) {
	if limit < 1 || limit > mostPermits {
		return nil, invalid("limit", "%d is not between 1 and %d", limit, mostPermits)
	}
	c := permitContender{contender: e.newContender(most, waitWhenFull), limit: limit}
	c.name = slotPrefix + ":"
	if err := c.ask(ctx, name, ttl); err != nil {
		return nil, err
	}
	_, c.key = slotOf(c.name)
	lock, err := c.contend(ctx)
	if err != nil {
		err = e.notAcquired(name, c.asked, c.made, e.unlessKnown(c.name, errUnanswered, err))
	}
	return lock, err
}

// contend asks the masters until they grant a permit, ctx ends or the attempts are used up.
func (c *permitContender) contend(ctx context.Context) (*Lock, error) {
	e := c.e
	home, waits, err := e.names.beginPermit(c.name)
	if err != nil {
		return nil, err
	}
	defer c.end()
	c.first = home % c.limit
	if waits && c.most == 1 {
		e.counts.taken.Add(1)
		return nil, errTakenHere
	} else if waits {
		if lock, err := c.wait(ctx, step{}); lock != nil || err != nil {
			return lock, err
		}
	}
	for {
		lock, next, err := c.attempt(ctx)
		switch {
		case lock != nil || err != nil:
			return lock, err
		case !next.again:
			return nil, next.failed
		}
		if lock, err = c.wait(ctx, next); lock != nil {
			return lock, nil
		} else if err != nil {
			return nil, oneline.Join(next.failed, err)
		}
		e.counts.retries.Add(1)
	}
}

// end lets the next of this process contend.
func (c *permitContender) end() {
	if c.state != nil {
		c.state.stopContending(c.yieldFirst)
	}
	c.e.names.contenderEnded()
}

// wait makes c the contender, and waits until a slot may be free; or returns a permit that was handed over. It does not
// wait for a slot if nobody was refused one since c was.
func (c *permitContender) wait(ctx context.Context, next step) (*Lock, error) {
	e := c.e
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
	next.await = next.kind == ErrTaken || next.kind == nil
	delay := redlock.Jitter(next.from, next.to, fastrand.Uint32n)
	if next.await {
		from, to := redlock.HeldDelay(e.cfg.RetryHeld << min(c.polls, 5))
		delay = redlock.Jitter(from, to, fastrand.Uint32n)
	}
	during, cancel := context.WithTimeout(ctx, delay)
	defer cancel()
	during, stop := context.WithCancelCause(during)
	defer stop(nil)
	c.yieldFirst = false
	w := &waiter{ttl: c.ttl, ready: make(chan struct{}, 1), stop: &stop}
	c.state.queueFirst(w)
	var err error
	if next.await {
		if c.splits == 0 {
			c.first = rand.IntN(c.limit)
		}
		err = c.await(during, slotKey(c.first, c.key), next)
		c.woken = err == nil
	} else {
		err = e.pause(during, delay)
	}
	switch lock := c.state.leave(w); {
	case lock != nil && lock.collect(c.asked):
		c.yieldFirst = true // the next was refused as c was
		return lock, nil
	case lock != nil:
		lock.lease.giveUp() // its validity ran out on the way
		return nil, nil
	case during.Err() != nil && ctx.Err() == nil && !errors.Is(err, ErrClosed):
		c.polls++
		return nil, nil
	}
	return nil, err
}

// attempt asks for some slots, and for all if those are refused.
func (c *permitContender) attempt(ctx context.Context) (*Lock, step, error) {
	lock, next, err := c.askFor(ctx, min(c.limit, firstAsked))
	if c.limit > firstAsked && !c.woken && err == nil && next.kind == ErrTaken {
		c.made-- // it is the same attempt
		return c.askFor(ctx, c.limit)
	}
	c.woken = false
	return lock, next, err
}

// askFor asks for slots, as contender.attempt does for a name.
func (c *permitContender) askFor(ctx context.Context, most int) (*Lock, step, error) {
	e := c.e
	number, slots := e.sets.Add(1), c.slots(most)
	reqs, outs := make([]pipeline.Request, len(slots)), make([]pipeline.Outcome, len(slots))
	for i, slot := range slots {
		if reqs[i] = c.request(slotKey(slot, c.key)); len(slots) > 1 {
			reqs[i].Set, reqs[i].OneOf = number, true
		}
	}
	handed := clock.Now()
	if err := e.askAll(ctx, reqs, outs); err != nil {
		return nil, step{}, err
	}
	best := 0 // the slot that most masters granted
	for i := range outs {
		if outs[i].Tally.Granted > outs[best].Tally.Granted {
			best = i
		}
	}
	req, out := &reqs[best], &outs[best]
	start, next := c.judge(req, out, handed)
	c.sample(out, start)
	if next.hold && e.cfg.Fencing {
		second, err := e.raiseAll(ctx, reqs[best:best+1], outs[best:best+1])
		if err != nil {
			return nil, step{}, err
		}
		if second != nil {
			next = c.raised(out, second, start)
		}
	}
	if next.hold {
		lock, err := c.take(req, int(out.Tally.Granted), slots[best], start)
		if err == nil {
			return lock, next, nil
		}
		next = c.retry(err)
	}
	c.first = slots[best]
	return nil, c.refused(req, out, next), nil
}

// slots returns so many slots to ask for, all but the first by chance.
func (c *permitContender) slots(most int) []int {
	slots := rand.Perm(c.limit)
	at := slices.Index(slots, c.first)
	slots[0], slots[at] = slots[at], slots[0]
	return slots[:min(most, c.e.cfg.Queue)]
}

// take gives c the slot that it won.
func (c *permitContender) take(req *pipeline.Request, heldOn, slot int, start clock.Instant) (*Lock, error) {
	s := c.e.names.shard(c.name)
	s.mu.Lock()
	defer s.unlock()
	now := clock.Now()
	q, n := s.stateLocked(c.name, now), s.stateLocked(req.Name, now)
	lock := grant(c.e, n, *req, heldOn, start, now)
	if err := lock.lease.overLocked(now); err != nil {
		return nil, err
	}
	if n.lease != nil { // it was released by force, and its holder does not know it yet
		return nil, ErrTaken
	}
	q.slot = 1 + slot
	c.takeLocked(lock, now)
	return lock, nil
}

// beginPermit returns the slot that this process had last, or an arbitrary one, and whether somebody waits here for a
// permit. contenderEnded must follow: close waits for it.
func (t *nameTable) beginPermit(queue string) (slot int, waits bool, err error) {
	s := t.shard(queue)
	s.mu.Lock()
	defer s.unlock()
	if s.closed {
		return 0, false, ErrClosed
	}
	t.awaited.Add(1)
	n := s.states[queue]
	if n == nil || n.slot == 0 {
		slot = int(t.index(queue))
	} else {
		slot = n.slot - 1
	}
	return slot, n != nil && !n.idleLocked(), nil
}

// wantedLocked returns the state whose waiters want what n has: its own, or that of the queue for permits.
func (n *nameState) wantedLocked() *nameState {
	if slot, of := slotOf(n.name); slot >= 0 {
		if q := n.shard.states[slotPrefix+":"+of]; q != nil {
			return q
		}
	}
	return n
}

// queueFirst puts a contender in front of the queue, so that it may be handed a permit while it waits.
func (n *nameState) queueFirst(w *waiter) {
	n.shard.mu.Lock()
	defer n.shard.unlock()
	if w.next, w.queued = n.first, true; w.next == nil {
		n.last = w
	} else {
		w.next.prev = w
	}
	n.first = w
}

// leave takes a contender out of the queue, and returns the permit that it was handed.
func (n *nameState) leave(w *waiter) *Lock {
	n.shard.mu.Lock()
	defer n.shard.unlock()
	if w.queued {
		n.removeLocked(w)
	}
	return w.lock
}
