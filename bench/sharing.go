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
	// AcquirePermit is Acquire of a name that at most limit hold at once, who all give the same limit.
	AcquirePermit(ctx context.Context, name string, limit int, ttl time.Duration) (Held, error)
}

// A Slotted is a Held that is a permit, and knows which: from 0 to below the limit. Its fencing token, if it has one, is larger
// than that of the previous hold of the same slot of the name. Tokens of a permit that is no Slotted count as none.
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
