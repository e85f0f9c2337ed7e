package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/oneline"
	"muxlock/pipeline"
)

// A contender is the one goroutine of this process that asks the masters for a name.
type contender struct {
	e       *Engine
	kind    kind
	name    string
	state   *nameState
	patient bool // it waits where the pipeline's queue is full
	tries   attempts
	turn    ownTurn
	others  others
	intents intents
}

// An ownTurn is how a contender became it.
type ownTurn struct {
	called     clock.Instant // when the caller called Acquire
	began      clock.Instant // when it became the contender
	queued     bool          // it waited in this process
	inherited  *lease        // to be extended instead of a first attempt; nil: none
	yieldFirst bool          // other processes go first, and have not yet
	contended  bool          // it let others go first, or was refused
}

// others is what a contender knows of other processes that want the name.
type others struct {
	crowded bool // one held the lock, or asked for it
	gaps    int  // gaps left for strangers so far
}

// newContender returns a contender that makes at most most attempts; 0 = no limit.
func (e *Engine) newContender(most int, patient bool, kind kind) contender {
	return contender{
		e: e, kind: kind, patient: patient,
		tries: attempts{drift: e.cfg.Drift, most: most, held: e.cfg.RetryHeld, split: e.cfg.RetrySplit},
	}
}

// admit checks the caller's ttl, its ctx and the pipeline's queue, before c contends for a key.
func (c *contender) admit(ctx context.Context, key string, ttl time.Duration) (err error) {
	e := c.e
	c.name = key
	if c.tries.ttl, err = e.cfg.lease(ttl); err != nil {
		return err
	}
	now := clock.Now()
	c.turn.called, c.turn.began = now, now
	if err := ctx.Err(); err != nil {
		if d, ok := ctx.Value(waitKey{}).(time.Duration); ok && d <= 0 {
			return invalid("d", "of WithWait is %v, not positive; TryAcquire and its like make a single attempt", d)
		}
		return c.failed(err)
	}
	if router := e.masters.router; router != nil {
		if err := router.Settle(ctx, c.tries.most == 0); err != nil {
			return c.failed(err)
		}
	}
	if !c.patient && e.masters.at(c.name).Full() { // refused before it costs more
		e.record.counts.overloaded.Add(1)
		return c.failed(ErrOverloaded)
	}
	return nil
}

// failed returns the error of an acquire that has no lock.
func (c *contender) failed(why error) error {
	return c.e.record.notAcquired(c.e.cfg.nameOf(c.name), c.turn.called, c.tries.made, c.e.unlessKnown(c.name, errUnanswered, why))
}

// persist makes attempts until one succeeds, the last one fails, or an error comes. It rests between attempts, and rest
// may return the result, too. A returned error is joined to the last attempt's, unless it has one.
func persist(ctx context.Context, attempt func(context.Context) (*Lock, step, error), rest func(context.Context, step) (*Lock, error)) (*Lock, error) {
	var last error // of the attempt before
	for {
		got, next, err := attempt(ctx)
		if got == nil && err == nil {
			if last = next.failed; !next.again {
				return nil, last
			}
			got, err = rest(ctx, next)
		}
		switch {
		case got != nil:
			return got, nil
		case errors.As(err, new(*AttemptError)):
			return nil, err
		case err != nil:
			return nil, oneline.Join(last, err)
		}
	}
}

// request returns the request of an attempt at a name.
func (c *contender) request(name string) pipeline.Request {
	// A token is used for one attempt only: a late release of this attempt must
	// not take away the votes of the next.
	kind := &kinds[c.kind]
	return pipeline.Request{
		Op: pipeline.Acquire, Name: name, Token: kind.newToken(c.e.cfg.Holder), TTL: c.tries.ttl,
		Patient: c.patient, Contended: c.turn.contended, Shared: kind.Shared,
	}
}

// begins returns when an attempt that starts now began: without contention, when c got its turn.
func (c *contender) begins() clock.Instant {
	if c.turn.contended {
		return clock.Now()
	}
	return c.turn.began
}

// judge returns when the validity of an attempt began, and the next step.
func (c *contender) judge(out *pipeline.Outcome, began clock.Instant) (start clock.Instant, next step) {
	start = sentAt(*out, began)
	next = c.tries.next(*out, clock.Now().Sub(start))
	c.turn.contended, c.turn.yieldFirst = true, false
	return start, next
}

// refused undoes an attempt that failed, and notes why it did.
func (c *contender) refused(req *pipeline.Request, out *pipeline.Outcome, next step) step {
	e := c.e
	e.record.counts.attempt(next, *out)
	if c.state != nil {
		c.state.failedFor(next.kind)
	}
	req.Alone = out.Denied != nil
	e.masters.undo(*req)
	next.failed = newAttemptError(next.kind, anAcquire, e.masters.number, *out)
	return next
}

// take gives c the locks that it contended for, or none of them: if a lease has ended by now, or the engine was closed, c
// remains the contender. shards are those of the names.
func (c *contender) take(shards []*shard, locks ...*Lock) error {
	lockAll(shards)
	defer unlockAll(shards)
	now := clock.Now()
	for _, lock := range locks {
		if l := lock.lease; l.state == nil { // a slot's
			l.state = shards[0].stateLocked(l.name, now)
		}
		if err := lock.lease.overLocked(now); err != nil {
			return err
		}
		if lock.lease.state.Lease != nil { // a slot's was released by force, and its holder does not know it yet
			return ErrTaken
		}
	}
	for _, lock := range locks {
		c.takeLocked(lock, now)
	}
	return nil
}

func (c *contender) takeLocked(lock *Lock, now clock.Instant) {
	l := lock.lease
	n := l.state
	l.kind, l.holders, lock.since = c.kind, append(l.holders, lock), now
	n.Take(l)
	n.failed = nil
	if c.mayComeBack() && l != c.turn.inherited {
		n.courtesy = c.intents.owed(now, n.courtesy)
	}
	n.letInLocked(c.e.cfg.HandOverTime, now)
	if n.First() != nil || l.renewal.short {
		l.scheduleLocked(now)
	}
	c.e.record.acquired(lock, c.turn.called, c.tries.made)
}

// overLocked returns why a lease that nobody holds cannot be taken, and ends it; nil: it can.
func (l *lease) overLocked(now clock.Instant) error {
	switch {
	case l.state.shard.closed:
		l.endLocked()
		return ErrClosed
	case l.term.Ended || l.renewal.until.Reached(now): // this goroutine may have been stopped for any time
		l.endLocked()
		return ErrExpired
	}
	return nil
}

// unlessKnown returns the error of an acquire whose ctx ended: ctx's error, joined to why there is no lock.
// The reason is the last one known for the name, else the masters' state (with the masters that are away),
// else otherwise.
func (e *Engine) unlessKnown(name string, otherwise, err error) error {
	if errors.Is(err, ErrNotAcquired) || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var missing *NotReadyError
	switch why := e.names.why(name); {
	case why != ErrTaken && errors.As(e.masters.at(name).Ready(ended), &missing):
		return oneline.Join(fmt.Errorf("%w: %w: %w", ErrNoQuorum, ErrNotAcquired, missing), err)
	case why != nil:
		return oneline.Join(fmt.Errorf("%w: %w", why, ErrNotAcquired), err)
	}
	return oneline.Join(otherwise, err)
}
