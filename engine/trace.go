package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/token"
)

// A Tracer puts acquires, holds and releases into the traces of their callers; package lockotel makes one. Fields may be
// nil.
//
// Each function runs in the goroutine of the call, with the values of the ctx that the caller gave and without any mutex. The
// call waits for it, and nobody else does: locks that were acquired are kept alive until Acquired returns. A function that
// panics is counted in Stats.TracerPanics, and the call goes on.
type Tracer struct {
	// Wants reports whether a call is told of: not the one under a trace that is not sampled, say. nil: each is.
	Wants func(ctx context.Context) bool
	// Acquired: an acquire ended, with a lock or without. A call for several names is one.
	Acquired func(ctx context.Context, t *Traced)
	// Holding: Do, TryDo, DoShared, DoPermit, DoAll or Lead is about to run fn, whose ctx will come from within. It calls ended
	// after fn and the release that follows; nil: it calls nothing.
	Holding func(ctx context.Context, t *Traced) (within context.Context, ended func(*Traced))
	// Released: a Release or ReleaseMany that asked the masters ended.
	Released func(ctx context.Context, t *Traced)
}

// Traced is what a Tracer is told of a call. It belongs to the Tracer from then on.
type Traced struct {
	Names      []string
	Kind       string    // exclusive, set, shared, permit, leader or adopted; of several locks that of the first
	Begin, End time.Time // End is zero while the locks are held
	Err        error     // of a hold: fn's

	// Of an acquire.
	Locks    int    // names that were locked
	Attempts int    // at the masters
	Got      string // asked, handed over (in this process), passed on (by another one), joined (other readers); "": no lock
	// Attempt has the votes of the last attempt, or Granted alone if the lock was not asked for; and who was seen to have the name.
	Attempt AttemptError

	// Of a hold: renewals that failed, and the loss. Of each lock 32: the first ones, and the last.
	Events []TraceEvent
}

// TraceEvent is an error during a hold, and when it was noticed.
type TraceEvent struct {
	At   time.Time
	Err  error
	Lost string // why the lock was lost, as in Stats.LostBy; "": a renewal failed
}

const (
	gotAsked, gotHandedOver, gotPassedOn, gotJoined = "asked", "handed over", "passed on", "joined"

	mostEvents = 32 // that are kept of a lock
)

// errPanicked is the Err of a hold whose fn panicked, or ended its goroutine.
var errPanicked = errors.New("muxlock: fn did not return")

// call calls a function of the Tracer.
func (r *record) call(f func()) {
	defer func() {
		if recover() != nil {
			r.counts.tracerPanics.Add(1)
		}
	}()
	f()
}

// tracer returns the Tracer if it wants to be told of a call under ctx, else one without functions.
func (e *Engine) tracer(ctx context.Context) (t Tracer) {
	if e.cfg.Tracer == nil {
		return t
	}
	wants := e.cfg.Tracer.Wants == nil
	if !wants {
		e.record.call(func() { wants = e.cfg.Tracer.Wants(ctx) })
	}
	if wants {
		t = *e.cfg.Tracer
	}
	return t
}

// traces begins the trace of an acquire. It reports false if the Tracer is not to be told.
func (c *contender) traces(ctx context.Context) bool {
	if c.e.tracer(ctx).Acquired == nil {
		return false
	}
	c.trace = &Traced{Kind: kinds[c.kind].name, Begin: time.Now()}
	return true
}

// told tells the Tracer that the acquire has ended. It keeps the locks alive meanwhile; some may be nil.
func (c *contender) told(ctx context.Context, names []string, err error, locks ...*Lock) {
	t, granted := c.trace, 0
	for _, l := range locks {
		if l == nil {
			continue
		}
		if t.Locks++; t.Locks == 1 {
			granted, _ = l.HeldOn()
			t.Got = cmp.Or(c.got, gotAsked)
		}
		if l.KeepAlive(0) == nil {
			defer l.keepNoLonger()
		}
	}
	t.End, t.Names, t.Attempts, t.Err = time.Now(), names, c.tries.made, err
	if t.Got != gotAsked { // the votes are of an attempt before
		t.Attempt = AttemptError{}
	}
	t.Attempt.Granted, t.Attempt.Holder, t.Attempt.InLine = granted, token.Holder(c.others.holder), c.others.ahead
	if failed := (*AttemptError)(nil); errors.As(err, &failed) {
		t.Attempt = *failed
	}
	c.e.record.call(func() { c.e.cfg.Tracer.Acquired(ctx, t) })
}

// keepNoLonger ends the renewals of a lock.
func (l *Lock) keepNoLonger() {
	now := l.lock()
	l.kept = false
	l.lease.sumLocked(now)
	l.unlock()
}

// tracedLocks returns what the Tracer is told of the hold or the release of locks.
func tracedLocks(locks []*Lock, begin time.Time) *Traced {
	t := &Traced{Kind: kinds[locks[0].lease.kind].name, Begin: begin}
	for _, l := range locks {
		t.Names = append(t.Names, l.Name())
	}
	return t
}

// traceRelease tells the Tracer that the masters were asked to release locks.
func (e *Engine) traceRelease(ctx context.Context, began clock.Instant, err error, locks ...*Lock) {
	if released := e.tracer(ctx).Released; released != nil {
		t := tracedLocks(locks, began.Time(clock.Now()))
		t.End, t.Err = time.Now(), err
		e.record.call(func() { released(ctx, t) })
	}
}

// traceHold tells the Tracer that a hold begins. It returns the ctx to hold with, and a function that tells of the end.
func traceHold(ctx context.Context, locks []*Lock) (context.Context, func(err error, end time.Time)) {
	e := locks[0].lease.e
	holding := e.tracer(ctx).Holding
	if holding == nil {
		return ctx, func(error, time.Time) {}
	}
	for _, l := range locks {
		l.lock()
		if l.events = new([]TraceEvent); l.end != nil { // it was lost just now
			l.noteLocked(l.end, causes[lossCause(l.end)])
		}
		l.unlock()
	}
	t, ended := tracedLocks(locks, time.Now()), func(*Traced) {}
	held := *t
	e.record.call(func() {
		within, f := holding(ctx, t)
		if ctx = cmp.Or(within, ctx); f != nil {
			ended = f
		}
	})
	return ctx, func(err error, end time.Time) {
		held.Err, held.End = err, end
		for _, l := range locks {
			l.lock()
			held.Events = append(held.Events, *l.events...)
			l.events = nil
			l.unlock()
		}
		e.record.call(func() { ended(&held) })
	}
}

// noteLocked notes an error for the Tracer, as in TraceEvent.
func (l *Lock) noteLocked(err error, lost string) {
	if l.events != nil {
		*l.events = append((*l.events)[:min(len(*l.events), mostEvents-1)], TraceEvent{time.Now(), err, lost})
	}
}
