package engine

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"muxlock/pipeline"
)

// A Result is the outcome of AcquireMany for one name: the lock, or why there is none.
type Result struct {
	Lock *Lock
	Err  error
}

// AcquireMany is TryAcquire for each of many names in one call: for a worker that locks a page of rows and
// works on the rows that it gets. One round trip asks for all names. The results are in the order of
// names. A name given twice is ErrTaken the second time.
//
// Each lock stands alone: it is renewed, lost and released by itself. Working off a page may take longer than
// ttl. So keep each lock alive at once, and work on a row under its lock's Context.
//
// AcquireMany returns when the last name is decided: within about twice Config.MasterTimeout, with Fencing
// within twice that, or when ctx ends. One name that a hung master leaves undecided costs all others
// validity, so ttl should be several times as long. In Config.Queue each name counts as a call.
//
// Errors, by name: those of TryAcquire.
func (e *Engine) AcquireMany(ctx context.Context, names []string, ttl time.Duration) []Result {
	ctx, stop := waiting(ctx)
	defer stop()
	results := make([]Result, len(names))
	asked, index := make([]contender, 0, len(names)), make([]int, 0, len(names))
	reqs := make([]pipeline.Request, 0, len(names))
	for i, name := range names {
		c := e.newContender(1, false, exclusive)
		err := c.ask(ctx, name, ttl)
		if err == nil {
			if _, err = c.queue(ctx, false); err != nil {
				err = e.record.notAcquired(name, c.asked, 0, err)
			}
		}
		if err != nil {
			results[i].Err = err
			continue
		}
		asked, index, reqs = append(asked, c), append(index, i), append(reqs, c.request(c.name))
	}
	outs, errs := e.askMany(ctx, reqs)
	e.raiseLow(ctx, reqs, outs, errs)
	for i, err := range errs {
		c, result := &asked[i], &results[index[i]]
		if err == nil {
			start, next := c.judge(&outs[i], c.asked)
			result.Lock, next = c.conclude(&reqs[i], &outs[i], next, start)
			err = next.failed
		}
		if err != nil {
			result.Err = e.record.notAcquired(names[index[i]], c.asked, c.made, c.quit(err))
		}
	}
	return results
}

// askMany asks the masters for many locks in one round trip.
func (e *Engine) askMany(ctx context.Context, reqs []pipeline.Request) (outs []pipeline.Outcome, errs []error) {
	outs, errs = make([]pipeline.Outcome, len(reqs)), make([]error, len(reqs))
	e.pipe.DoMany(ctx, reqs, func(i int, out *pipeline.Outcome, err error) {
		if outs[i], errs[i] = *out, err; err == nil { // else the request may still be under way
			reqs[i].Origin, reqs[i].Fence = out.Origin, out.Fence
		}
	})
	return outs, errs
}

// raiseLow raises the fencing tokens that too few masters store, in a second round trip. outs then cover both round trips.
// If a raise returns an error, raiseLow undoes the attempt.
func (e *Engine) raiseLow(ctx context.Context, reqs []pipeline.Request, outs []pipeline.Outcome, errs []error) {
	var low []int
	var raises []pipeline.Request
	for i := range reqs {
		if errs[i] == nil && e.mustRaise(&outs[i]) {
			low, raises = append(low, i), append(raises, e.raising(reqs[i], &outs[i]))
		}
	}
	e.pipe.DoMany(ctx, raises, func(k int, second *pipeline.Outcome, err error) {
		i := low[k]
		if outs[i], errs[i] = raised(&outs[i], second), err; err != nil {
			e.undo(reqs[i])
		}
	})
}

// ReleaseMany is Release for each of many locks of this engine in one call. It skips a nil Lock, as in a
// Result with an error.
//
// It returns nil if all were released, else the errors in the order of locks: those of Release, and
// ErrInvalid for a lock of another engine.
func (e *Engine) ReleaseMany(ctx context.Context, locks []*Lock) []error {
	ctx = cmp.Or(ctx, context.Background()) // as in Release
	errs, releases := make([]error, len(locks)), make([]release, len(locks))
	var ended []contexts
	for i, l := range locks {
		switch {
		case l == nil:
		case l.lease.e != e:
			errs[i] = invalid(fmt.Sprintf("locks[%d]", i), "is a lock of another engine")
		default:
			releases[i] = release{lock: l, began: l.lock()}
			errs[i] = releases[i].beginLocked()
			ended = append(ended, l.lease.state.shard.unlockEnded()...)
		}
	}
	cancelAll(ended) // of all locks together: one lock's context may wait for another's
	index, reqs := make([]int, 0, len(locks)), make([]pipeline.Request, 0, len(locks))
	for i := range releases {
		r := &releases[i]
		if r.lock == nil || errs[i] != nil {
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
		errs[index[i]] = releases[index[i]].end(ctx, &reqs[i], out, err)
	})
	if cmp.Or(errs...) == nil {
		return nil
	}
	return errs
}
