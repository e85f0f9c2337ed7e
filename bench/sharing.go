package bench

import (
	"context"
	"slices"
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

// The audit of holders that share a name. Each name has slots, with a stamp for each of those holders. A slot is free when
// its holder has left it, and when the validity of the holder has ended.
//
// A writer's enter looks at all slots after it has written its stamp, a reader at the writer's stamp after it has taken a
// slot. So of two that hold a name at once, the later one sees the other. Readers that find no free slot do without; writers
// do not see them.
//
// Of permits a name has as many slots as may hold it at once. Who finds them all taken at one moment is one too many.
//
// What audit promises holds here, too. A process that is killed leaves its slots taken until the validity ends.

// readerSeats is the number of readers of a name that writers see.
const readerSeats = 64

// seats returns the number of slots of a name.
func (c Config) seats() int {
	switch {
	case c.Op.kind == opPermit:
		return c.Op.number
	case c.Op.kind != opReadWrite:
		return 0
	case c.keys() > spreadNames: // rarely has one of so many names many readers at once
		return lineWords
	}
	return readerSeats
}

// read notes that worker holds key as a reader, from acquired to until. It returns the stamp for leave: 0 if the hold was over
// before it began, or without a slot.
func (a *audit) read(key, worker int, acquired, until int64, now func() int64) int64 {
	if until <= acquired {
		return 0
	}
	stamp := stampOf(worker, until)
	if !a.sit(key, stamp, acquired) {
		stamp = 0
	}
	if live(a.holder(key).Load(), acquired) && now() < until { // else the writer may have come after this hold, as in enter
		a.overlaps().Add(1)
		a.violated(key, acquired)
	}
	return stamp
}

// permit notes that worker holds a permit of key, from acquired to until. It returns the stamp for leave: 0 if the hold was
// over before it began, or was one too many.
//
// Slots are free in turn while others come and go, and a look at one after the other may miss them all. So all are looked at
// twice. Whose stamp stands in both looks held a permit between them.
func (a *audit) permit(key, worker int, acquired, until int64, now func() int64) int64 {
	stamp := stampOf(worker, until)
	for at := now(); at < until; at = now() {
		if a.sit(key, stamp, at) {
			return stamp
		}
		first, second := a.stamps(key), a.stamps(key)
		if at = now(); at < until && takenThroughout(first, second, at) {
			a.overlaps().Add(1)
			a.violated(key, acquired)
			return 0
		}
	}
	return 0
}

// takenThroughout reports whether all slots were taken between two looks at them, and the holds are valid at now.
func takenThroughout(first, second []int64, now int64) bool {
	return slices.Equal(first, second) && !slices.ContainsFunc(second, func(stamp int64) bool { return !live(stamp, now) })
}

// stamps returns the stamps in the slots of key.
func (a *audit) stamps(key int) (stamps []int64) {
	slots := a.slots(key)
	for i := range slots {
		stamps = append(stamps, slots[i].Load())
	}
	return stamps
}

// isRead reports whether a reader holds key after now.
func (a *audit) isRead(key int, now int64) bool {
	slots := a.slots(key)
	for i := range slots {
		if live(slots[i].Load(), now) {
			return true
		}
	}
	return false
}

// sit takes a free slot. It reports false if it finds none.
func (a *audit) sit(key int, stamp, now int64) bool {
	slots := a.slots(key)
	for i := range slots {
		slot := &slots[(workerOf(stamp)+i)%len(slots)]
		if old := slot.Load(); !live(old, now) && slot.CompareAndSwap(old, stamp) {
			return true
		}
	}
	return false
}

// stand frees the slot with that stamp. It reports false if there is none.
func (a *audit) stand(key int, stamp int64) bool {
	slots := a.slots(key)
	for i := range slots {
		if slots[(workerOf(stamp)+i)%len(slots)].CompareAndSwap(stamp, 0) {
			return true
		}
	}
	return false
}
