package engine

import (
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"muxlock/engine/internal/inside"
	"muxlock/engine/internal/turn"
	"muxlock/internal/clock"
	"muxlock/internal/oneline"
)

// A nameTable has the state of each name that this process locks. Of all goroutines that want one name, one
// contends for it at the masters. The others queue behind it. They get the lock in order of arrival, most of
// them without a request to the masters:
//
//	       join                    take                 handOverLocked
//	idle ------> one contends ---------> one holds --------------------> the next holds
//	               |    ^                   | bound reached, lost, or nobody waits
//	stopContending |    '-- the next one ---'
//	               '------> idle, if nobody waits
//
// A shard's mutex guards the state of its names: waiters, leases, handles. While it is held, nobody does I/O,
// calls the pipeline or runs user code. When a lock ends, its contexts are cancelled after the mutex is
// unlocked (shard.unlock).
type nameTable struct {
	seed    maphash.Seed
	waiters sync.Pool // each table has its own: a waiter's channel must stay in its testing/synctest bubble
	shards  [nameShards]shard

	awaited atomic.Int64  // contenders that close waits for, plus 1 until close has counted all
	drained chan struct{} // closed when awaited falls to 0
}

const nameShards = 256

type shard struct {
	mu     sync.Mutex // guards the following, and all that they point to
	states map[string]*nameState
	limit  int  // number of states at which a sweep is due
	timed  bool // a sweep is scheduled
	closed bool
	ended  []contexts // of locks that ended since mu was taken
	table  *nameTable // fixed; no two shards share a cache line
}

// contexts are the contexts of a lock that has ended. They are cancelled with the cause why.
type contexts struct {
	cancels map[*context.CancelCauseFunc]struct{}
	why     error
}

// unlock unlocks mu. A goroutine of its own cancels the contexts of locks that ended meanwhile. Cancelling
// calls their parents: user code, which may wait for the caller or the keeper.
func (s *shard) unlock() {
	if s.ended == nil {
		s.mu.Unlock()
		return
	}
	go cancelAll(s.unlockEnded())
}

// unlockEnded unlocks mu, and returns the contexts that the caller has to cancel.
func (s *shard) unlockEnded() (ended []contexts) {
	ended, s.ended = s.ended, nil
	s.mu.Unlock()
	return ended
}

// cancelAll cancels all contexts and waits for that. None waits for the parent of another.
func cancelAll(ended []contexts) {
	var all sync.WaitGroup
	for _, c := range ended {
		for cancel := range c.cancels {
			if len(ended)+len(c.cancels) == 2 { // there is no other
				(*cancel)(c.why)
				return
			}
			all.Go(func() { (*cancel)(c.why) })
		}
	}
	all.Wait()
}

// A nameState has what this process knows of a name. The queue says who here has it, asks for it and waits.
type nameState struct {
	shard    *shard // fixed; a waiter reads it without the mutex
	name     string
	queue                  // package turn has its rules
	awaited  bool          // close waits for the one who asks
	failed   error         // why the last attempt failed, ErrTaken or ErrNoQuorum; nil: not known
	term     clock.Instant // when this process last yielded the name to others, with waiters of its own; zero: never
	lined    bool          // other processes stand in line for it, as last known
	left     clock.Instant // when a writer of this process last released it
	readFor  time.Duration // how long after left the next writer leaves it to readers; 0: the last writer met none
	stranger clock.Instant // when a stranger was last seen to hold it; zero: never
	named    *[2]string    // in line behind the lease of this process, as last known; nil: nobody
	freed    atomic.Int32  // how many permits were released at the masters
}

type (
	queue  = turn.Queue[*lease, parked]
	waiter = turn.Waiter[parked]
)

// A parked caller waits in a queue. ready signals that it has left the queue: it has the lock, or is to contend for it.
type parked struct {
	ready      chan struct{} // capacity 1
	kind       kind
	lock       *Lock              // handed over
	inherited  *lease             // handed over, but to be extended first
	yieldFirst bool               // other processes contend first
	closed     bool               // the engine is
	stop       context.CancelFunc // ends the wait of a contender for a permit, and may call user code; nil: not for a permit
}

func (t *nameTable) init() {
	t.seed = maphash.MakeSeed()
	t.awaited.Store(1)
	t.drained = make(chan struct{})
	t.waiters.New = func() any { return &waiter{Of: parked{ready: make(chan struct{}, 1)}} }
	for i := range t.shards {
		t.shards[i].states = make(map[string]*nameState)
		t.shards[i].limit = sweepFrom
		t.shards[i].table = t
	}
}

// index returns the index of a name's shard. The permits of a name share one shard.
func (t *nameTable) index(name string) uint64 {
	_, of := inside.SlotOf(name)
	return maphash.String(t.seed, of) % nameShards
}

func (t *nameTable) shard(name string) *shard { return &t.shards[t.index(name)] }

