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
	contender contender // of the name that was busy last; it does not contend for that name while it waits
	keys      []string
	states    []*nameState // by key
	shards    []*shard     // of the keys, in the order in which they are locked
	turn      *nameState   // the name at which it has its turn; nil: none
	all       bool         // it contends for all
	locks     []*Lock      // that s acquired; nil: none yet
}

func (e *Engine) acquireAll(ctx context.Context, names []string, ttl time.Duration, most int, patient bool) (locks []*Lock, err error) {
	s := setContender{contender: e.newContender(most, patient, ofSet)}
	c := &s.contender
	if c.traces(ctx) {
		defer func(ctx context.Context) { c.told(ctx, slices.Clone(names), err, locks...) }(ctx)
	}
	ctx, stop := waiting(ctx)
	defer stop()
	keys, err := e.cfg.keys(names)
	if err != nil {
		return nil, err
	}
	if err := c.checkNested(ctx, keys...); err != nil {
		return nil, err
	}
	first := e.masters.at(keys[0])
	for i, key := range keys {
		if e.masters.at(key) != first {
			return nil, invalid("names", "are of two groups of masters: %q and %q. Names with the same {tag} are in one", names[0], names[i])
		}
	}
	s.keys, s.states, s.shards = keys, make([]*nameState, len(keys)), e.names.shardsOf(keys)
	if err := c.admit(ctx, keys[0], ttl); err != nil {
		return nil, err
	}
	if _, err = persist(ctx, s.attempt, c.rest); err != nil {
		if err = e.unlessKnown(c.name, errUnanswered, err); !errors.Is(err, ErrDenied) { // the masters do not say which name that is
			err = ofName(e.cfg.nameOf(c.name), err)
		}
		err = c.failed(err)
	}
	s.leave()
	c.leaveReaders(err != nil)
	return s.locks, err
}

// queueAll makes s the contender for all names, at once or after its turn at each that is busy in this process.
func (s *setContender) queueAll(ctx context.Context) error {
	c := &s.contender
	for {
		n, w, err := c.e.names.joinAll(s)
		switch {
		case err != nil:
			return err
		case w == nil && c.turn.yieldFirst:
			c.turn.yieldFirst = false
			return c.e.pause(ctx, 4*c.e.masters.spread()+c.gap())
		case w == nil:
			return nil
		}
		c.withdraw() // a waiter in front of s may want to read
		s.keptBy(n)
		got, err := c.park(ctx, w)
		if err != nil {
			return err
		}
		s.turn, c.turn.yieldFirst = n, got.yieldFirst
		c.turn.contended = c.turn.contended || got.yieldFirst
	}
}

// keptBy notes which name is busy. An intent at another name is of no use any more.
func (s *setContender) keptBy(n *nameState) {
	c := &s.contender
	if n.name != c.name {
		c.others.holder = ""
		c.withdraw()
	}
	c.name, c.state = n.name, n
}

// joinAll makes s the contender for all names, or queues it for a busy name and returns its waiter, or refuses it if it
// does not wait. In the same step s ends its turn. Otherwise two sets, each with its turn at a name of the other, could
// trade places for ever.
func (t *nameTable) joinAll(s *setContender) (n *nameState, w *waiter, err error) {
	c, now := &s.contender, clock.Now()
	lockAll(s.shards)
	defer unlockAll(s.shards)
	for i, key := range s.keys {
		shard := t.shard(key)
		if shard.closed {
			err = ErrClosed
		} else if n = shard.stateLocked(key, now); n == s.turn || n.Begin() {
			s.states[i], n.asker = n, asker{c.turn.called, c.kind} // nobody queues behind it before all are unlocked
			continue
		} else if !c.tries.waits() {
			c.name, err = key, errTakenHere
			c.e.record.counts.fail(c.kind, whyTaken)
		}
		for _, mine := range s.states[:i] {
			mine.Asks = mine == s.turn
		}
		if err != nil {
			return nil, nil, err
		}
		if w = n.queueLocked(c, 0, now); s.turn != nil {
			s.turn.contendNextLocked(c.turn.yieldFirst)
			s.turn = nil
		}
		return n, w, nil
	}
	s.all, s.turn = true, nil
	return nil, nil, nil
}

// leave lets other callers of this process contend.
func (s *setContender) leave() {
	switch {
	case s.all:
		for _, n := range s.states {
			n.stopContending(false)
		}
	case s.turn != nil:
		s.turn.stopContending(s.contender.turn.yieldFirst)
	}
	s.all, s.turn = false, nil
}

// attempt contends for all names and asks the masters once, as contender.attempt does: it returns the first lock of the set.
// Without one, s contends no more if it is to try again.
func (s *setContender) attempt(ctx context.Context) (*Lock, step, error) {
	if err := s.queueAll(ctx); err != nil {
		return nil, step{}, err
	}
	c := &s.contender
	a, err := c.askJointly(ctx, s.keys, false)
	if err != nil {
		return nil, step{}, err
	}
	// all had the same votes, but one may not have been raised
	a.best = max(0, slices.IndexFunc(a.outs, func(out pipeline.Outcome) bool { return out.Verdict != quorum.Won }))
	start, next := c.judge(&a.outs[a.best], a.began)
	if next.hold {
		locks := make([]*Lock, len(a.reqs))
		for i := range a.reqs {
			locks[i] = grant(c.e, s.states[i], a.reqs[i], int(a.outs[i].Tally.Granted), start, clock.Now())
		}
		if err = c.take(s.shards, locks...); err == nil {
			s.locks, s.all = locks, false
			return locks[0], next, nil
		}
		next = c.tries.retry(err)
	}
	kept := 0 // the name that most masters called held
	for i := range a.outs {
		if a.outs[i].Held > a.outs[kept].Held {
			kept = i
		}
		if i != a.best {
			a.reqs[i].Alone = a.outs[i].Denied != nil
			c.e.masters.undo(a.reqs[i])
		}
	}
	s.keptBy(s.states[kept])
	next = c.refused(&a.reqs[a.best], &a.outs[a.best], next)
	if next.again {
		s.leave()
	}
	return nil, next, nil
}

// A joint attempt asks for several names at once: for a set, or for one of a choice.
type joint struct {
	reqs  []pipeline.Request
	outs  []pipeline.Outcome
	best  int // which most masters granted
	began clock.Instant
}

// askJointly asks the masters once. It raises fencing tokens that too few masters store.
func (c *contender) askJointly(ctx context.Context, keys []string, oneOf bool) (a joint, err error) {
	m := &c.e.masters
	a.reqs = make([]pipeline.Request, len(keys))
	number := m.joint.Add(1)
	for i, key := range keys {
		if a.reqs[i] = c.request(key); len(keys) > 1 {
			a.reqs[i].Joint, a.reqs[i].OneOf = number, oneOf
		}
	}
	a.began = clock.Now()
	var errs []error
	if a.outs, errs = m.askMany(ctx, a.reqs); cmp.Or(errs...) == nil {
		for i := range a.outs { // before a raise: fewer may answer that
			if a.outs[i].Tally.Granted > a.outs[a.best].Tally.Granted {
				a.best = i
			}
		}
		m.sample(&a.outs[a.best], c.turn.contended, sentAt(a.outs[a.best], a.began))
		m.raiseLow(ctx, a.reqs, a.outs, errs)
	}
	if err = cmp.Or(errs...); err != nil {
		for i := range errs {
			if errs[i] == nil { // decided at the moment when ctx ended; the others are undone already
				m.undo(a.reqs[i])
			}
		}
	}
	return a, err
}
