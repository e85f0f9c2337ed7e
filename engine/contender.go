package engine

import (
	"context"
	"errors"
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/oneline"
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
	trace   *Traced // nil: the Tracer is told nothing
	got     string  // how it got its lock; "": it asked
	nested  *Lock   // that ctx holds, of the same name; nil: there is none
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
	crowded bool   // one held the lock, or asked for it
	refused bool   // the attempt that won, by some masters
	gaps    int    // gaps kept for strangers so far
	holder  string // token of who was last seen to have it; empty: nobody was seen
	ahead   int    // how many stood in line before it then
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
		if err := router.Agree(ctx, c.tries.most == 0); err != nil {
			return c.failed(err)
		}
	}
	if !c.patient && e.masters.at(c.name).Full() { // refused before it costs more
		e.record.counts.overloaded.Add(1)
		return c.failed(ErrOverloaded)
	}
	return nil
}

// enter makes c the contender for a name, or returns a lock that it was given in this process.
func (c *contender) enter(ctx context.Context, name string, ttl time.Duration) (*Lock, error) {
	key, err := c.e.cfg.key(name)
	if err == nil {
		err = c.admit(ctx, key, ttl)
	}
	if err == nil && !kinds[c.kind].Shared {
		err = c.checkNested(ctx, key)
	}
	if err != nil {
		return nil, err
	}
	lock, err := c.queue(ctx, c.tries.waits(), 0)
	if err != nil {
		return nil, c.failed(err)
	}
	return lock, nil
}

// quit lets the next waiter of this process contend, and returns why c has no lock.
func (c *contender) quit(why error) error {
	if c.turn.queued && errors.Is(why, ErrClosed) && !errors.Is(why, ErrTaken) { // its turn came while the engine closed
		why = oneline.Join(errTakenHere, why)
	}
	why = c.e.unlessKnown(c.name, errUnanswered, why)
	c.state.stopContending(c.turn.yieldFirst)
	return why
}
