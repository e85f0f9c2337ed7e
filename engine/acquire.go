package engine

import (
	"context"
	"time"
)

// Acquire takes the lock name for ttl (0 = Config.TTL; whole milliseconds). It waits until ctx ends, or its budget
// (WithWait) or Config.MaxAttempts is used up. The returned lock has validity left. Callers here queue in order of arrival,
// and processes stand in line at the masters. A lock that is handed over here may have as little as half of ttl left; one
// that another process passed on has a short lease at first (engine/README.md, Waiting).
//
// ctx ends only the wait: an acquire that has been sent is followed by its release on every master. With a ctx that has
// ended already, nothing is sent.
//
// Errors: ErrTaken, ErrNoQuorum or ErrExpired of the last attempt at the name, even if another goroutine made it;
// ErrNoQuorum if none was decided; ErrDenied or ErrConfigMismatch, at once; ErrInvalid; ErrOverloaded; ErrClosed. ctx's
// error is joined if it ended the wait. errors.As finds the votes as an *AttemptError. The algorithm is Redlock, of
// redis.io.
func (e *Engine) Acquire(ctx context.Context, name string, ttl time.Duration) (*Lock, error) {
	return e.acquire(ctx, name, ttl, e.cfg.MaxAttempts, e.cfg.WaitWhenFull, exclusive)
}

// TryAcquire is Acquire with one attempt. It returns ErrTaken when somebody holds the lock, or another error of Acquire,
// within about twice Config.MasterTimeout. While somebody in this engine holds the lock or waits for it, TryAcquire returns
// ErrTaken without asking the masters.
func (e *Engine) TryAcquire(ctx context.Context, name string, ttl time.Duration) (*Lock, error) {
	return e.acquire(ctx, name, ttl, 1, false, exclusive)
}

// Do acquires the lock, keeps it alive while fn runs and releases it, even when fn panics. The ctx of fn carries the lock
// (LockFrom). It ends when ctx does, or when the lock is lost, with Err's error as its cause. Renewals go on until fn
// returns, even after ctx has ended; fn can bound them by its lock's KeepAlive. The release does not depend on ctx.
//
// Do returns Acquire's error if fn was not called, else fn's error. It joins ErrLost if the lock was lost meanwhile, and
// Release's error if the release was not confirmed. A nil fn is ErrInvalid, before anything is sent.
func (e *Engine) Do(ctx context.Context, name string, ttl time.Duration, fn func(context.Context) error) error {
	return e.do(ctx, name, ttl, fn, e.Acquire)
}

// TryDo is Do with one attempt, like TryAcquire: for a job that one of many processes does and the others
// skip.
func (e *Engine) TryDo(ctx context.Context, name string, ttl time.Duration, fn func(context.Context) error) error {
	return e.do(ctx, name, ttl, fn, e.TryAcquire)
}

func (e *Engine) do(ctx context.Context, name string, ttl time.Duration, fn func(context.Context) error,
	acquire func(context.Context, string, time.Duration) (*Lock, error)) error {
	if fn == nil {
		return invalid("fn", "is nil")
	}
	lock, err := acquire(ctx, name, ttl)
	if err != nil {
		return err
	}
	return lock.hold(ctx, fn)
}

func (e *Engine) acquire(ctx context.Context, name string, ttl time.Duration, most int, patient bool, kind kind) (lock *Lock, err error) {
	c := e.newContender(most, patient, kind)
	if c.traces(ctx) {
		defer func(ctx context.Context) { c.told(ctx, []string{name}, err, lock) }(ctx)
	}
	ctx, stop := waiting(ctx)
	defer stop()
	lock, err = c.enter(ctx, name, ttl)
	if lock != nil || err != nil {
		return lock, err
	}
	lock, err = c.contend(ctx)
	if err != nil {
		err = c.quit(err)
	}
	c.leaveReaders(err != nil)
	if err != nil {
		return nil, c.failed(err)
	}
	return lock, nil
}
