package engine

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/oneline"
)

// Lock is a lock that was acquired: a handle to a lease, for one holder. It is safe for concurrent use.
//
//	held --Release---------------------------> released
//	held --validity out, denied, or Close----> lost
//
// Both are final. A call on a handle that is not held any more reaches no master's key, even if the lease was handed over
// to another holder here. Every method reads the clock itself, so a process that was stopped finds a loss at its first
// call.
//
// A nil Lock is not held, and its methods say so: a deferred Release may run before Acquire's error is checked.
type Lock struct {
	lease *lease
	fence uint64 // fixed; 0: none

	// The mutex of the lease's shard guards the following.
	since    clock.Instant // when the caller got the lock; zero: not yet
	end      error         // why it is no longer held; nil while it is
	released bool          // Release was called
	kept     bool          // KeepAlive was called
	renewed  bool          // KeepAlive or Extend renewed it; only with Config.Measure
	done     chan struct{} // made by the first Done; closed with end
	cancels  map[*context.CancelCauseFunc]struct{}
	stop     clock.Instant // when the holder's renewals stop; zero: never
	notice   *notice       // what WarnBefore wants; nil: nothing
	events   *[]TraceEvent // of its hold, for the Tracer; nil: it is not told of them
}

// noLock stands for a nil Lock.
var noLock = &Lock{lease: &lease{e: &Engine{}, state: &nameState{shard: &shard{}}}, end: ErrNotHeld, released: true}

// A notice is what WarnBefore wants.
type notice struct {
	fn   func()
	left time.Duration
	of   clock.Instant // the end of validity of the last warning
}

// Name returns the name that was locked.
func (l *Lock) Name() string {
	l = cmp.Or(l, noLock)
	return l.lease.e.cfg.nameOf(l.lease.name)
}

// Fence returns the lock's fencing token, below 2^53: larger than that of every earlier holder of the name in any process.
// A resource that keeps the largest it has seen refuses a holder that lost the lock and does not know it (package fence).
// It stays the same while the lock is held, and is 0 without Config.Fencing, for readers and for an adopted lock.
func (l *Lock) Fence() uint64 { return cmp.Or(l, noLock).fence }

// Reveal returns the lock's token, the value of its key on the masters. Whoever has it can extend or release the lock as
// Redlock clients do, to finish work that this process began (Engine.Adopt; in Redsync, a Mutex WithValue). The token is a
// secret: the engine prints it nowhere.
//
// From now on Release deletes the lock at the masters and never hands it over, and the lock does not regain masters that
// lose it: others may use the token at any time. After a hand-over the token belongs to the next holder, and Reveal returns
// "", as it does for readers and permits, which nobody adopts. No I/O.
func (l *Lock) Reveal() string {
	l = cmp.Or(l, noLock)
	l.lock()
	defer l.unlock()
	if kinds[l.lease.kind].secret || l.end != nil && !l.lease.term.Ended {
		return ""
	}
	l.lease.term.Revealed = true
	return l.lease.token
}

// Format prints the name, for every verb; never the token.
func (l *Lock) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "lock %q", l.Name()) }

// LogValue shows a Lock in slog: its name, the end of its validity, and its fencing token if it has one. No I/O.
func (l *Lock) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("name", l.Name()), slog.Time("until", l.Until())}
	if fence := l.Fence(); fence > 0 {
		attrs = append(attrs, slog.Uint64("fence", fence))
	}
	return slog.GroupValue(attrs...)
}

// Until returns when validity ends by the local clock. No I/O.
func (l *Lock) Until() time.Time {
	if l = cmp.Or(l, noLock); l == noLock {
		return time.Time{}
	}
	l.lease.state.shard.mu.Lock()
	defer l.unlock()
	return l.lease.renewal.until.Time(clock.Now())
}

// HeldOn returns how many of all masters hold the lock, as last known: from answers that arrived before the acquire was
// decided, or from the latest renewal or Extend, and what was regained since. If masters stays at a quorum, total/2+1, one
// more failure may cost the lock. No I/O.
func (l *Lock) HeldOn() (masters, total int) {
	l = cmp.Or(l, noLock)
	return int(l.lease.heldOn.Load()), l.lease.e.masters.number
}

// Valid reports whether the lock can be relied on at this moment: not released, not lost, validity left. No I/O. The
// process may be stopped for any time between this answer and its next step. Only a fence makes that harmless.
func (l *Lock) Valid() bool { return l.Err() == nil }

// Err returns nil while the lock is valid and ErrNotHeld after Release. Otherwise the lock was lost, and the error matches
// ErrLost. It also matches ErrExpired if validity ran out (ErrNoQuorum too, if renewals failed for lack of masters),
// ErrNotHeld if a majority of the masters answered that the key is gone or another's, or ErrClosed. No I/O.
func (l *Lock) Err() error {
	l = cmp.Or(l, noLock)
	l.lock()
	defer l.unlock()
	return l.end
}

// Done returns a channel that is closed when the lock is released or lost.
func (l *Lock) Done() <-chan struct{} {
	if l == nil {
		return ended.Done()
	}
	now := l.lock()
	defer l.unlock()
	if l.done == nil {
		l.done = make(chan struct{})
		if l.end != nil {
			close(l.done)
		} else {
			l.lease.scheduleLocked(now)
		}
	}
	return l.done
}

// Context returns a copy of parent that ends when the lock is released or lost, with Err's error as its context.Cause. It
// ends before a Release or Close returns, and a moment after a loss was found; Valid is false by then. Call the CancelFunc
// when the context is no longer needed.
func (l *Lock) Context(parent context.Context) (context.Context, context.CancelFunc) {
	return contextOf(parent, cmp.Or(l, noLock))
}

