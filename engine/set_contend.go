package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/quorum"
	"muxlock/pipeline"
)

// A setContender asks the masters for all names of a set at once. It is a contender of this process only while it asks,
// or has its turn at one name. So it blocks nobody while it waits:
//
//	queues here behind a name that is busy <---.
//	   | its turn                              | another is busy
//	   v                                       |
//	contends for all ---> asks the masters ----+--granted---> held
//	   ^                                       | refused
//	   '--- waits for the name that kept it <--'
type setContender struct {
	contender // of the name that was busy last; it does not contend for that name while it waits
	keys      []string
	states    []*nameState // by key
	shards    []*shard     // of the keys, in the order in which they are locked
	turn      *nameState   // the name at which it has its turn; nil: none
	all       bool         // it contends for all
	set       *Set         // the set that c acquired; nil: none yet
}

func (e *Engine) acquireAll(ctx context.Context, names []string, ttl time.Duration, most int, waitWhenFull bool) (*Set, error) {
	ctx, stop := waiting(ctx)
	defer stop()
	keys, err := e.cfg.keys(names)
	if err != nil {
		return nil, err
	}
	if err := e.refuseUpgrade(ctx, keys...); err != nil {
		return nil, err
	}
	first := e.at(keys[0])
	for i, key := range keys {
		if e.at(key) != first {
			return nil, invalid("names", "are of two groups of masters: %q and %q. Names with the same {tag} are in one", names[0], names[i])
		}
	}
	c := setContender{contender: e.newContender(most, waitWhenFull, ofSet), keys: keys, states: make([]*nameState, len(keys))}
	if err := c.ask(ctx, names[0], ttl); err != nil {
		return nil, err
	}
	c.shards = e.names.shardsOf(keys)
	_, err = persist(ctx, c.attempt, c.rest)
	if err != nil {
		name := c.name[len(e.cfg.Prefix):]
		if err = e.unlessKnown(c.name, errUnanswered, err); !errors.Is(err, ErrDenied) { // the masters do not say which name that is
			err = ofName(name, err)
		}
		err = e.record.notAcquired(name, c.asked, c.made, err)
	}
	c.leave()
	c.leaveReaders(err != nil)
	return c.set, err
}

// queueAll makes c the contender for all names, at once or after its turn at each that is busy in this process.
func (c *setContender) queueAll(ctx context.Context) error {
	e := c.e
	for {
		n, w, err := e.names.joinAll(c)
		switch {
		case err != nil:
			return err
		case w == nil && c.yieldFirst:
			c.yieldFirst = false
			return e.pause(ctx, 4*e.spread()+c.gap())
		case w == nil:
			return nil
		}
		c.withdraw() // a waiter in front of c may want to read
		c.keptBy(n)
		got, err := c.park(ctx, w)
		if err != nil {
			return err
		}
		c.turn, c.yieldFirst = n, got.yieldFirst
	}
}

// keptBy notes which name is busy. An intent at another name is of no use any more.
func (c *setContender) keptBy(n *nameState) {
	if n.name != c.name {
		c.withdraw()
	}
	c.name, c.state = n.name, n
}

// joinAll makes c the contender for all names, or queues it for a busy name and returns its waiter, or refuses it if it
// does not wait. In the same step c ends its turn. Otherwise two sets, each with its turn at a name of the other, could
// trade places for ever.
func (t *nameTable) joinAll(c *setContender) (n *nameState, w *waiter, err error) {
	now := clock.Now()
	lockAll(c.shards)
	defer unlockAll(c.shards)
	for i, key := range c.keys {
		s := t.shard(key)
		if s.closed {
			err = ErrClosed
		} else if n = s.stateLocked(key, now); n == c.turn || n.Ask() {
			c.states[i] = n // nobody queues behind it before all are unlocked
			continue
		} else if c.most == 1 {
			c.name, err = key, errTakenHere
			c.e.record.counts.taken.Add(1)
		}
		for _, mine := range c.states[:i] {
			mine.Asks = mine == c.turn
		}
		if err != nil {
			return nil, nil, err
		}
		if w = n.queueLocked(&c.contender, now); c.turn != nil {
			c.turn.contendNextLocked(c.yieldFirst)
			c.turn = nil
		}
		return n, w, nil
	}
	c.all, c.turn = true, nil
	return nil, nil, nil
}

