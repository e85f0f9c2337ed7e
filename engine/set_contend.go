package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/valyala/fastrand"

	"muxlock/internal/clock"
	"muxlock/internal/oneline"
	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
	"muxlock/pipeline"
)

// A setContender asks the masters for all names of a set at once. Of each name it is the contender of this process
// only while it asks. So it keeps no other from a name that it does not get:
//
//	queues here behind a name that is busy <---------.
//	   | its turn                                    | another is busy
//	   v                                             |
//	contends for that name ----------------> contends for all: asks the masters --> held
//	   ^                                             | refused
//	   '-- waits for the name that kept it <---------'
type setContender struct {
	contender // of the name that it waits for; state is nil while there is none
	names     []string
	states    []*nameState // by name
	shards    []*shard     // of the names, in the order in which they are locked
	all       bool         // it contends for all names
}

func (e *Engine) acquireAll(ctx context.Context, names []string, ttl time.Duration, most int, waitWhenFull bool) (*Set, error) {
	keys, err := e.cfg.keys(names)
	if err != nil {
		return nil, err
	}
	c := setContender{contender: e.newContender(most, waitWhenFull), names: keys, states: make([]*nameState, len(keys))}
	if err := c.ask(ctx, names[0], ttl); err != nil {
		return nil, err
	}
	c.shards = e.names.shardsOf(keys)
	s, err := c.contend(ctx)
	c.leave(nil)
	if err != nil {
		name := c.name[len(e.cfg.Prefix):]
		return nil, e.notAcquired(name, c.asked, c.made, ofName(name, e.unlessKnown(c.name, errUnanswered, err)))
	}
	return s, nil
}

// contend asks the masters until they grant the set, ctx ends or the attempts are used up.
func (c *setContender) contend(ctx context.Context) (*Set, error) {
	e := c.e
	var last error // of the attempt before
	for {
		err := c.queueAll(ctx)
		var s *Set
		var next step
		if err == nil {
			s, next, err = c.attempt(ctx)
		}
		switch {
		case s != nil:
			return s, nil
		case err != nil:
			return nil, oneline.Join(last, err)
		case !next.again:
			return nil, next.failed
		}
		last = next.failed
		if next.await {
			err = c.await(ctx, next)
		} else {
			err = e.pause(ctx, redlock.Jitter(next.from, next.to, fastrand.Uint32n))
		}
		if err != nil {
			return nil, oneline.Join(last, err)
		}
		e.counts.retries.Add(1)
	}
}

// queueAll makes c the contender for all names, at once or after its turn at each that is busy in this process.
func (c *setContender) queueAll(ctx context.Context) error {
	e := c.e
	for {
		n, w, err := e.names.joinAll(c)
		if errors.Is(err, ErrTaken) {
			e.counts.taken.Add(1)
		}
		if w == nil {
			return err
		}
		c.name, c.state = n.name, nil
		e.counts.waiting.Add(1)
		got, err := e.names.wait(ctx, n, w)
		e.counts.waiting.Add(-1)
		if err != nil {
			return oneline.Join(errTakenHere, err)
		}
		c.state, c.yieldFirst = n, got.yieldFirst
		if c.yieldFirst {
			if err := e.pause(ctx, 4*e.spread()+c.gap()); err != nil {
				return err
			}
		}
	}
}

// joinAll makes c the contender for all names, or puts it into the queue of one that is busy and returns its waiter, or
// refuses it if it does not wait. In the same step c leaves the name for which it contends: else two that each contend
// for a name of the other could trade places for ever.
func (t *nameTable) joinAll(c *setContender) (n *nameState, w *waiter, err error) {
	now := clock.Now()
	lockAll(c.shards)
	defer unlockAll(c.shards)
	for i, name := range c.names {
		s := t.shard(name)
		if s.closed {
			n, err = nil, ErrClosed
		} else if n = s.stateLocked(name, now); n.idleLocked() || n == c.state {
			n.contending, c.states[i] = true, n // nobody queues behind it before all are unlocked
			continue
		}
		for _, mine := range c.states[:i] {
			mine.contending = mine == c.state
		}
		switch {
		case err != nil:
			return nil, nil, err
		case c.most == 1:
			c.name = name
			return nil, nil, errTakenHere
		}
		if w = n.queueLocked(c.ttl, true, now); c.state != nil {
			c.state.contendNextLocked(false, nil)
		}
		return n, w, nil
	}
	c.all = true
	return nil, nil, nil
}