// contextOf returns a copy of parent that ends when the first of the locks does.
func contextOf(parent context.Context, locks ...*Lock) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	for _, l := range locks {
		if end := l.link(&cancel); end != nil {
			cancel(end)
			break
		}
	}
	return ctx, func() {
		why := context.Canceled
		for _, l := range locks {
			why = cmp.Or(l.unlink(&cancel), why)
		}
		cancel(why)
	}
}

// link makes the end of the lock cancel a context. If the lock has ended already, link returns why.
func (l *Lock) link(cancel *context.CancelCauseFunc) error {
	now := l.lock()
	defer l.unlock()
	if l.end != nil {
		return l.end
	}
	l.lease.scheduleLocked(now)
	if l.cancels == nil {
		l.cancels = make(map[*context.CancelCauseFunc]struct{})
	}
	l.cancels[cancel] = struct{}{}
	return nil
}

// unlink undoes link. If the lock has ended, unlink returns why.
func (l *Lock) unlink(cancel *context.CancelCauseFunc) error {
	l.lock()
	defer l.unlock()
	delete(l.cancels, cancel)
	return l.end
}

// KeepAlive renews the lock in the background from now on, every third of its ttl. It stops at Release, at a loss, or when
// max has passed (0: no such bound); the lease then runs out by itself. A renewal that too few masters answer is tried
// again until validity ends. A second call replaces max. KeepAlive does no I/O itself, and the renewals of all locks go out
// in batches.
//
// Errors: Err's if the lock is not held; ErrInvalid if max is negative.
func (l *Lock) KeepAlive(max time.Duration) error {
	if max < 0 {
		return invalid("max", "%v is negative", max)
	}
	l = cmp.Or(l, noLock)
	now := l.lock()
	defer l.unlock()
	if l.end != nil {
		return l.end
	}
	l.kept, l.stop = true, clock.Instant{}
	if max > 0 {
		l.stop = now.Add(max)
	}
	l.lease.renewal.keep(now, l.stop)
	l.lease.scheduleLocked(now)
	return nil
}

// WarnBefore runs fn in a goroutine of its own when no more than left of validity remains: once, and again after each
// renewal or Extend that has moved Until out. For a lock that is kept alive, with left below two thirds of its ttl, fn runs
// only when renewals fail. After a pause of the process the lock is renewed first, and fn runs if that fails or is not
// answered within ttl/24. An Extend from fn should ask for much more than left, or fn runs again at once. A second call
// replaces the first; a nil fn ends the warnings.
//
// Errors: Err's if the lock is not held; ErrInvalid unless left is positive.
func (l *Lock) WarnBefore(left time.Duration, fn func()) error {
	if left <= 0 {
		return invalid("left", "%v is not positive", left)
	}
	l = cmp.Or(l, noLock)
	now := l.lock()
	defer l.unlock()
	if l.end != nil {
		return l.end
	}
	if l.notice = nil; fn != nil {
		l.notice = &notice{fn: fn, left: left}
		l.lease.renewal.warn, l.lease.renewal.warned = left, false
		l.lease.scheduleLocked(now)
	}
	return nil
}

// Extend asks the masters to let the lock live for ttl (0 = Config.TTL) from now on. A ttl shorter than what is left
// succeeds and changes nothing. Extend blocks until the verdict, at most about twice Config.MasterTimeout, or until ctx
// ends. ctx ends only the wait: Until may still move. A lock has one Extend under way at a time. A call that asks for no
// later end shares its outcome; other calls wait for it first. KeepAlive goes on with the longest ttl that the holder has
// asked for.
//
// Errors: ErrLost when so many masters answer that the lock is not ours that the others are no quorum, or when validity ran
// out on the way, both final; ErrNoQuorum when too few answered, or ErrDenied where an ACL forbids the name by now, and the
// old Until stands; ErrNotHeld after Release; ErrInvalid; ErrClosed; ctx's error.
func (l *Lock) Extend(ctx context.Context, ttl time.Duration) error {
	if err := l.Err(); err != nil {
		return err
	}
	ttl, err := l.lease.e.cfg.lease(ttl)
	if err != nil {
		return err
	}
	return l.extended(l.lease.extend(ctx, l, ttl), ctx)
}

// extended returns the error of an Extend, given err from the masters.
func (l *Lock) extended(err error, ctx context.Context) error {
	if end := l.Err(); end != nil {
		return oneline.Join(end, ctx.Err())
	}
	return err
}

// lock locks the shard, and ends the lock if its validity has run out.
func (l *Lock) lock() (now clock.Instant) {
	now = clock.Now()
	l.lease.state.shard.mu.Lock()
	if l.end == nil {
		l.lease.expireLocked(now)
	}
	return now
}

func (l *Lock) unlock() { l.lease.state.shard.unlock() }

// endLocked makes the lock released or lost. The first reason stays, except that a Release after a loss replaces it: Err
// then returns the same error as every later call.
func (l *Lock) endLocked(why error) {
	first := l.end == nil
	l.end = why
	if !first {
		return
	}
	if !l.since.IsZero() {
		l.lease.e.record.counts.held[kinds[l.lease.kind].count].Add(-1)
	}
	if l.done != nil {
		close(l.done)
	}
	if s := l.lease.state.shard; len(l.cancels) > 0 {
		s.ended = append(s.ended, contexts{l.cancels, why})
	}
	l.cancels, l.notice = nil, nil
	l.kept = false // no renewals while its contexts are cancelled: user code may not return
}
