package bench

import "math"

// extend is one operation of op extend. It acquires the worker's lock first if there is none, then calls Extend. It releases the
// lock when Extend fails.
func (w *worker) extend(a arrival) {
	r := w.r
	if w.ext == nil && !w.beginExtending(a) {
		return
	}
	begin := r.now()
	took, err := w.extendHeld(w.ext)
	if err != nil {
		w.refused(a, begin+took, "extend", err, false)
		w.endExtending()
		return
	}
	if r.phase.Load() == measuring {
		w.acquired++
	}
	if a.measured {
		w.shard.mu.Lock()
		w.shard.extendedLocked(took, a.waited(begin), a.lag)
		w.shard.mu.Unlock()
	}
}

// beginExtending acquires the lock. It returns false if that fails.
func (w *worker) beginExtending(a arrival) bool {
	r := w.r
	begin := r.now()
	w.drawKeys(w.draws.own)
	held, timedOut, err := w.acquire(begin, opExtend)
	now := r.now()
	if err != nil {
		w.refused(a, now, "acquire", err, timedOut)
		return false
	}
	w.ext = held
	w.enter(opExtend, held, now, untilNs(r.base, held.Until()))
	return true
}

// extendHeld calls Extend of the lock of w.keys, and returns how long that took. It ends the run when held is no Extender.
func (w *worker) extendHeld(held Held) (took int64, err error) {
	r := w.r
	ext, ok := held.(Extender)
	if !ok {
		_, err = w.unable("has locks that cannot be extended")
		return 0, err
	}
	begin := r.now()
	err = ext.Extend(w.ctx, r.cfg.TTL)
	now := r.now()
	if err == nil {
		w.stamps[0] = r.audit.renew(w.keys[0], w.number, w.stamps[0], now, untilNs(r.base, held.Until()), r.now)
	}
	return now - begin, err
}

func (w *worker) endExtending() {
	if w.ext == nil {
		return
	}
	now := w.r.now()
	w.leave(opExtend, now, math.MaxInt64)
	if err := w.ext.Release(w.relCtx); err != nil {
		w.failed(now, "release", err)
	}
	w.ext = nil
}
