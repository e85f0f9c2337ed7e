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
// goes on with those that it gets. All are asked for at once, so a thousand names take little longer than
// one. The results are in the order of names. Each lock is one by itself: it is renewed, lost and released
// alone. Of a name that is there twice, the second is taken.
//
// AcquireMany blocks for about twice Config.MasterTimeout at most, or until ctx ends. It counts in
// Config.Queue as so many calls.
//
// Errors, by name: those of TryAcquire.
func (e *Engine) AcquireMany(ctx context.Context, names []string, ttl time.Duration) []Result {
	results := make([]Result, len(names))
	asked := make([]oneOfMany, 0, len(names))
	reqs := make([]pipeline.Request, 0, len(names))
	for i, name := range names {
		c := e.contender(1, false)
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
		asked = append(asked, oneOfMany{contender: c, index: i})
		reqs = append(reqs, c.request())
	}
	var toRaise []*oneOfMany
	var raises []pipeline.Request
	for i, r := range e.pipe.DoMany(ctx, reqs) {
		o := &asked[i]
		o.req, o.out, o.err = reqs[i], r.Outcome, r.Err
		if o.err != nil {
			continue
		}
		o.start, o.next = o.judge(&o.req, o.out, o.asked)
		if o.next.hold && e.mustRaise(o.out) {
			toRaise, raises = append(toRaise, o), append(raises, e.raising(o.req, o.out))
		}
	}
	for i, r := range e.pipe.DoMany(ctx, raises) {
		o := toRaise[i]
		if o.err = r.Err; o.err != nil {
			e.undo(o.req)
			continue
		}
		o.next = o.raised(&o.out, r.Outcome, o.start)
	}
	for i := range asked {
		o := &asked[i]
		results[o.index] = o.result(names[o.index])
	}
	return results
}

// oneOfMany is the one attempt at a name of AcquireMany.
type oneOfMany struct {
	contender
	index int // of the name
	req   pipeline.Request
	out   pipeline.Outcome
	err   error // why the masters were not asked, or ctx's
	start clock.Instant
	next  step
}

func (o *oneOfMany) result(name string) Result {
	if o.err == nil {
		lock, next := o.conclude(o.req, o.out, o.next, o.start)
		if lock != nil {
			return Result{Lock: lock}
		}
		o.err = next.failed
	}
	return Result{Err: o.e.notAcquired(name, o.asked, o.made, o.quit(o.err))}
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
	var errs []error
	note := func(i int, err error) {
		if err == nil {
			return
		}
		if errs == nil {
			errs = make([]error, len(locks))
		}
		errs[i] = err
	}
	releases, index := make([]release, 0, len(locks)), make([]int, 0, len(locks))
	reqs := make([]pipeline.Request, 0, len(locks))
	for i, l := range locks {
		switch {
		case l == nil:
			continue
		case l.lease.e != e:
			note(i, invalid(fmt.Sprintf("locks[%d]", i), "is a lock of another engine"))
			continue
		}
		r, err := l.beginRelease()
		note(i, err)
		if r.mustDelete {
			releases, index, reqs = append(releases, r), append(index, i), append(reqs, r.req)
		}
	}
	for i, r := range e.pipe.DoMany(ctx, reqs) {
		note(index[i], releases[i].end(ctx, r.Outcome, r.Err))
	}
	return errs
}