// leave lets other callers of this process contend.
func (c *setContender) leave() {
	switch {
	case c.all:
		for _, n := range c.states {
			n.stopContending(false)
		}
	case c.turn != nil:
		c.turn.stopContending(c.yieldFirst)
	}
	c.all, c.turn = false, nil
}

// attempt contends for all names and asks the masters once, as contender.attempt does: it returns the first lock of the set.
// Without one, c contends no more if it is to try again.
func (c *setContender) attempt(ctx context.Context) (*Lock, step, error) {
	if err := c.queueAll(ctx); err != nil {
		return nil, step{}, err
	}
	a, err := c.askJointly(ctx, c.keys, false)
	if err != nil {
		return nil, step{}, err
	}
	next := a.next
	if next.hold {
		if c.set, err = c.takeAll(a.reqs, a.outs, a.start); err == nil {
			return c.set.locks[0], next, nil
		}
		next = c.retry(err)
	}
	kept := 0 // the name that most masters called held
	for i := range a.outs {
		if a.outs[i].Held > a.outs[kept].Held {
			kept = i
		}
		if i != a.best {
			a.reqs[i].Alone = a.outs[i].Denied != nil
			c.e.undo(a.reqs[i])
		}
	}
	c.keptBy(c.states[kept])
	next = c.refused(&a.reqs[a.best], &a.outs[a.best], next)
	if next.again {
		c.leave()
	}
	return nil, next, nil
}

// A joint attempt asks for several names at once: for a set, or for one of a choice.
type joint struct {
	reqs  []pipeline.Request
	outs  []pipeline.Outcome
	best  int           // whose votes decide
	start clock.Instant // of validity
	next  step
}

// askJointly asks the masters once. It raises fencing tokens that too few masters store.
func (c *contender) askJointly(ctx context.Context, keys []string, oneOf bool) (a joint, err error) {
	e := c.e
	a.reqs = make([]pipeline.Request, len(keys))
	number := e.sets.Add(1)
	for i, key := range keys {
		if a.reqs[i] = c.request(key); len(keys) > 1 {
			a.reqs[i].Set, a.reqs[i].OneOf = number, oneOf
		}
	}
	handed := clock.Now()
	var errs []error
	if a.outs, errs = e.askMany(ctx, a.reqs); cmp.Or(errs...) == nil {
		for i := range a.outs { // before a raise: fewer may answer that
			if a.outs[i].Tally.Granted > a.outs[a.best].Tally.Granted {
				a.best = i
			}
		}
		c.sample(&a.outs[a.best], handed)
		e.raiseLow(ctx, a.reqs, a.outs, errs)
	}
	if err := cmp.Or(errs...); err != nil {
		for i := range errs {
			if errs[i] == nil { // decided at the moment when ctx ended; the others are undone already
				e.undo(a.reqs[i])
			}
		}
		return a, err
	}
	if !oneOf { // all had the same votes, but one may not have been raised
		a.best = max(0, slices.IndexFunc(a.outs, func(out pipeline.Outcome) bool { return out.Verdict != quorum.Won }))
	}
	a.start, a.next = c.judge(&a.outs[a.best], handed)
	return a, nil
}

// takeAll gives c the locks of the set that it contended for, or none of them.
func (c *setContender) takeAll(reqs []pipeline.Request, outs []pipeline.Outcome, start clock.Instant) (*Set, error) {
	s := &Set{locks: make([]*Lock, len(reqs))}
	for i := range reqs {
		s.locks[i] = grant(c.e, c.states[i], reqs[i], int(outs[i].Tally.Granted), start, clock.Now())
	}
	lockAll(c.shards)
	defer unlockAll(c.shards)
	now := clock.Now()
	for _, l := range s.locks {
		if err := l.lease.overLocked(now); err != nil {
			return nil, err
		}
	}
	for _, l := range s.locks {
		c.takeLocked(l, now)
	}
	c.all = false
	return s, nil
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