// leave lets others of this process contend for all names but one; nil: for all.
func (c *setContender) leave(but *nameState) {
	switch {
	case c.all:
		for _, n := range c.states {
			if n != but {
				n.stopContending(false)
			}
		}
	case c.state != nil && c.state != but:
		c.state.stopContending(false)
	}
	c.all, c.state = false, but
}

// attempt asks the masters once, as contender.attempt does. It leaves the names that did not keep it.
func (c *setContender) attempt(ctx context.Context) (*Set, step, error) {
	e := c.e
	reqs, outs := make([]pipeline.Request, len(c.names)), make([]pipeline.Outcome, len(c.names))
	number := e.sets.Add(1)
	for i, name := range c.names {
		if reqs[i] = c.request(name); len(reqs) > 1 {
			reqs[i].Set = number
		}
	}
	handed := clock.Now()
	if err := c.askAll(ctx, reqs, outs); err != nil {
		return nil, step{}, err
	}
	start, next := c.judge(&reqs[0], &outs[0], handed) // all have the same votes
	c.sample(&outs[0], start)
	for i := range reqs {
		reqs[i].Origin, reqs[i].Fence = outs[i].Origin, outs[i].Fence
	}
	if next.hold && e.cfg.Fencing {
		second, err := c.raiseAll(ctx, reqs, outs)
		if err != nil {
			return nil, step{}, err
		}
		if second != nil {
			next = c.raised(&outs[0], second, start)
		}
	}
	if next.hold {
		s, err := c.takeAll(reqs, outs, start)
		if err == nil {
			return s, next, nil
		}
		if next = c.retry(err); errors.Is(err, ErrClosed) {
			next.again = false
		}
	}
	kept := 0 // the name that most masters called held
	for i := range outs {
		if outs[i].Held > outs[kept].Held {
			kept = i
		}
	}
	c.name = c.names[kept]
	e.counts.attempt(next, outs[0])
	c.states[kept].failedFor(next.kind)
	c.undoAll(reqs, outs)
	c.leave(c.states[kept])
	next.failed = newAttemptError(next.kind, anAcquire, len(e.cfg.Masters), outs[0])
	return nil, next, nil
}

// askAll asks the masters. If ctx ends first, nothing stays locked.
func (c *setContender) askAll(ctx context.Context, reqs []pipeline.Request, outs []pipeline.Outcome) (failed error) {
	errs := make([]error, len(reqs))
	c.e.pipe.DoMany(ctx, reqs, func(i int, out *pipeline.Outcome, err error) {
		outs[i], errs[i] = *out, err
		failed = cmp.Or(failed, err)
	})
	for i := range reqs {
		if failed != nil && errs[i] == nil { // decided at the moment when ctx ended; the pipeline undoes the others
			reqs[i].Origin = outs[i].Origin
			c.e.undo(reqs[i])
		}
	}
	return failed
}

// raiseAll raises the fencing tokens that too few masters store. It returns the outcome, if it was needed: one that
// is not won, or any.
func (c *setContender) raiseAll(ctx context.Context, reqs []pipeline.Request, outs []pipeline.Outcome) (second *pipeline.Outcome, failed error) {
	e := c.e
	var raises []pipeline.Request
	for i := range reqs {
		if e.mustRaise(&outs[i]) {
			raises = append(raises, e.raising(reqs[i], &outs[i]))
		}
	}
	e.pipe.DoMany(ctx, raises, func(_ int, out *pipeline.Outcome, err error) {
		failed = cmp.Or(failed, err)
		if second == nil || out.Verdict != quorum.Won {
			worst := *out
			second = &worst
		}
	})
	if failed != nil {
		c.undoAll(reqs, outs)
	}
	return second, failed
}

func (c *setContender) undoAll(reqs []pipeline.Request, outs []pipeline.Outcome) {
	for i := range reqs {
		reqs[i].Alone = outs[i].Denied != nil
		c.e.undo(reqs[i])
	}
}

// takeAll gives c the locks of the set that it contended for, or none of them.
func (c *setContender) takeAll(reqs []pipeline.Request, outs []pipeline.Outcome, start clock.Instant) (*Set, error) {
	s := &Set{e: c.e, locks: make([]*Lock, len(reqs))}
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
	c.all, c.state = false, nil
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
