package rivals

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis/rueidislock"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/masters"
)

// openRueidislock opens rueidislock on one server, with its defaults except the validity: o.TTL, since it has one
// validity for all locks. Two of three keys of a name make a lock. A held lock is renewed every half validity. Client
// tracking wakes waiters.
func openRueidislock(_ context.Context, o Options) (bench.Locker, error) {
	opt, err := masters.Option(o.Masters[0])
	if err != nil {
		return nil, err
	}
	opt.DisableCache = o.NoTracking
	opt.Dialer = o.dialer()
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{ClientOption: opt, KeyValidity: o.TTL})
	if err != nil {
		return nil, err
	}
	return foreign{
		lock: func(ctx context.Context, name string, ttl time.Duration, once bool) (bench.Held, error) {
			if once {
				return hold(ctx, name, ttl, locker.TryWithContext)
			}
			return hold(ctx, name, ttl, locker.WithContext)
		},
		refused: func(err error) bool { return errors.Is(err, rueidislock.ErrNotLocked) },
		close:   locker.Close,
	}, nil
}

// hold acquires the lock with a ctx of its own, since rueidislock releases a lock when the ctx of
// its acquire ends. The caller's ctx bounds only the wait.
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
		return nil, err
	}
	return &rueidislockHeld{lost, cancel, release, time.Now().Add(ttl)}, nil
}

type rueidislockHeld struct {
	lost    context.Context // ends when the lock is lost or released
	cancel  context.CancelFunc
	release context.CancelFunc // returns when all keys are deleted
	until   time.Time          // end of the validity without renewals
}

// Until returns at least now while the lock is not lost: rueidislock renews it, but does not say
// until when.
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
