package engine

import (
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"muxlock/engine/internal/hot"
	"muxlock/engine/internal/inside"
	"muxlock/engine/internal/turn"
	"muxlock/internal/clock"
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

	acquires, waits hot.Names // waits in ns

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
	ended  []contexts    // of locks that ended since mu was taken
	folded clock.Instant // when the heat of its names was last given to the sketch
	table  *nameTable    // fixed; no two shards share a cache line
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
	shard     *shard // fixed; a waiter reads it without the mutex
	name      string
	queue                // package turn has its rules
	awaited   bool       // close waits for the one who asks
	failed    error      // why the last attempt failed, ErrTaken or ErrNoQuorum; nil: not known
	lined     bool       // other processes stand in line for it, as last known
	named     *[2]string // in line behind the lease of this process, as last known; nil: nobody
	courtesy  courtesy
	strangers strangers
	heat      heat
	asker     asker        // if somebody asks
	freed     atomic.Int32 // how many permits were released at the masters
}

// An asker is who asks the masters, or who waits.
type asker struct {
	since clock.Instant
	kind  kind
}

// strangers are what this process knows of those of a name.
type strangers struct {
	seen    clock.Instant // when one was last seen to hold it; zero: never
	yielded clock.Instant // when this process last yielded the name to others, with waiters of its own; zero: never
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
			n.coolLocked()
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
		n.strangers.yielded = clock.Now()
	}
	w.Of.yieldFirst = yieldFirst
	n.wakeLocked(w)
}

// wakeLocked wakes a waiter that has left the queue. It has the lock, or asks the masters.
func (n *nameState) wakeLocked(w *waiter) {
	n.asker = asker{w.Since, w.Of.kind}
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

// shardsOf returns the shards of names, each once, in the order of the table.
func (t *nameTable) shardsOf(names []string) (shards []*shard) {
	var used [nameShards]bool
	for _, name := range names {
		used[t.index(name)] = true
	}
	for i := range used {
		if used[i] {
			shards = append(shards, &t.shards[i])
		}
	}
	return shards
}

// lockAll locks shards in the order of the table. Nobody else locks two.
func lockAll(shards []*shard) {
	for _, s := range shards {
		s.mu.Lock()
	}
}

func unlockAll(shards []*shard) {
	for _, s := range slices.Backward(shards) {
		s.unlock()
	}
}
