package bench

import (
	"context"
	"time"
)

// A SharedLocker is a Locker that has readers; op read-write needs it.
type SharedLocker interface {
	// AcquireShared is Acquire for a reader: readers hold a name together, and nobody holds it by Acquire meanwhile.
	AcquireShared(ctx context.Context, name string, ttl time.Duration) (Held, error)
}

// A PermitLocker is a Locker with names that several may hold at once; op permit needs it.
type PermitLocker interface {
	// AcquirePermit is Acquire of a name that at most limit callers hold at once. All callers give the same limit.
	AcquirePermit(ctx context.Context, name string, limit int, ttl time.Duration) (Held, error)
}

// A Slotted is a Held that knows the number of its permit: 0 to the limit less 1. A fencing token is larger than the token of
// the previous hold of the same permit of the name. The audit ignores the token of a permit that is no Slotted.
type Slotted interface{ Slot() int }

// takeShared acquires the name as a reader, or a permit of the name.
func (w *worker) takeShared(ctx context.Context, op opKind) (Held, error) {
	name, cfg := w.r.names[w.keys[0]], &w.r.cfg
	if locker, ok := w.r.locker.(SharedLocker); ok && op == opRead {
		return locker.AcquireShared(ctx, name, cfg.TTL)
	}
	if locker, ok := w.r.locker.(PermitLocker); ok && op == opPermit {
		return locker.AcquirePermit(ctx, name, cfg.Op.number, cfg.TTL)
	}
	return w.unable("lets nobody share a name so")
}
