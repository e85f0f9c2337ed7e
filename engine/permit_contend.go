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
	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
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
	contender contender  // of the queue for permits of the name; its state is nil until it is the contender
	permits   *nameState // of the queue; not swept while p asks
	limit     int        // of the permits
	first     int        // the slot to ask for first
	woken     bool       // a notification says that first is free
	freed     int32      // how many permits of the name this process had released at its last request
	polls     int        // requests for all slots without being woken
}

// firstAsked is how many slots an attempt asks for first. More slots cost the masters more, and are hardly ever needed while
// half of all slots are free.
const firstAsked = 8

func (e *Engine) acquirePermit(ctx context.Context, name string, limit int, ttl time.Duration, most int, patient bool) (lock *Lock, err error) {
	p := permitContender{contender: e.newContender(most, patient, permit), limit: limit}
	c := &p.contender
	if c.traces(ctx) {
		defer func(ctx context.Context) { c.told(ctx, []string{name}, err, lock) }(ctx)
	}
	ctx, stop := waiting(ctx)
	defer stop()
	if limit < 1 || limit > limits.Permits {
		return nil, invalid("limit", "%d is not between 1 and %d", limit, limits.Permits)
	}
	key, err := e.cfg.key(name)
	if err != nil {
		return nil, err
	}
	if err := c.admit(ctx, inside.SlotPrefix+":"+key, ttl); err != nil {
		return nil, err
	}
	p.first = int(e.names.index(c.name)) % limit // a home: its seed differs from process to process
	lock, err = p.contend(ctx)
	if err != nil {
		return nil, c.failed(err)
	}
	return lock, nil
}

// contend asks the masters until they grant a permit, ctx ends or the attempts are used up.
func (p *permitContender) contend(ctx context.Context) (lock *Lock, err error) {
	c := &p.contender
	queues, err := c.e.names.beginPermit(p)
	if err != nil {
		return nil, err
	}
	defer func() {
		err = c.e.unlessKnown(c.name, errUnanswered, err) // before end clears the reason
		p.end()
	}()
	switch {
	case queues && !c.tries.waits():
		c.e.record.counts.fail(c.kind, whyTaken)
		return nil, errTakenHere
	case queues:
		if lock, err := p.wait(ctx, step{}); lock != nil || err != nil {
			return lock, err
		}
	}
	return persist(ctx, p.attempt, p.wait)
}

// end lets the next waiter of this process contend.
func (p *permitContender) end() {
	if n := p.contender.state; n != nil {
		n.stopContending(p.contender.turn.yieldFirst)
	}
	p.permits.shard.mu.Lock()
	p.permits.Exit()
	p.permits.shard.unlock()
	p.contender.e.names.contenderEnded()
}

// wait makes p the contender, and waits until a slot may be free; or returns a permit that was handed over. It waits for a
// slot only if the masters have just refused p or the contender before it.
func (p *permitContender) wait(ctx context.Context, next step) (*Lock, error) {
	c := &p.contender
	e := c.e
	if next.again {
		e.record.counts.retries.Add(1)
	}
	if c.state == nil {
		lock, err := c.queue(ctx, true, p.limit)
		if lock != nil || err != nil {
			c.state = nil
			return lock, err
		}
		if !c.turn.yieldFirst && (next.why == nil || c.turn.queued) {
			return nil, nil
		}
	}
	from, to := redlock.HeldDelay(e.cfg.RetryHeld << min(p.polls, 3))
	during, stop := context.WithTimeout(ctx, redlock.Jitter(from, to, fastrand.Uint32n))
	defer stop()
	w := &waiter{Kind: &kinds[c.kind].Kind, TTL: c.tries.ttl, Limit: p.limit, Since: c.turn.called, Of: parked{ready: make(chan struct{}, 1), kind: c.kind, stop: stop}}
	if p.permits.queueFirst(w); c.tries.made > 0 && p.permits.freed.Load() != p.freed { // one was released after it asked
		stop()
	}
	var err error
	if c.turn.yieldFirst = false; next.why != nil && next.why != ErrTaken {
		err = e.pause(during, to)
	} else {
		if c.tries.splits == 0 { // else somebody may hold p.first on a bare quorum
			p.first = rand.IntN(p.limit)
		}
		err = c.await(during, slotKey(p.first, c.name), next)
		if p.woken = err == nil; !p.woken {
			p.polls++
		}
	}
	switch lock := p.permits.leave(w); {
	case lock != nil && lock.collect(c.turn.called):
		c.got = gotHandedOver
		c.turn.yieldFirst = true // the next waiter was refused, too
		return lock, nil
	case lock != nil: // lost during the hand-over
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case during.Err() == nil || errors.Is(err, ErrClosed):
		return nil, err
	}
	return nil, nil
}

// attempt asks for some slots, then for all if those are refused, unless p was woken for one slot. A contender that has
// queued was refused before, and asks for all at once.
func (p *permitContender) attempt(ctx context.Context) (*Lock, step, error) {
	c := &p.contender
	slots, e := rand.Perm(p.limit), c.e
	at := slices.Index(slots, p.first)
	slots[0], slots[at] = slots[at], slots[0]
	most := min(p.limit, firstAsked)
	if c.state != nil && !p.woken {
		most = p.limit
	}
	for ; ; most = p.limit {
		p.freed = p.permits.freed.Load()
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
				e.masters.undo(a.reqs[i])
			}
		}
		req, out := &a.reqs[a.best], &a.outs[a.best]
		p.first = slots[a.best]
		if out.Verdict == quorum.Denied && most < p.limit && !p.woken {
			e.masters.undo(*req)
			slots = slices.Concat(slots[len(keys):], slots[:len(keys)])
			continue
		}
		p.woken = false
		start, next := c.judge(out, a.began)
		if next.hold {
			lock := grant(e, nil, *req, int(out.Tally.Granted), start, clock.Now())
			if err := c.take([]*shard{p.permits.shard}, lock); err == nil {
				return lock, next, nil
			} else {
				next = c.tries.retry(err)
			}
		}
		return nil, c.refused(req, out, next), nil
	}
}

// beginPermit reports whether p must queue: other callers of this process do, or as many ask as there are permits. The
// caller must call end: close waits for it.
func (t *nameTable) beginPermit(p *permitContender) (queues bool, err error) {
	s := t.shard(p.contender.name)
	s.mu.Lock()
	defer s.unlock()
	if s.closed {
		return false, ErrClosed
	}
	t.awaited.Add(1)
	p.permits = s.stateLocked(p.contender.name, p.contender.turn.began)
	return p.permits.Enter(p.limit), nil
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

// slotKey returns the key of a slot, given the key of the queue.
func slotKey(slot int, queue string) string {
	return inside.SlotKey(slot, queue[len(inside.SlotPrefix)+1:])
}
