package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/valyala/fastrand"

	"muxlock/internal/clock"
	"muxlock/internal/quorum"
	"muxlock/internal/token"
	"muxlock/pipeline"
)

// Engine holds the connections to a set of masters and gives out locks on them. It
// is safe for concurrent use; one per process and set of masters is enough for any
// number of goroutines and names.
type Engine struct {
	cfg     Config // with defaults; fixed after New
	pipe    *pipeline.Pipeline
	counts  counters
	closing chan struct{} // closed by the first Close
	close   sync.Once
}

// New checks cfg, asks all masters side by side and returns once each has answered
// or failed, within about a second or when ctx ends; ctx is not used afterwards. It
// works while a minority of masters is away: they are probed in the background. Masters
// that were started just now are counted, although they do not vote yet (Config.Durable).
// Errors: ErrInvalid names the field that is wrong, a refused password or an address
// given twice included; ErrNoQuorum carries the errors of all masters that failed.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	cfg = cfg.withDefaults()
	cfg.Masters = slices.Clone(cfg.Masters)
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := checkTemplate(cfg.Client); err != nil {
		return nil, err
	}
	masters, err := parseMasters(cfg.Masters, cfg.Client)
	if err != nil {
		return nil, err
	}
	pipe, err := pipeline.New(ctx, pipeline.Config{
		Masters: masters, Timeout: cfg.MasterTimeout, Queue: cfg.Queue,
		Wait: cfg.restartWait(), NewMasters: cfg.NewMasters,
	})
	if start := (*pipeline.StartError)(nil); errors.As(err, &start) && start.Misconfigured {
		return nil, fmt.Errorf("%w: Masters: %w", ErrInvalid, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoQuorum, err)
	}
	return &Engine{cfg: cfg, pipe: pipe, closing: make(chan struct{})}, nil
}

// Acquire takes the lock name for ttl (0 = Config.TTL; whole milliseconds) and waits
// for it until ctx ends or Config.MaxAttempts is used up, with a random delay before
// each further attempt. The returned lock has validity left.
//
// ctx ends the wait and nothing else: an acquire that has been sent is followed by
// its release on every master. A ctx that has ended already sends nothing.
//
// Errors: ErrTaken or ErrNoQuorum of the last attempt, joined to ctx's error if that
// ended the wait; ErrInvalid; ErrOverloaded; ErrClosed. Use errors.As with
// *AttemptError for the votes. Follows the Redlock algorithm as redis.io gives it.
func (e *Engine) Acquire(ctx context.Context, name string, ttl time.Duration) (*Lock, error) {
	return e.acquire(ctx, name, ttl, e.cfg.MaxAttempts, e.cfg.WaitWhenFull)
}

// TryAcquire is Acquire with one attempt: it returns ErrTaken when somebody holds the
// lock, ErrNoQuorum or ErrExpired, within about twice Config.MasterTimeout.
func (e *Engine) TryAcquire(ctx context.Context, name string, ttl time.Duration) (*Lock, error) {
	return e.acquire(ctx, name, ttl, 1, false)
}

// Do acquires the lock, runs fn and releases the lock, also when fn panics. The ctx
// that fn gets ends when ctx does or when the lock is lost; the lease is not extended,
// so fn has at most ttl. Do returns fn's error, joined to ErrLost if the lock was lost
// on the way, and to Release's error if the release was not confirmed. The release
// does not depend on ctx.
func (e *Engine) Do(ctx context.Context, name string, ttl time.Duration, fn func(context.Context) error) (err error) {
	lock, err := e.Acquire(ctx, name, ttl)
	if err != nil {
		return err
	}
	defer func() {
		lost := lock.Err()
		released := lock.Release(context.WithoutCancel(ctx))
		if lost != nil {
			released = nil // that it is gone was to be expected
		}
		err = errors.Join(err, lost, released)
	}()
	held, cancel := lock.Context(ctx)
	defer cancel()
	return fn(held)
}

// Close refuses new calls with ErrClosed, lets those under way finish, at most about
// twice Config.MasterTimeout, and ends all connections and goroutines. Locks that are
// still held are not released: their leases run out.
func (e *Engine) Close() error {
	e.close.Do(func() { close(e.closing) })
	e.pipe.Close()
	return nil
}

func (e *Engine) acquire(ctx context.Context, name string, ttl time.Duration, most int, waitWhenFull bool) (*Lock, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	ttl, err := e.cfg.lease(ttl)
	if err != nil {
		return nil, err
	}
	a := attempts{ttl: ttl, drift: e.cfg.Drift, most: most, held: e.cfg.RetryHeld, split: e.cfg.RetrySplit}
	var last error // of the attempt before
	for {
		if err := ctx.Err(); err != nil {
			return nil, errors.Join(last, err)
		}
		// A token is used for one attempt only: a late release of this attempt must
		// not take away the votes of the next.
		req := pipeline.Request{Op: pipeline.Acquire, Name: name, Token: token.New(), TTL: ttl}
		start := clock.Now() // before the first send, queueing included
		out, err := e.pipe.Do(ctx, req)
		next := step{kind: err, again: true, from: e.cfg.RetryHeld / 2, to: e.cfg.RetryHeld / 2 * 3}
		switch {
		case errors.Is(err, ErrOverloaded) && waitWhenFull:
			last = err
		case err != nil:
			return nil, errors.Join(last, err)
		default:
			req.Round = out.Round
			next = a.next(out, clock.Now().Sub(start))
			e.counts.attempt(next, out)
			if next.hold {
				return newLock(e, req, start), nil
			}
			req.Op = pipeline.Release
			e.pipe.Post(req)
			last = newAttemptError(next.kind, true, len(e.cfg.Masters), out)
		}
		if !next.again {
			return nil, last
		}
		if err := e.pause(ctx, jitter(next.from, next.to)); err != nil {
			return nil, errors.Join(last, err)
		}
	}
}

// pause waits before the next attempt.
func (e *Engine) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-e.closing:
		return ErrClosed
	}
}

// jitter draws a delay between from and to, in steps of a microsecond.
func jitter(from, to time.Duration) time.Duration {
	span := uint32(min((to-from)/time.Microsecond, 1<<31))
	return from + time.Duration(fastrand.Uint32n(span+1))*time.Microsecond
}

// ask sends a request on behalf of a held lock and turns the verdict into an error;
// denied is what a quorum of refusals means.
func (e *Engine) ask(ctx context.Context, req pipeline.Request, denied error) error {
	out, err := e.pipe.Do(ctx, req)
	if err != nil {
		return err
	}
	if out.Verdict == quorum.Won {
		return nil
	}
	return newAttemptError(kindOf(out.Verdict, denied), false, len(e.cfg.Masters), out)
}
