package engine

import (
	"cmp"
	"context"
	"errors"
	"runtime/trace"
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/token"
)

// A Tracer puts acquires, holds and releases into the traces of their callers; package lockotel makes one. Fields may be
// nil. Each function runs in the goroutine of the call, which waits for it, with the caller's ctx and without any mutex.
// Locks that were acquired are kept alive until Acquired returns. A function that panics is counted in Stats.TracerPanics,
// and the call goes on.
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
	Locks                     int           // names that were locked
	Attempts                  int           // at the masters
	Got                       string        // asked, handed over (in this process), passed on (by another one), joined (other readers); "": no lock
	Granted, Refused, Unknown int           // votes of the last attempt, as in AttemptError; masters that have a lock which was not asked for
	Causes                    []MasterError // why votes are unknown
	Holder                    string        // who was last seen to have the name, and how many stood in line before the caller, as in AttemptError
	InLine                    int

	// Of a hold: renewals that failed, and the loss. Of each lock 32: the first ones, and the last.
	Events []TraceEvent
}

// TraceEvent is an error during a hold, and when it was noticed.
type TraceEvent struct {
	At   time.Time
	Err  error
	Lost string // why the lock was lost, as in Stats.LostBy; "": a renewal failed
}

// How a lock was got.
const (
	gotAsked      = "asked"
	gotHandedOver = "handed over"
	gotPassedOn   = "passed on"
	gotJoined     = "joined"
)

// mostEvents is how many events of a lock are kept.
const mostEvents = 32

// errPanicked is the Err of a hold whose fn panicked, or ended its goroutine.
var errPanicked = errors.New("muxlock: fn did not return")

// region begins a region of Go's execution tracer; the result ends it.
func region(ctx context.Context, stop context.CancelFunc) context.CancelFunc {
	if !trace.IsEnabled() {
		return stop
	}
	r := trace.StartRegion(ctx, "muxlock: acquire")
	return func() { r.End(); stop() }
}

// call calls a function of the Tracer.
func (r *record) call(f func()) {
	defer func() {
		if recover() != nil {
			r.counts.tracerPanics.Add(1)
		}
	}()
	f()
}

// tracer returns the Tracer if it wants to be told of a call under ctx.
func (e *Engine) tracer(ctx context.Context) (t *Tracer) {
	if t = e.cfg.Tracer; t == nil || t.Wants == nil {
		return t
	}
	wants := false
	if e.record.call(func() { wants = t.Wants(ctx) }); !wants {
		return nil
	}
	return t
}

// traces begins the trace of an acquire. It reports false if the Tracer is not to be told.
func (c *contender) traces(ctx context.Context) bool {
	if t := c.e.tracer(ctx); t == nil || t.Acquired == nil {
		return false
	}
	c.trace = &Traced{Kind: kinds[c.kind].name, Begin: time.Now()}
	return true
}

// told tells the Tracer that the acquire has ended. It keeps the locks alive meanwhile; some may be nil.
func (c *contender) told(ctx context.Context, names []string, err error, locks ...*Lock) {
	t := c.trace
	t.End, t.Names, t.Attempts, t.Err = time.Now(), names, c.tries.made, err
	t.Holder, t.InLine = token.Holder(c.others.holder), c.others.ahead
	for _, l := range locks {
		if l == nil {
			continue
		}
		if t.Locks++; t.Locks == 1 {
			t.Granted, _ = l.HeldOn()
			t.Got = cmp.Or(c.got, gotAsked)
		}
		if l.KeepAlive(0) == nil {
			defer l.keepNoLonger()
		}
	}
	if t.Got != gotAsked { // the votes are of an attempt before
		t.Refused, t.Unknown, t.Causes = 0, 0, nil
	}
	if failed := (*AttemptError)(nil); errors.As(err, &failed) {
		t.Granted, t.Refused, t.Unknown, t.Causes = failed.Granted, failed.Refused, failed.Unknown, failed.Causes
		t.Holder, t.InLine = failed.Holder, failed.InLine
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
	if t := e.tracer(ctx); t == nil || t.Released == nil {
		return
	}
	now := clock.Now()
	t := tracedLocks(locks, began.Time(now))
	t.End, t.Err = now.Time(now), err
	e.record.call(func() { e.cfg.Tracer.Released(ctx, t) })
}

// traceHold tells the Tracer that a hold begins. It returns the ctx to hold with, and a function that tells of the end.
func traceHold(ctx context.Context, locks []*Lock) (context.Context, func(err error, end time.Time)) {
	e := locks[0].lease.e
	tracer := e.tracer(ctx)
	if tracer == nil || tracer.Holding == nil {
		return ctx, func(error, time.Time) {}
	}
	t := tracedLocks(locks, time.Now())
	held := *t
	for _, l := range locks {
		l.lock()
		if l.events = new([]TraceEvent); l.end != nil { // it was lost just now
			l.noteLocked(l.end, causes[lossCause(l.end)])
		}
		l.unlock()
	}
	var ended func(*Traced)
	e.record.call(func() {
		within, f := tracer.Holding(ctx, t)
		ctx, ended = cmp.Or(within, ctx), f
	})
	return ctx, func(err error, end time.Time) {
		held.Err, held.End = err, end
		for _, l := range locks {
			l.lock()
			held.Events = append(held.Events, *l.events...)
			l.events = nil
			l.unlock()
		}
		if ended != nil {
			e.record.call(func() { ended(&held) })
		}
	}
}

// noteLocked notes an error for the Tracer, as in TraceEvent.
func (l *Lock) noteLocked(err error, lost string) {
	if l.events == nil {
		return
	}
	kept := *l.events
	*l.events = append(kept[:min(len(kept), mostEvents-1)], TraceEvent{time.Now(), err, lost})
}
