package bench

import (
	"context"
	"time"
)

// A SeveralLocker is a Locker that takes several names in one call; ops all and many need it.
type SeveralLocker interface {
	// AcquireAll waits until all names are held at once, or ctx ends. It retries as the library does by default.
	AcquireAll(ctx context.Context, names []string, ttl time.Duration) (Held, error)
	// AcquireMany makes one attempt for each name. got lists the indexes of the names that held has. AcquireMany
	// returns ErrRefused if others hold all names. If an attempt fails otherwise, it returns that error, beside held if
	// it got other names.
	AcquireMany(ctx context.Context, names []string, ttl time.Duration) (held Held, got []int, err error)
}

// A ManyFencer is a Held of several names that may have a fencing token for each; 0 is none.
type ManyFencer interface{ FenceOf(i int) uint64 }

// takeSeveral acquires the names of w.keys, and leaves in w.keys those that are held.
func (w *worker) takeSeveral(ctx context.Context, op opKind) (Held, error) {
	locker, ok := w.r.locker.(SeveralLocker)
	if !ok {
		return w.unable("takes one name at a time")
	}
	names := make([]string, len(w.keys))
	for i, key := range w.keys {
		names[i] = w.r.names[key]
	}
	if op == opAll {
		return locker.AcquireAll(ctx, names, w.r.cfg.TTL)
	}
	held, got, err := locker.AcquireMany(ctx, names, w.r.cfg.TTL)
	if len(got) == 0 {
		return nil, err
	}
	for i, place := range got {
		w.keys[i] = w.keys[place]
	}
	w.keys = w.keys[:len(got)]
	return held, err
}

// drawKeys puts the names of an operation into w.keys: the one that was drawn, and those that follow.
func (w *worker) drawKeys(key int) {
	n := w.r.cfg.Op.names()
	if w.r.cfg.Dist.kind == distOwn {
		key *= n
	}
	w.keys = w.keys[:0]
	for i := range n {
		w.keys = append(w.keys, (key+i)%w.r.cfg.keys())
	}
}

// enter notes in the audit that this worker holds all of w.keys, and leaves their fences in w.fences.
func (w *worker) enter(op opKind, held Held, now, until int64) {
	audit := w.r.audit
	w.stamps, w.fences = w.stamps[:0], w.fences[:0]
	several, _ := held.(ManyFencer)
	for i, key := range w.keys {
		if w.r.waits {
			audit.acquired(key, now)
		}
		stamp, fence := int64(0), fenceOf(held)
		if several != nil {
			fence = several.FenceOf(i)
		}
		switch op {
		case opRead:
			stamp, fence = audit.enterReader(key, w.number, now, until, w.r.now), 0
		case opPermit:
			stamp = audit.enterPermit(key, w.number, now, until, w.r.now)
			if permit, ok := held.(Slotted); ok { // a lock of its own, the one of that slot
				audit.compareFence(key, audit.permitFence(key, permit.Slot()), now, until, fence, w.r.now)
			} else {
				fence = 0
			}
		default:
			stamp = audit.enter(key, w.number, now, until, fence, w.r.now)
		}
		w.stamps, w.fences = append(w.stamps, stamp), append(w.fences, fence)
	}
}

// leave notes that this worker is about to release all of w.keys, whose validity ends at until. Of readers the last one hands
// over. A reader without a slot in the audit does, too, if no other has one.
func (w *worker) leave(op opKind, now, until int64) {
	audit := w.r.audit
	for i, key := range w.keys {
		left := audit.leave(key, w.stamps[i], now) || op == opRead && now < until
		if left && w.r.waits && !audit.hasReaders(key, now) {
			audit.released(key, w.r.cfg.proc, now)
		}
	}
}

// handover returns the time from the last release of one of w.keys to now, as table.handover does of a name.
func (w *worker) handover(begin, now int64) (ns int64, remote bool) {
	ns = -1
	for _, key := range w.keys {
		if since, other := w.r.audit.handover(key, w.r.cfg.proc, begin, now); since >= 0 && (ns < 0 || since < ns) {
			ns, remote = since, other
		}
	}
	return ns, remote
}
