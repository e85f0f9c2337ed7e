package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"muxlock/internal/clock"
	"muxlock/pipeline"
)

// Lock is a lock that was acquired. It is safe for concurrent use.
//
//	held --Release------------------> released
//	held --validity out, or denied--> lost
//
// Both are final. Every method reads the clock itself: the timer behind Done is only
// the early path, and a process that was stopped finds out at its first call.
type Lock struct {
	e     *Engine
	name  string
	token Token
	round uint64 // of the acquire

	mu       sync.Mutex    // guards the following
	ttl      time.Duration // the longest that was asked for: what a master may have given
	until    clock.Instant // end of validity
	end      error         // why it is no longer held; nil while it is
	released bool          // Release was called
	done     chan struct{} // made when somebody asks; closed with end
	timer    *time.Timer   // runs out with until; only if done was made
	watchers map[*context.CancelCauseFunc]struct{}
}

func newLock(e *Engine, req pipeline.Request, start clock.Instant) *Lock {
	return &Lock{
		e: e, name: req.Name, token: Token{&req.Token}, round: req.Round, ttl: req.TTL,
		until: start.Add(validity(req.TTL, 0, e.cfg.Drift)),
	}
}

// Name returns the name that was locked.
func (l *Lock) Name() string { return l.name }

// Token returns the value that the lock's key has on the masters.
func (l *Lock) Token() Token { return l.token }

// Format prints the name, for every verb; never the token.
func (l *Lock) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "lock %q", l.name) }

// Until returns when validity ends by the local clock. No I/O.
func (l *Lock) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until.Time()
}

// Valid reports whether the lock may be relied on at this moment: not released, not
// lost, validity left. No I/O: between this answer and what is done upon it the
// process may be stopped for any time, which only a fencing token can make harmless.
func (l *Lock) Valid() bool { return l.Err() == nil }

// Err returns nil while the lock is valid, ErrNotHeld after Release, and otherwise an
// error that matches ErrLost and tells why. No I/O.
func (l *Lock) Err() error {
	now := clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expireLocked(now)
	return l.end
}

// Done returns a channel that is closed when the lock is released or lost.
func (l *Lock) Done() <-chan struct{} {
	now := clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expireLocked(now)
	l.watchLocked(now)
	return l.done
}

// Context returns a copy of parent that ends when the lock is released or lost, with
// Err's error as its context.Cause. Call the CancelFunc when it is no longer needed.
func (l *Lock) Context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	now := clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expireLocked(now)
	if l.end != nil {
		cancel(l.end)
		return ctx, func() {}
	}
	l.watchLocked(now)
	if l.watchers == nil {
		l.watchers = make(map[*context.CancelCauseFunc]struct{})
	}
	l.watchers[&cancel] = struct{}{}
	return ctx, func() {
		l.mu.Lock()
		delete(l.watchers, &cancel)
		l.mu.Unlock()
		cancel(context.Canceled)
	}
}

// Extend asks the masters to let the lock live for ttl (0 = Config.TTL) from now on.
// Masters that no longer have it with our token are not counted and not given it
// again; a ttl shorter than what is left succeeds and changes nothing. It blocks
// until the verdict, at most about twice Config.MasterTimeout, or until ctx ends;
// the masters may then have extended, and the old Until stands.
//
// Errors: ErrLost when N-q+1 masters say that the lock is not ours, or validity ran
// out on the way, both final; ErrNoQuorum when too few answered, and the old Until
// stands; ErrNotHeld after Release; ErrInvalid, ErrOverloaded, ErrClosed; ctx's error.
func (l *Lock) Extend(ctx context.Context, ttl time.Duration) error {
	ttl, err := l.e.cfg.lease(ttl)
	if err != nil {
		return err
	}
	start := clock.Now()
	l.mu.Lock()
	l.expireLocked(start)
	err = l.end
	l.ttl = max(l.ttl, ttl) // a master may extend although we never hear of it
	l.mu.Unlock()
	if err != nil {
		return err
	}
	err = l.e.ask(ctx, pipeline.Request{Op: pipeline.Extend, Name: l.name, Token: l.token.Reveal(), TTL: ttl}, ErrLost)
	now := clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	// A confirmation that comes after the old validity has run out does not bring the
	// lock back: its holder may have been told already.
	l.expireLocked(now)
	switch {
	case l.end != nil:
		return errors.Join(l.end, ctx.Err())
	case errors.Is(err, ErrLost):
		l.endLocked(err)
		return err
	case err != nil:
		return err
	}
	if until := start.Add(validity(ttl, 0, l.e.cfg.Drift)); l.until.Reached(until) {
		l.until = until
		if l.timer != nil {
			l.timer.Reset(until.Sub(now))
		}
	}
	return nil
}

// Release gives the lock back on all masters, also on those that seemed to refuse it,
// and waits for the verdict, at most about twice Config.MasterTimeout. ctx ends the
// wait, never the command: a release with a ctx that has ended is sent all the same.
//
// It returns nil when a quorum confirmed the deletion. ErrNotHeld: the lock was gone or
// another's, or Release was called before. ErrNoQuorum: not confirmed, and still being
// sent in the background; joined to ctx's error if that ended the wait.
func (l *Lock) Release(ctx context.Context) error {
	l.mu.Lock()
	if l.released {
		l.mu.Unlock()
		return ErrNotHeld
	}
	l.released = true
	l.endLocked(ErrNotHeld)
	req := pipeline.Request{Op: pipeline.Release, Name: l.name, Token: l.token.Reveal(), TTL: l.ttl, Round: l.round}
	l.mu.Unlock()
	err := l.e.ask(ctx, req, ErrNotHeld)
	l.e.counts.release(err)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = errors.Join(ErrNoQuorum, err)
	}
	return err
}

// expireLocked ends the lock if its validity has run out.
func (l *Lock) expireLocked(now clock.Instant) {
	if l.end == nil && l.until.Reached(now) {
		l.endLocked(errors.Join(ErrLost, ErrExpired))
	}
}

// endLocked makes the lock released or lost; the first reason stays, unless Release
// comes after a loss: Err then says what every later call would.
func (l *Lock) endLocked(why error) {
	first := l.end == nil
	l.end = why
	if !first {
		return
	}
	if !l.released {
		l.e.counts.lost.Add(1)
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	if l.done != nil {
		close(l.done)
	}
	for cancel := range l.watchers {
		(*cancel)(why)
	}
	l.watchers = nil
}

// watchLocked makes the channel and, while the lock is held, the timer behind it.
func (l *Lock) watchLocked(now clock.Instant) {
	if l.done != nil {
		return
	}
	l.done = make(chan struct{})
	if l.end != nil {
		close(l.done)
		return
	}
	l.timer = time.AfterFunc(l.until.Sub(now), l.watch)
}

// watch runs when the timer does.
func (l *Lock) watch() {
	now := clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expireLocked(now)
	if l.end == nil { // extended meanwhile, or the timer was early
		l.timer.Reset(l.until.Sub(now))
	}
}
