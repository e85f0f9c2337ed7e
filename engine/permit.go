package engine

import (
	"cmp"
	"context"
	"time"

	"muxlock/engine/internal/inside"
)

// AcquirePermit takes one of limit permits of name for ttl: at most limit holders, 1 to 64, have one at any moment.
// Otherwise it works like Acquire. Each permit is a slot, and each slot a lock of its own. Permits of name are independent
// of the lock name. A grant takes one round trip while many slots are free, and mostly two while few are. A permit released
// within Config.HandOverTime of its grant goes to the next caller of this process without a request. A call counts in
// Config.Queue once per slot it asks for; a queue shorter than the slots limits it to that many, at random. All processes
// should give the same limit: if limits differ, the largest one holds.
//
// Errors: those of Acquire; ErrInvalid names the limit.
func (e *Engine) AcquirePermit(ctx context.Context, name string, limit int, ttl time.Duration) (*Lock, error) {
	return e.acquirePermit(ctx, name, limit, ttl, e.cfg.MaxAttempts, e.cfg.WaitWhenFull)
}

// TryAcquirePermit is AcquirePermit with one attempt: for some slots, then for all. While somebody in this engine waits for
// a permit of name, it returns ErrTaken without asking the masters.
func (e *Engine) TryAcquirePermit(ctx context.Context, name string, limit int, ttl time.Duration) (*Lock, error) {
	return e.acquirePermit(ctx, name, limit, ttl, 1, false)
}

// DoPermit is Do with AcquirePermit.
func (e *Engine) DoPermit(ctx context.Context, name string, limit int, ttl time.Duration, fn func(context.Context) error) error {
	return e.do(ctx, name, ttl, fn, func(ctx context.Context, name string, ttl time.Duration) (*Lock, error) {
		return e.AcquirePermit(ctx, name, limit, ttl)
	})
}

// Slot returns the permit's number, from 0 to limit-1, or -1 for a lock that is no permit. No two holders have the same
// slot at a time, so it can index what they share. No I/O.
func (l *Lock) Slot() int {
	slot, _ := inside.SlotOf(cmp.Or(l, noLock).lease.name)
	return slot
}
