package bench

import "context"

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

// takeShared acquires the name as a reader, or a permit of the name.
func (w *worker) takeShared(ctx context.Context, op opKind, name string) (Held, error) {
	locker, ok := w.r.locker.(SharedLocker)
	switch {
	case !ok:
		return w.unable("lets nobody share a name")
	case op == opRead:
		return locker.AcquireShared(ctx, name, w.r.cfg.TTL)
	}
	return locker.AcquirePermit(ctx, name, w.r.cfg.Op.number, w.r.cfg.TTL)
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

// enter notes in the audit that this worker holds all of w.keys, and leaves their fences in w.fences. It began to acquire them
// at begin, and returns the time from the last release of one of them, as table.handover does of a name.
func (w *worker) enter(op opKind, held Held, begin, now, until int64) (handover int64, remote bool) {
	audit := w.r.audit
	handover = -1
	w.stamps, w.fences = w.stamps[:0], w.fences[:0]
	several, _ := held.(ManyFencer)
	for i, key := range w.keys {
		if w.r.waits {
			if since, other := audit.handover(key, w.r.cfg.proc, begin, now); since >= 0 && (handover < 0 || since < handover) {
				handover, remote = since, other
			}
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
			if permit, ok := held.(Fencer); ok { // a lock of its own, the one of that slot
				audit.compareFence(key, audit.permitFence(key, permit.Slot()), now, until, fence, w.r.now)
			}
		default:
			stamp = audit.enter(key, w.number, now, until, fence, w.r.now)
		}
		w.stamps, w.fences = append(w.stamps, stamp), append(w.fences, fence)
	}
	return handover, remote
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