// join makes the caller the contender, or puts it into the queue and returns its waiter, or refuses a caller
// that does not wait. A reader may join others and gets its lock.
func (t *nameTable) join(c *contender, wait bool) (n *nameState, w *waiter, lock *Lock, err error) {
	s := t.shard(c.name)
	s.mu.Lock()
	defer s.unlock()
	if s.closed {
		return nil, nil, nil, ErrClosed
	}
	n = s.stateLocked(c.name, c.begin)
	switch n.Join(&kinds[c.kind].Kind, c.ttl, wait, c.e.cfg.HandOverTime, c.begin) {
	case turn.Asks:
		n.Asks = !c.comesBackLocked(n)
	case turn.Joins:
		lock = n.Lease.joinLocked(c.ttl)
	case turn.Refused:
		c.e.record.counts.taken.Add(1)
		err = errTakenHere
	case turn.Waits:
		w = n.queueLocked(c, c.begin)
	}
	return n, w, lock, err
}

// stateLocked returns the state of a name.
func (s *shard) stateLocked(name string, now clock.Instant) *nameState {
	n := s.states[name]
	if n == nil {
		if len(s.states) >= s.limit {
			s.sweepLocked(now)
		}
		n = &nameState{shard: s, name: name}
		s.states[name] = n
		if len(s.states) > sweepFrom && !s.timed {
			s.timed = true
			time.AfterFunc(sweepEvery, s.sweep)
		}
	}
	n.Lease.expireLocked(now) // may leave the name to the caller, or to a waiter
	return n
}

// queueLocked puts a waiter into the queue.
func (n *nameState) queueLocked(c *contender, now clock.Instant) *waiter {
	w := n.shard.table.waiters.Get().(*waiter)
	w.Kind, w.TTL, w.Limit, w.Since, w.Of.kind = &kinds[c.kind].Kind, c.ttl, c.limit, now, c.kind
	n.Wait(w)
	if n.Lease != nil {
		n.Lease.scheduleLocked(now) // w is woken when it ends
	}
	return w
}

const (
	// A shard is swept when it has twice as many names as the last sweep left, and at least sweepFrom. A sweep
	// drops what is unused, and leases that ran out without a release. Dropping it
	// at once would cost the next caller an insertion.
	sweepFrom = 16
	// sweepEvery is the period of further sweeps. They free the memory of a burst of names.
	sweepEvery = 10 * time.Second
)

// sweep runs on a timer as long as there are more than a few names.
func (s *shard) sweep() {
	s.mu.Lock()
	defer s.unlock()
	if s.closed {
		return
	}
	s.sweepLocked(clock.Now())
	if s.timed = len(s.states) > sweepFrom; s.timed {
		time.AfterFunc(sweepEvery, s.sweep)
	}
}

func (s *shard) sweepLocked(now clock.Instant) {
	before := len(s.states)
	for name, n := range s.states {
		n.Lease.expireLocked(now)
		for _, l := range slices.Clone(n.Apart) {
			l.expireLocked(now)
		}
		if n.Unused() {
			delete(s.states, name)
		}
	}
	s.limit = max(sweepFrom, 2*len(s.states))
	if len(s.states) < before/4 { // a map never shrinks
		s.states = maps.Collect(maps.All(s.states))
	}
}

// contendNextLocked makes the first waiter contend. The waiter yields first if this process has just held the
// lock.
func (n *nameState) contendNextLocked(yieldFirst bool) {
	if n.awaited {
		n.awaited = false
		n.shard.table.contenderEnded()
	}
	w := n.Next()
	if w == nil {
		n.failed = nil // with no contender here, the reason would become stale
		return
	}
	if yieldFirst {
		n.term = clock.Now()
	}
	w.Of.yieldFirst = yieldFirst
	w.Of.ready <- struct{}{}
}

// failedFor notes why an attempt failed.
func (n *nameState) failedFor(kind error) {
	if kind != ErrTaken && kind != ErrNoQuorum {
		return
	}
	n.shard.mu.Lock()
	n.failed = kind
	n.shard.unlock()
}

// why returns the last known reason why the name cannot be acquired, ErrTaken or ErrNoQuorum; nil: none is
// known.
func (t *nameTable) why(name string) error {
	s := t.shard(name)
	s.mu.Lock()
	defer s.unlock()
	switch n := s.states[name]; {
	case n == nil:
		return nil
	case n.Lease != nil:
		return ErrTaken
	default:
		return n.failed
	}
}

// stopContending makes the next waiter contend instead of the caller.
func (n *nameState) stopContending(yieldFirst bool) {
	n.shard.mu.Lock()
	defer n.shard.unlock()
	n.contendNextLocked(yieldFirst)
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

// close ends all leases, and the wait of all waiters with ErrClosed. Contenders release locks that are granted
// meanwhile. drained is closed when the last contender has ended.
func (t *nameTable) close() {
	var ended []contexts
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		s.closed = true
		for _, n := range s.states {
			for w := n.Pop(); w != nil; w = n.Pop() {
				w.Of.closed = true
				w.Of.ready <- struct{}{}
			}
			for _, l := range append(slices.Clone(n.Apart), n.Lease) {
				l.loseLocked(ErrClosed)
			}
			if n.awaited = n.Asks; n.awaited {
				t.awaited.Add(1)
			}
		}
		ended = append(ended, s.unlockEnded()...)
	}
	t.contenderEnded()
	cancelAll(ended)
}

func (t *nameTable) contenderEnded() {
	if t.awaited.Add(-1) == 0 {
		close(t.drained)
	}
}
