package engine

import (
	"context"
	"fmt"
	"time"

	"muxlock/internal/clock"
	"muxlock/pipeline"
)

// This file takes and releases the locks of many names in one call.

// A Result is what became of one name of AcquireMany: the lock, or why there is none.
type Result struct {
	Lock *Lock
	Err  error
}

// AcquireMany is TryAcquire for each of many names in one call: for a worker that locks a page of rows and
// goes on with those that it gets. All are asked for in one round trip. The results are in the order of
// names. Each lock is one by itself: it is renewed, lost and released alone. A name that is there twice is
// ErrTaken the second time.
//
// AcquireMany returns when the last name is decided: within about twice Config.MasterTimeout, with Fencing
// within twice that, or when ctx ends. A name that a hung master keeps undecided costs all others validity,
// so ttl should be some times as long. AcquireMany counts in Config.Queue as so many calls.
//
// Errors, by name: those of TryAcquire.
func (e *Engine) AcquireMany(ctx context.Context, names []string, ttl time.Duration) []Result {
	results := make([]Result, len(names))
	asked := make([]oneOfMany, 0, len(names))
	reqs := make([]pipeline.Request, 0, len(names))
	for i, name := range names {
		c := e.newContender(1, false)
		err := c.ask(ctx, name, ttl)
		if err == nil {
			if _, err = c.queue(ctx, false); err != nil {
				err = e.notAcquired(name, c.asked, 0, err)
			}
		}
		if err != nil {
			results[i].Err = err
			continue
		}
		asked = append(asked, oneOfMany{c, &results[i]})
		reqs = append(reqs, c.request(c.name))
	}
	var low []lowFence
	var raises []pipeline.Request
	e.pipe.DoMany(ctx, reqs, func(i int, out *pipeline.Outcome, err error) {
		o := &asked[i]
		if err != nil {
			o.fail(err)
			return
		}
		start, next := o.judge(&reqs[i], out, o.asked)
		if next.hold && e.mustRaise(out) {
			low = append(low, lowFence{o, &reqs[i], *out, start})
			raises = append(raises, e.raising(reqs[i], out))
			return
		}
		o.finish(&reqs[i], out, next, start)
	})
	e.pipe.DoMany(ctx, raises, func(i int, out *pipeline.Outcome, err error) {
		l := &low[i]
		if err != nil {
			e.undo(*l.req)
			l.fail(err)
			return
		}
		next := l.raised(&l.out, out, l.start)
		l.finish(l.req, &l.out, next, l.start)
	})
	return results
}

// oneOfMany is the one attempt at a name of AcquireMany.
type oneOfMany struct {
	contender
	result *Result
}

// lowFence is one of many that was granted, and whose fencing token too few masters store.
type lowFence struct {
	*oneOfMany
	req   *pipeline.Request
	out   pipeline.Outcome
	start clock.Instant
}

func (o *oneOfMany) finish(req *pipeline.Request, out *pipeline.Outcome, next step, start clock.Instant) {
	lock, next := o.conclude(req, out, next, start)
	if o.result.Lock = lock; lock == nil {
		o.fail(next.failed)
	}
}

func (o *oneOfMany) fail(why error) {
	o.result.Err = o.e.notAcquired(o.name[len(o.e.cfg.Prefix):], o.asked, o.made, o.quit(why))
}

// ReleaseMany is Release for each of many locks of this engine in one call. A nil Lock is left out, such as
// that of a Result with an error.
//
// It returns nil if all were released, else the errors in the order of locks: those of Release, and
// ErrInvalid for a lock of another engine.
func (e *Engine) ReleaseMany(ctx context.Context, locks []*Lock) []error {
	if ctx == nil { // as in Release
		ctx = context.Background()
	}
	errs, failed := make([]error, len(locks)), false
	note := func(i int, err error) {
		errs[i], failed = err, failed || err != nil
	}
	releases := make([]release, len(locks))
	var ended []contexts
	for i, l := range locks {
		switch {
		case l == nil:
		case l.lease.e != e:
			note(i, invalid(fmt.Sprintf("locks[%d]", i), "is a lock of another engine"))
		default:
			r := release{lock: l, began: l.lock()}
			if err := r.beginLocked(); err != nil {
				note(i, err)
			} else {
				releases[i] = r
			}
			ended = append(ended, l.lease.state.shard.unlockEnded()...)
		}
	}
	cancelAll(ended) // of all locks together: a context may be waited for by another's
	index, reqs := make([]int, 0, len(locks)), make([]pipeline.Request, 0, len(locks))
	for i := range releases {
		r := &releases[i]
		if r.lock == nil {
			continue
		}
		r.began = r.lock.lock()
		req := r.handOverLocked()
		r.lock.unlock()
		if r.mustDelete {
			index, reqs = append(index, i), append(reqs, req)
		}
	}
	e.pipe.DoMany(ctx, reqs, func(i int, out *pipeline.Outcome, err error) {
		note(index[i], releases[index[i]].end(ctx, &reqs[i], out, err))
	})
	if !failed {
		return nil
	}
	return errs
}
