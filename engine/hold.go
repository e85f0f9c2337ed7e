package engine

import (
	"context"
	"time"

	"muxlock/internal/oneline"
)

type lockKey struct{}

// LockFrom returns the lock of the innermost Do or Lead that ctx comes from, and whether there is one. It
// tells code deep inside whether it is under a lock, and its Fence or Until. The lock may have been lost or
// released by now: see Valid. No I/O.
//
// Locks are not reentrant. Go tells nobody which goroutine calls, so a second Acquire of a name looks like
// another caller's, and waits like one until its ctx ends. A function that may run inside or outside of the
// lock asks LockFrom.
func LockFrom(ctx context.Context) (*Lock, bool) {
	lock, ok := ctx.Value(lockKey{}).(*Lock)
	return lock, ok
}

func (l *Lock) hold(ctx context.Context, fn func(context.Context) error) error {
	return hold(context.WithValue(ctx, lockKey{}, l), l, fn)
}

// A held is a Lock or a Set.
type held interface {
	Err() error
	KeepAlive(max time.Duration) error
	Context(context.Context) (context.Context, context.CancelFunc)
	Release(context.Context) error
}

// hold runs fn under the lock, keeps it alive meanwhile, and releases it. It returns fn's error, joined to
// those of the lock. If the lock is lost already, hold does not call fn.
func hold(ctx context.Context, l held, fn func(context.Context) error) (err error) {
	defer func() {
		lost := l.Err()
		released := l.Release(context.WithoutCancel(ctx))
		if lost != nil {
			released = nil // the lock is gone, as lost says
		}
		err = oneline.Join(err, lost, released)
	}()
	during, cancel := l.Context(ctx)
	defer cancel()
	if err := l.KeepAlive(0); err != nil {
		return nil // lost already; the deferred function says so
	}
	return fn(during)
}
