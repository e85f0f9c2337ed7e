package engine

import (
	"context"
	"errors"

	"muxlock/internal/clock"
	"muxlock/internal/oneline"
	"muxlock/internal/token"
	"muxlock/pipeline"
)

// How a contender gets the lock of one name.

// contend asks the masters until they grant the lock, ctx ends or the attempts are used up.
func (c *contender) contend(ctx context.Context) (*Lock, error) {
	e := c.e
	if c.turn.inherited != nil {
		if lock := c.inherit(ctx); lock != nil {
			return lock, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c.turn.began = clock.Now()
	}
	if c.turn.yieldFirst && !c.standsInLine(ctx) {
		// Other processes learn of the release at about the same time, however far the masters
		// are, and wait for up to a spread. The rest is for slow machines.
		if err := e.pause(ctx, 4*e.masters.spread()+c.gap()); err != nil {
			return nil, err
		}
	}
	if c.intents.met { // readers may hold the name again: keep new ones out before the masters have answered
		c.intents.met, c.intents.polls, c.others.crowded = false, true, true
		c.keepReadersOut()
	}
	return persist(ctx, c.attempt, c.rest)
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

// attempt asks the masters once, or stands in line. It returns the lock, or the next step and why the attempt
// failed. It returns an error if the masters were not asked or ctx ended.
func (c *contender) attempt(ctx context.Context) (*Lock, step, error) {
	if c.standsInLine(ctx) {
		return c.stand(ctx)
	}
	e, began, req := c.e, c.begins(), c.request(c.name)
	out, err := e.masters.ask(ctx, &req)
	if err != nil {
		return nil, step{}, err
	}
	e.masters.sample(&out, c.turn.contended, sentAt(out, began))
	if kinds[c.kind].Shared {
		c.intents.polls = out.Held == 0 // else a writer holds the name: its release is notified
	}
	start, next := c.judge(&out, began)
	lock, next := c.conclude(&req, &out, next, start)
	return lock, next, nil
}

// conclude returns the lock of a won attempt. It undoes a failed attempt, and returns the next step with the reason.
func (c *contender) conclude(req *pipeline.Request, out *pipeline.Outcome, next step, start clock.Instant) (*Lock, step) {
	if next.hold {
		c.others.refused = out.Tally.Refused > 0
		lock := grant(c.e, c.state, *req, int(out.Tally.Granted), start, clock.Now())
		err := c.take([]*shard{c.state.shard}, lock)
		if err == nil {
			return lock, next
		}
		next = c.tries.retry(err)
	}
	return nil, c.refused(req, out, next)
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
	if t := c.trace; t != nil {
		t.Attempt = *newAttemptError(nil, anAcquire, c.e.masters.number, *out)
	}
	start = sentAt(*out, began)
	next = c.tries.next(*out, clock.Now().Sub(start))
	c.turn.contended, c.turn.yieldFirst = true, false
	return start, next
}

// refused undoes an attempt that failed, and notes why it did.
func (c *contender) refused(req *pipeline.Request, out *pipeline.Outcome, next step) step {
	e := c.e
	e.record.counts.attempt(c.kind, next, *out)
	if c.state != nil {
		c.state.failedFor(next.why)
	}
	req.Alone = out.Denied != nil
	e.masters.undo(*req)
	failed := newAttemptError(next.why, anAcquire, e.masters.number, *out)
	if next.failed = failed; next.why == ErrTaken {
		failed.Holder = token.Holder(c.others.holder)
	}
	return next
}

// inherit extends a lease that was handed over with too little validity. If that fails, it gives the lease up
// and returns nil.
func (c *contender) inherit(ctx context.Context) *Lock {
	l := c.turn.inherited
	if l.extend(ctx, nil, c.tries.ttl) == nil {
		if lock := l.handle(); c.take([]*shard{c.state.shard}, lock) == nil {
			c.got = gotHandedOver
			return lock
		}
	}
	l.giveUp()
	return nil
}
