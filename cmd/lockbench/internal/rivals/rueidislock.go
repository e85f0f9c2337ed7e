package rivals

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis/rueidislock"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/masters"
)

// rueidislocker is rueidislock on one server with its defaults but for the
// validity: two of three keys of a name make a lock, each held lock is renewed
// every half validity, waiters are woken by client tracking.
type rueidislocker struct{ locker rueidislock.Locker }

// openRueidislock fixes the validity to o.TTL: rueidislock has one for all locks.
func openRueidislock(_ context.Context, o Options) (bench.Locker, error) {
	opt, err := masters.Option(o.Masters[0])
	if err != nil {
		return nil, err
	}
	opt.DisableCache = o.NoTracking
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{ClientOption: opt, KeyValidity: o.TTL})
	if err != nil {
		return nil, err
	}
	return rueidislocker{locker}, nil
}

func (l rueidislocker) Acquire(ctx context.Context, name string, ttl time.Duration) (bench.Held, error) {
	return hold(ctx, name, ttl, l.locker.WithContext)
}

func (l rueidislocker) TryAcquire(ctx context.Context, name string, ttl time.Duration) (bench.Held, error) {
	return hold(ctx, name, ttl, l.locker.TryWithContext)
}

func (l rueidislocker) Close() error {
	l.locker.Close()
	return nil
}

// hold asks for the lock under a ctx of its own, because rueidislock gives a lock
// up when the ctx it was asked for with ends; the caller's ctx bounds the wait only.
func hold(ctx context.Context, name string, ttl time.Duration,
	acquire func(context.Context, string) (context.Context, context.CancelFunc, error),
) (bench.Held, error) {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	detach := context.AfterFunc(ctx, cancel)
	lost, release, err := acquire(own, name)
	if !detach() && err == nil {
		release()
		err = ctx.Err()
	}
	if err != nil {
		cancel()
		if ctx.Err() == nil && errors.Is(err, rueidislock.ErrNotLocked) {
			return nil, bench.ErrRefused
		}
		return nil, errors.Join(ctx.Err(), err)
	}
	return &rueidislockHeld{lost, cancel, release, time.Now().Add(ttl)}, nil
}

type rueidislockHeld struct {
	lost    context.Context // ends when the lock is lost or released
	cancel  context.CancelFunc
	release context.CancelFunc // returns when all keys are deleted
	until   time.Time          // without renewals
}

// Until is now when renewals have pushed the end further: how far, it does not tell.
func (h *rueidislockHeld) Until() time.Time {
	if now := time.Now(); now.After(h.until) && h.lost.Err() == nil {
		return now
	}
	return h.until
}

func (h *rueidislockHeld) Release(context.Context) error {
	lost := h.lost.Err() != nil
	h.release()
	h.cancel()
	if lost {
		return errors.New("rivals: the lock was not held any more")
	}
	return nil
}
