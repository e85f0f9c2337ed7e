package engine

import (
	"context"
	"time"
)

// AcquireShared takes the lock name for ttl as a reader, and waits as Acquire does. Any number of readers hold a name at
// once; while one is Valid, nobody has the name by another call. A reader joins a lease of readers here, without asking the
// masters, if that is younger than Config.HandOverTime and has half of ttl left. A renewal, an extend or a loss of a lease
// affects all its readers; the last one to leave releases it.
//
// Readers are not reentrant: one that asks again for its name may wait for a writer that waits for it. There is no upgrade,
// since two readers that both wait to write would deadlock: Acquire of the name under the ctx of a DoShared is ErrInvalid.
//
// Errors: those of Acquire; ErrDenied where an ACL forbids the commands of readers.
func (e *Engine) AcquireShared(ctx context.Context, name string, ttl time.Duration) (*Lock, error) {
	return e.acquire(ctx, name, ttl, e.cfg.MaxAttempts, e.cfg.WaitWhenFull, reader)
}

// TryAcquireShared is AcquireShared with one attempt. Where AcquireShared would queue, it returns ErrTaken without asking
// the masters.
func (e *Engine) TryAcquireShared(ctx context.Context, name string, ttl time.Duration) (*Lock, error) {
	return e.acquire(ctx, name, ttl, 1, false, reader)
}

// DoShared is Do with AcquireShared.
func (e *Engine) DoShared(ctx context.Context, name string, ttl time.Duration, fn func(context.Context) error) error {
	return e.do(ctx, name, ttl, fn, e.AcquireShared)
}
