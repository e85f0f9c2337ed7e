package engine

import (
	"context"
	"strconv"
	"strings"
	"time"

	"muxlock/pipeline"
)

// mostPermits bounds a limit. A master tries all slots in one step, and serves nobody else meanwhile.
const mostPermits = 64

// AcquirePermit takes one of limit permits of name for ttl, 1 to 64: at most limit holders have one at any moment. It is
// Acquire in all else. Each permit is a slot, and each slot a lock of its own, so a crashed holder's permit is free again
// after its ttl. A grant takes one round trip while a few slots are free, and no request if another caller of this process
// releases one. It waits until ctx ends or Config.MaxAttempts is used up.
//
// All processes should name the same limit. If they do not, the largest is the bound. Permits of name have nothing to do
// with the lock name. The package comment says more (Permits).
//
// Errors: those of Acquire; ErrInvalid names the limit.
func (e *Engine) AcquirePermit(ctx context.Context, name string, limit int, ttl time.Duration) (*Lock, error) {
	return e.acquirePermit(ctx, name, limit, ttl, e.cfg.MaxAttempts, e.cfg.WaitWhenFull)
}

// TryAcquirePermit is AcquirePermit with one attempt, as TryAcquire makes it: at some slots, then at all. While somebody in
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

// Slot returns which permit of its name this is, from 0 to below the limit. No two holders have the same at a time, so it
// may number what they share. It is -1 for a lock that is no permit. No I/O.
func (l *Lock) Slot() int {
	slot, _ := slotOf(l.lease.name)
	return slot
}

// A slot has the key of a lock of its own. No name leads to it, since the prefix is reserved. Without a number it is the
// key of the queue for all slots of the name in this process.
const slotPrefix = pipeline.ReservedPrefix + "slot:"

// slotKey returns the key of a slot, given that of the queue.
func slotKey(slot int, queue string) string {
	return slotPrefix + strconv.Itoa(slot) + queue[len(slotPrefix):]
}

// slotOf returns the slot of a key, and the key of the name; -1: it is no slot.
func slotOf(key string) (slot int, of string) {
	rest, isSlot := strings.CutPrefix(key, slotPrefix)
	if !isSlot {
		return -1, key
	}
	number, of, _ := strings.Cut(rest, ":")
	slot, _ = strconv.Atoi(number)
	return slot, of
}

// nameOf returns the name that a caller knows a key by.
func (c *Config) nameOf(key string) string {
	_, key = slotOf(key)
	return key[len(c.Prefix):]
}
