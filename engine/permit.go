package engine

import (
	"cmp"
	"context"
	"time"

	"muxlock/engine/internal/inside"
)

// AcquirePermit takes one of limit permits of name for ttl. limit is 1 to 64; at most limit holders have a permit at any
// moment. Otherwise it works like Acquire. Each permit is a slot, and each slot a lock of its own, so a crashed holder's
// permit is free again after its ttl. A grant takes one round trip while many slots are free, and mostly two while few are.
// A permit released within Config.HandOverTime of its grant goes to the next caller of this process without a request. A
// call counts in Config.Queue once per slot it asks for; a queue shorter than the slots limits it to that many, at random.
// Reveal returns "": nobody could adopt a permit.
//
// All processes should give the same limit. If limits differ, the largest one holds. Permits of name are independent of
// the lock name. engine/README.md, Kinds of locks, says more.
//
// Errors: those of Acquire; ErrInvalid names the limit.
func (e *Engine) AcquirePermit(ctx context.Context, name string, limit int, ttl time.Duration) (*Lock, error) {
	return e.acquirePermit(ctx, name, limit, ttl, e.cfg.MaxAttempts, e.cfg.WaitWhenFull)
}

// TryAcquirePermit is AcquirePermit with one attempt, like TryAcquire: for some slots, then for all. While somebody in
// this engine waits for a permit of name, it returns ErrTaken without asking the masters.
func (e *Engine) TryAcquirePermit(ctx context.Context, name string, limit int, ttl time.Duration) (*Lock, error) {
	return e.acquirePermit(ctx, name, limit, ttl, 1, false)
}

// DoPermit is Do with a permit: it acquires one, keeps it alive while fn runs, and releases it.
func (e *Engine) DoPermit(ctx context.Context, name string, limit int, ttl time.Duration, fn func(context.Context) error) error {
	return e.do(ctx, name, ttl, fn, func(ctx context.Context, name string, ttl time.Duration) (*Lock, error) {
		return e.AcquirePermit(ctx, name, limit, ttl)
	})
}

// Slot returns the permit's number, from 0 to limit-1. No two holders have the same slot at a time, so it can index what
// they share. It is -1 for a lock that is no permit. No I/O.
func (l *Lock) Slot() int {
	slot, _ := inside.SlotOf(cmp.Or(l, noLock).lease.name)
	return slot
}
