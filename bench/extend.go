package bench

// extending is the one lock of a worker with op extend.
type extending struct {
	lock  Held // nil: not acquired yet, or lost
	ext   Extender
	stamp int64 // of audit
}

// extend is one operation. It acquires the lock first if the worker has none, then calls
// Extend. It releases the lock when Extend fails.
func (w *worker) extend(a arrival) {
	r := w.r
	if w.ext.lock == nil && !w.beginExtending(a) {
		return
	}
	begin := r.now()
	err := w.ext.ext.Extend(w.ctx, r.cfg.TTL)
	now := r.now()
	if r.phase.Load() == measuring && err == nil {
		w.acquired++
	}
	if err != nil {
		w.refused(a, now, "extend", err, false)
		w.endExtending()
		return
	}
	if a.measured {
		w.shard.mu.Lock()
		w.shard.extendedLocked(now-begin, a.waited(begin), a.lag)
		w.shard.mu.Unlock()
	}
	w.ext.stamp = r.audit.renew(w.draws.own, w.number, w.ext.stamp, now, untilNs(r.base, w.ext.lock.Until()), r.now)
}

// beginExtending acquires the lock. It returns false if that fails, or if the lock is no Extender.
func (w *worker) beginExtending(a arrival) bool {
	r, key := w.r, w.draws.own
	begin := r.now()
	w.drawKeys(key)
	held, timedOut, err := w.acquire(begin, opExtend)
	now := r.now()
	if err != nil {
		w.refused(a, now, "acquire", err, timedOut)
		return false
	}
	w.ext.lock = held
	w.ext.stamp = r.audit.enter(key, w.number, now, untilNs(r.base, held.Until()), fenceOf(held), r.now)
	var ok bool
	if w.ext.ext, ok = w.extender(held); !ok {
		w.endExtending()
		<-r.stop
	}
	return ok
}

// extender returns held as an Extender. It ends the run when held is none.
func (w *worker) extender(held Held) (Extender, bool) {
	ext, ok := held.(Extender)
	if !ok {
		w.r.fail(wrong("Op", "op", "%s: locks of %s cannot be extended", w.r.cfg.Op, w.r.impl))
	}
	return ext, ok
}

// extendOnce calls Extend for an operation of a mix.
func (w *worker) extendOnce(held Held, measured bool) error {
	r := w.r
	ext, ok := w.extender(held)
	if !ok {
		return nil
	}
	begin := r.now()
	if err := ext.Extend(w.ctx, r.cfg.TTL); err != nil {
		return err
	}
	now := r.now()
	if measured {
		w.shard.mu.Lock()
		w.shard.hists.Extend.Record(now-begin, 1)
		w.shard.mu.Unlock()
	}
	w.stamps[0] = r.audit.renew(w.keys[0], w.number, w.stamps[0], now, untilNs(r.base, held.Until()), r.now)
	return nil
}

func (w *worker) endExtending() {
	if w.ext.lock == nil {
		return
	}
	now := w.r.now()
	w.r.audit.leave(w.draws.own, w.ext.stamp, now)
	if err := w.ext.lock.Release(w.relCtx); err != nil {
		w.failed(now, "release", err)
	}
	w.ext = extending{}
}
