package engine

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/valyala/fastrand"

	"muxlock/internal/oneline"
	"muxlock/internal/redlock"
)

// errEnding is why a leader's ctx ends while the lock is still valid.
var errEnding = errors.New("muxlock: validity is about to end")

// Lead elects a leader. It acquires the lock name for ttl (0 = Config.TTL), runs fn for as long as the lock can be kept
// alive, releases it and campaigns again, until fn returns nil or ctx ends.
//
//	campaigns --acquired--> leads: fn runs --returned nil---------------------> released: Lead returns nil
//	                                       --returned, ctx has ended----------> released: Lead returns
//	                                       --returned an error----------------> released, pauses, campaigns
//	                                       --returned, only fn's ctx has ended-> released, campaigns
//
// The ctx of fn carries the lock. It ends when ctx does, when the lock is lost or, while renewals fail, a third of ttl
// before validity does; not by a pause of the process after which a renewal succeeds. fn then has a third of ttl to stop,
// or less if the process was paused, and no longer leads. While it runs, Lead neither releases the lock nor campaigns. If
// fn goes on for longer, that is logged at level Warn, once. So is an error that fn returns while it leads; the pause after
// it is a third of ttl to ttl, of 3 s at most. If fn panics, the lock is released.
//
// The lock is never handed over to candidates of this process. Config.MaxAttempts does not bound Lead; WithWait bounds each
// campaign, and Lead returns when one has not won by then. Each write of a leader should carry the lock's Fence: a stopped
// process believes that it leads until it checks. Only Lead may call the lock's WarnBefore and Release.
//
// Errors: ctx's, joined to fn's error if fn led, and to ErrTaken or ErrNoQuorum if Lead was campaigning; ErrNoQuorum if fn
// returned nil and the release is not confirmed; ErrInvalid; ErrDenied; ErrConfigMismatch; ErrClosed.
func (e *Engine) Lead(ctx context.Context, name string, ttl time.Duration, fn func(context.Context, *Lock) error) error {
	if fn == nil {
		return invalid("fn", "is nil")
	}
	ttl = cmp.Or(ttl, e.cfg.TTL)
	for {
		lock, err := e.acquire(ctx, name, ttl, 0, true, leader)
		if err != nil {
			return err
		}
		ended, failed, err := lock.term(ctx, redlock.RenewalInterval(ttl), fn)
		if failed == nil && !ended {
			return err
		}
		if end := ctx.Err(); end != nil {
			if errors.Is(err, end) {
				return err
			}
			return oneline.Join(err, end)
		}
		if failed != nil && !(ended && errors.Is(failed, context.Canceled)) {
			e.record.queue.Log(slog.LevelWarn, false, "leader failed", slog.String("lock", name), slog.Any("error", failed))
		}
		if ended {
			continue
		}
		from, to := redlock.TermDelay(ttl)
		if err := e.pause(ctx, redlock.Jitter(from, to, fastrand.Uint32n)); err != nil {
			return oneline.Join(failed, err)
		}
	}
}

// term runs fn as the leader, and releases the lock. fn's ctx ends early before the end of validity. failed
// is fn's error. ended reports that fn's ctx had ended by then, or that fn was not called.
func (l *Lock) term(ctx context.Context, early time.Duration, fn func(context.Context, *Lock) error) (ended bool, failed, err error) {
	ended = true
	err = l.hold(ctx, func(held context.Context) error {
		leading, stop := context.WithCancelCause(held)
		defer stop(nil)
		returned := make(chan struct{})
		defer close(returned)
		forget := context.AfterFunc(leading, func() { l.watch(early, returned) })
		defer forget()
		if l.WarnBefore(early, func() { stop(l.ending()) }) != nil {
			return nil // lost already, as hold says
		}
		failed = fn(leading, l)
		ended = !l.Valid() || leading.Err() != nil
		return failed
	})
	return ended, failed, err
}

// ending returns why validity is about to end.
func (l *Lock) ending() error {
	l.lock()
	defer l.unlock()
	if l.end != nil {
		return l.end
	}
	return oneline.Join(errEnding, l.lease.renewal.fault)
}

// watch reports a leader that still runs without the lock when grace has passed since the end of its ctx.
func (l *Lock) watch(grace time.Duration, returned <-chan struct{}) {
	over := time.After(grace)
	select {
	case <-l.Done():
	case <-returned:
		return
	}
	select {
	case <-over:
	case <-returned:
		return
	}
	l.lease.e.record.queue.Log(slog.LevelWarn, true, "leader goes on without its lock", slog.String("lock", l.Name()), slog.Any("cause", l.Err()))
}
