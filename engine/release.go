package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"muxlock/internal/clock"
	"muxlock/internal/oneline"
	"muxlock/pipeline"
)

// Release gives the lock up. If somebody in this process waits for it, Release hands it over without asking the masters. If
// nobody does, if others have their turn (Config.HandOverTime), or if its token was revealed, Release deletes it on all
// masters. It waits for the verdict, at most about twice Config.MasterTimeout, and as long again where idle connections had
// ended. ctx ends the wait, never the command: even with a ctx that has ended, the release is sent. A nil ctx is
// context.Background().
//
// It returns nil when the lock was handed over or a quorum confirmed the deletion. ErrNotHeld: Release was called before,
// or the lock was gone or another's, which counts as a loss. ErrNoQuorum: not confirmed, and still being sent; joined to
// ctx's error if that ended the wait. ErrDenied: an ACL forbids the name by now; ErrClosed: nothing was sent. Then the
// lease runs out.
func (l *Lock) Release(ctx context.Context) error {
	if ctx == nil { // a panic halfway would keep the name locked in this process
		ctx = context.Background()
	}
	l = cmp.Or(l, noLock)
	e := l.lease.e
	r := release{lock: l, began: l.lock()}
	if err := r.beginLocked(); err != nil {
		l.unlock()
		return err
	}
	if s := l.lease.state.shard; s.ended != nil { // the contexts end before the next holder begins
		cancelAll(s.unlockEnded())
		r.began = l.lock()
	}
	req := r.handOverLocked()
	l.unlock()
	if !r.mustDelete {
		return nil
	}
	out, err := e.masters.at(req.Name).Do(ctx, req)
	err = r.end(ctx, &req, &out, err)
	e.traceRelease(ctx, r.began, err, l)
	return err
}

// A release is a Release under way: beginLocked, handOverLocked and, if the masters are to be asked, end.
type release struct {
	lock       *Lock
	began      clock.Instant
	held       bool          // the lock was valid then
	until      clock.Instant // the end of its validity
	mustDelete bool          // at the masters
	contending bool          // the next waiter contends after the deletion
}

// beginLocked ends the lock.
func (r *release) beginLocked() error {
	l := r.lock
	if l.released {
		return ErrNotHeld
	}
	l.released = true
	r.held = l.end == nil
	l.endLocked(ErrNotHeld)
	if kinds[l.lease.kind].Shared && l.lease.state.shard.closed { // other readers may be at work
		l.lease.e.record.released(l, r.began, false, false, ErrClosed)
		return ErrClosed
	}
	return nil
}

// handOverLocked hands the lock over if allowed; else it returns the request that deletes it.
func (r *release) handOverLocked() (req pipeline.Request) {
	lease := r.lock.lease
	r.mustDelete = true
	if r.held {
		r.mustDelete, r.contending = lease.handOverLocked(r.lock, r.began)
	}
	if r.mustDelete {
		req = lease.releaseLocked()
	}
	r.until = lease.renewal.until
	return req
}

// end takes the masters' answer.
func (r *release) end(ctx context.Context, req *pipeline.Request, out *pipeline.Outcome, err error) error {
	l, state := r.lock, r.lock.lease.state
	e := l.lease.e
	switch {
	case err == nil:
		err = e.masters.refusal(aRelease, *out)
		state.passed(e, *req, *out)
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		err = oneline.Join(ErrNoQuorum, err)
	}
	if r.held && errors.Is(err, ErrNotHeld) && !r.until.Reached(clock.Now()) { // else the lease may just have run out
		r.held = false
		l.lock()
		l.noteLocked(oneline.Join(ErrLost, err), causes[lossCause(err)])
		l.unlock()
		e.record.lost(l, err)
	}
	e.record.released(l, r.began, false, r.held, err)
	if r.contending {
		state.stopContending(true)
	}
	if released := kinds[l.lease.kind].released; released != nil {
		released(state)
	}
	return err
}

// ReleaseMany is Release for each of many locks of this engine in one call. It skips a nil Lock, as in a Result with an
// error. It returns nil if all were released, else the errors in the order of locks: those of Release, and ErrInvalid for a
// lock of another engine.
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
	e.masters.pipe.DoMany(ctx, reqs, func(i int, out *pipeline.Outcome, err error) {
		errs[index[i]] = releases[index[i]].end(ctx, &reqs[i], out, err)
	})
	if len(reqs) > 0 && e.cfg.Tracer != nil {
		asked, err := make([]*Lock, len(reqs)), error(nil)
		for k, i := range index {
			asked[k], err = locks[i], cmp.Or(err, errs[i])
		}
		e.traceRelease(ctx, releases[index[0]].began, err, asked...)
	}
	if cmp.Or(errs...) == nil {
		return nil
	}
	return errs
}
