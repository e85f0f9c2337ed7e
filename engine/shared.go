package engine

import (
	"context"
	"time"
)

// AcquireShared takes the lock name for ttl as a reader (package comment, Readers and writers). It waits until ctx ends
// or Config.MaxAttempts is used up. A reader joins an existing readers' lease of this process, without asking the masters,
// if that lease is younger than Config.HandOverTime and has half of ttl left. Else it asks the masters for a lease of its
// own. A renewal, an extend or a loss of a lease affects all its readers; the last one to leave releases it.
//
// Readers are not reentrant: a reader that asks again for its name may wait for a writer that waits for that reader. There
// is no upgrade, since two readers that both wait to write would deadlock: Acquire of the name under the ctx of a
// DoShared is ErrInvalid. Fence is 0, and Reveal returns "".
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
