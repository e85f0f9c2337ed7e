package engine

import (
	"context"
	"errors"
	"runtime/trace"
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/token"
	"muxlock/pipeline"
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
	Granted, Refused, Unknown int           // votes of the last attempt, as in AttemptError
	Causes                    []MasterError // why votes are unknown
	Holder                    string        // who was last seen to have the name, and how many stood in line before the caller, as in AttemptError
	InLine                    int

	// Of a hold: renewals that failed, and the loss, which matches ErrLost. The first 32.
	Events []TraceEvent
}

// TraceEvent is an error during a hold, and when it was noticed.
type TraceEvent struct {
	At  time.Time
	Err error
}

// How a lock was got.
const (
	gotAsked      = "asked"
	gotHandedOver = "handed over"
	gotPassedOn   = "passed on"
	gotJoined     = "joined"
)

// mostEvents is how many events of a hold are kept.
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

// traced returns what the Tracer will be told of an acquire; nil: nothing.
func (e *Engine) traced(ctx context.Context, kind kind) *Traced {
	if t := e.tracer(ctx); t == nil || t.Acquired == nil {
		return nil
	}
	return &Traced{Kind: kinds[kind].name, Begin: time.Now()}
}

// got notes how a lock was got.
func (t *Traced) got(how string) {
	if t != nil {
		t.Got = how
	}
}

// voted notes the votes of an attempt.
func (t *Traced) voted(out *pipeline.Outcome) {
	if t != nil {
		t.Granted, t.Refused, t.Unknown, t.Causes = int(out.Tally.Granted), int(out.Tally.Refused), int(out.Tally.Unknown), out.Causes
	}
}

// saw notes by its token who has the name, and how many stand in line before the caller.
func (t *Traced) saw(holder string, ahead int) {
	if t != nil {
		t.Holder, t.InLine = token.Holder(holder), ahead
	}
}

// traceAcquire tells the Tracer that an acquire has ended. It keeps the locks alive meanwhile; some may be nil.
func (e *Engine) traceAcquire(ctx context.Context, t *Traced, attempts int, err error, names []string, locks ...*Lock) {
	t.End, t.Names, t.Attempts, t.Err = time.Now(), names, attempts, err
	for _, l := range locks {
		if l != nil && l.KeepAlive(0) == nil {
			t.Locks++
			defer l.keepNoLonger()
			if granted, _ := l.HeldOn(); t.Locks == 1 {
				t.Granted = granted
			}
		}
	}
	if t.Locks == 0 {
		t.Got = ""
	} else if t.Got == "" {
		t.Got = gotAsked
	}
	e.record.call(func() { e.cfg.Tracer.Acquired(ctx, t) })
}

// keepNoLonger ends the renewals of a lock.
func (l *Lock) keepNoLonger() {
	l.lock()
	l.kept = false
	l.unlock()
}

// traceRelease tells the Tracer that the masters were asked to release locks.
func (e *Engine) traceRelease(ctx context.Context, begin clock.Instant, err error, kind string, names ...string) {
	if t := e.tracer(ctx); t == nil || t.Released == nil {
		return
	}
	now := clock.Now()
	t := &Traced{Names: names, Kind: kind, Begin: begin.Time(now), End: now.Time(now), Err: err}
	e.record.call(func() { e.cfg.Tracer.Released(ctx, t) })
}

// traceHold tells the Tracer that a hold begins. It returns the ctx to hold with, and a function that tells of the end; nil: the
// Tracer need not know.
func traceHold(ctx context.Context, locks []*Lock) (context.Context, func(err error, end time.Time)) {
	e := locks[0].lease.e
	if t := e.tracer(ctx); t == nil || t.Holding == nil {
		return ctx, nil
	}
	t := Traced{Kind: kinds[locks[0].lease.kind].name, Begin: time.Now()}
	for _, l := range locks {
		t.Names = append(t.Names, l.Name())
	}
	var ended func(*Traced)
	e.record.call(func() {
		if within, f := e.cfg.Tracer.Holding(ctx, new(t)); within != nil {
			ctx, ended = within, f
		}
	})
	if ended == nil {
		return ctx, nil
	}
	for _, l := range locks {
		l.lock()
		l.events = new([]TraceEvent)
		l.unlock()
	}
	return ctx, func(err error, end time.Time) {
		t.Err, t.End = err, end
		for _, l := range locks {
			l.lock()
			t.Events = append(t.Events, *l.events...)
			l.events = nil
			l.unlock()
		}
		e.record.call(func() { ended(&t) })
	}
}

// noteLocked notes an error for the Tracer.
func (l *Lock) noteLocked(now clock.Instant, err error) {
	if l.events != nil && len(*l.events) < mostEvents {
		*l.events = append(*l.events, TraceEvent{now.Time(now), err})
	}
}
