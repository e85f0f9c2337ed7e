package engine

import (
	"context"
	"errors"
	"time"

	"muxlock/internal/oneline"
)

type lockKey struct{}

// LockFrom returns the lock of the innermost Do, TryDo, DoShared, DoPermit or Lead that ctx comes from, and
// whether there is one. It tells code deep within whether it is under a lock, and its Fence or Until. The lock
// may have been lost or released by now: see Valid. DoAll passes its Set on as an argument and puts no lock
// into ctx: there LockFrom finds the lock around the DoAll, if there is one. No I/O.
//
// Locks are not reentrant. Goroutines that run side by side may share a ctx, so it does not tell whether the
// holder itself asks again. A second Acquire of a name waits like another caller's, until its ctx ends. A
// function that may run with or without the lock asks LockFrom.
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
		switch {
		case lost == nil:
			err = oneline.Join(err, released)
		case !errors.Is(err, lost): // else fn returned the cause of its ctx
			err = oneline.Join(err, lost) // the lock is gone: Release says no more
		}
	}()
	during, cancel := l.Context(withoutWait(ctx))
	defer cancel()
	if err := l.KeepAlive(0); err != nil {
		return nil // lost already; the deferred function says so
	}
	return fn(during)
}
