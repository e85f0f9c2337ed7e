package engine

import (
	"context"
	"hash/maphash"
	"maps"
	"sync"
	"time"

	"muxlock/internal/clock"
)

// Names is what this process does about the names that it locks. Of all goroutines that
// want one name, one contends for it at the masters; the others queue behind it, and get
// the lock in order of arrival, most of them without a message to anybody:
//
//	        join                    take                      pass
//	nobody ------> one contends ---------> one holds --------------------> the next holds
//	                 |    ^                   | turn over, lost or nobody waits
//	          resign |    '-- the next one ---'
//	                 '------> nobody, if nobody waits
//
// The mutex of a shard guards all about its names: places, waiters, leases, handles.
// Under it nobody does I/O, calls the pipeline or runs code of the user's.
type names struct {
	seed   maphash.Seed
	shards [nameShards]shard
}

const nameShards = 256

type shard struct {
	mu     sync.Mutex // guards the following, and all that hangs on them
	places map[string]*place
	limit  int  // so many places ask for a sweep
	timed  bool // a sweep is on its way
	closed bool
	_      [32]byte // no two shards share a cache line
}

// A place is one name's: who holds it here, who contends, who waits.
type place struct {
	shard  *shard // fixed; a waiter reads it without the mutex
	name   string
	lease  *lease // held by this process; nil: not
	trying bool   // one of ours contends
	first  *waiter
	last   *waiter
}

// idleLocked reports whether nobody here does anything about the name. Its place stays
// until the next sweep: who wants it again saves taking it out and putting it back.
func (p *place) idleLocked() bool { return p.lease == nil && !p.trying && p.first == nil }

// A waiter is one goroutine in a place's queue. ready says that it has left the queue:
// with the lock, or to contend for it.
type waiter struct {
	ttl        time.Duration
	ready      chan struct{} // capacity 1
	prev, next *waiter       // guarded by the shard's mutex, like the following
	queued     bool
	lock       *Lock  // handed over
	heir       *lease // handed over, but to be extended first
	late       bool   // contend, but let others go first
	err        error  // closed
}

var waiters = sync.Pool{New: func() any { return &waiter{ready: make(chan struct{}, 1)} }}

func (n *names) init() {
	n.seed = maphash.MakeSeed()
	for i := range n.shards {
		n.shards[i].places = make(map[string]*place)
		n.shards[i].limit = sweepFrom
	}
}

// join makes the caller the one who contends, or puts it into the queue (w is not nil
// then), or refuses a caller that will not wait.
func (n *names) join(e *Engine, name string, ttl time.Duration, wait bool, now clock.Instant) (p *place, w *waiter, err error) {
	s := &n.shards[maphash.String(n.seed, name)%nameShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, ErrClosed
	}
	p = s.places[name]
	if p == nil {
		if len(s.places) >= s.limit {
			s.sweepLocked(now)
		}
		p = &place{shard: s, name: name}
		s.places[name] = p
		if len(s.places) > sweepFrom && !s.timed {
			s.timed = true
			time.AfterFunc(sweepEvery, s.sweep)
		}
	}
	if p.lease != nil {
		p.lease.expireLocked(now) // may leave the place to us, or to those who wait already
	}
	if p.idleLocked() {
		p.trying = true
		return p, nil, nil
	}
	if !wait {
		return nil, nil, errHere
	}
	w = waiters.Get().(*waiter)
	w.ttl, w.queued = ttl, true
	if w.prev = p.last; w.prev == nil {
		p.first = w
	} else {
		w.prev.next = w
	}
	p.last = w
	if p.lease != nil {
		p.lease.attendLocked(now) // somebody is to be woken when it ends
	}
	return p, w, nil
}

const (
	// sweepFrom is from how many names on a shard looks for idle places, and for leases that
	// ran out and that nobody released: when it has twice as many as it last kept, and
	sweepFrom = 16
	// every so often, so that what a burst of names took is given back when it is over.
	sweepEvery = 10 * time.Second
)

// sweep runs on a timer as long as there are more than a few names.
func (s *shard) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.sweepLocked(clock.Now())
	if s.timed = len(s.places) > sweepFrom; s.timed {
		time.AfterFunc(sweepEvery, s.sweep)
	}
}

func (s *shard) sweepLocked(now clock.Instant) {
	before := len(s.places)
	for name, p := range s.places {
		if p.lease != nil {
			p.lease.expireLocked(now)
		}
		if p.idleLocked() {
			delete(s.places, name)
		}
	}
	s.limit = max(sweepFrom, 2*len(s.places))
	if len(s.places) < before/4 { // a map keeps the room that it once had
		s.places = maps.Collect(maps.All(s.places))
	}
}

// popLocked takes the first waiter out of the queue.
func (p *place) popLocked() *waiter {
	w := p.first
	if w != nil {
		p.removeLocked(w)
	}
	return w
}

func (p *place) removeLocked(w *waiter) {
	if w.prev == nil {
		p.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		p.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next, w.queued = nil, nil, false
}

// nextLocked makes the first waiter contend: late, if this process has had its turn; with
// an heir, a lease that it may try to extend instead.
func (p *place) nextLocked(late bool, heir *lease) {
	p.lease = nil
	w := p.popLocked()
	if p.trying = w != nil; p.trying {
		w.late, w.heir = late, heir
		w.ready <- struct{}{}
	}
}

// resign ends the caller's turn to contend; late, if its process has just had the lock.
func (p *place) resign(late bool) {
	p.shard.mu.Lock()
	defer p.shard.mu.Unlock()
	p.nextLocked(late, nil)
}

// wait parks the caller until it leaves the queue or ctx ends. What it was given at that
// very moment goes to the next.
func (p *place) wait(ctx context.Context, w *waiter) (got waiter, err error) {
	left := false
	select {
	case <-w.ready:
	case <-ctx.Done():
		err = ctx.Err()
		p.shard.mu.Lock()
		if left = w.queued; left {
			p.removeLocked(w)
		}
		p.shard.mu.Unlock()
		if !left {
			<-w.ready
		}
	}
	got = *w
	*w = waiter{ready: w.ready}
	waiters.Put(w)
	switch {
	case err == nil:
		return got, got.err
	case left || got.err != nil:
	case got.lock != nil:
		_ = got.lock.Release(ctx) // to the next; that ctx has ended does not matter
	default:
		if got.heir != nil {
			got.heir.giveUp()
		}
		p.resign(got.late)
	}
	return waiter{}, err
}

// close ends all leases, and sends home all who wait.
func (n *names) close() {
	for i := range n.shards {
		s := &n.shards[i]
		s.mu.Lock()
		s.closed = true
		for _, p := range s.places {
			for w := p.popLocked(); w != nil; w = p.popLocked() {
				w.err = ErrClosed
				w.ready <- struct{}{}
			}
			if p.lease != nil {
				p.lease.loseLocked(ErrClosed)
			}
		}
		s.mu.Unlock()
	}
}
