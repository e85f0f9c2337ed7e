package bench

import "time"

// Kept has the figures of the locks of Config.Kept.
type Kept struct {
	Held    int64 `json:"held"`         // acquired and kept alive
	Lost    int64 `json:"lost"`         // of these, lost before the run ended
	Stopped int64 `json:"lost_stopped"` // of these, while their process stood still for half of the TTL or longer
}

// keepOne keeps the lock of one name of Config.Kept alive until the run ends. If it loses the lock, it acquires it again. So
// the keepers of all other processes wait for it.
func (w *worker) keepOne() {
	for !w.over() {
		begin := w.r.now()
		held, _, err := w.acquire(opHold, w.r.names[w.keys[0]]) // not in the drain: it would wait for another keeper
		if err != nil {
			w.sleep(errorPause, w.r.timed)
			continue
		}
		if !w.over() && w.keepAlive(held) == nil {
			w.keepUntilLost(held, begin)
		}
		_ = held.Release(w.relCtx)
	}
}

// over tells whether the run is over, also when only another process has noticed that: it releases its kept locks then.
func (w *worker) over() bool {
	c := &w.r.cfg
	return w.r.phase.Load() >= draining || w.r.now() >= int64(c.Warmup+c.Duration)
}

// keepUntilLost watches over a lock until it is lost or the run is over.
func (w *worker) keepUntilLost(held Held, begin int64) {
	r, kept := w.r, &w.sum.Kept
	kept.Held++
	now, ttl := r.now(), int64(r.cfg.TTL)
	until := untilNs(r.base, held.Until())
	w.enter(opHold, held, begin, now, until)
	w.note(Event{Kind: EventAcquired, FromNs: begin, ToNs: now, UntilNs: until}, nil)
	stopped := now - ttl
	for over := false; !over; {
		before := now
		select {
		case <-time.After(r.cfg.TTL / 8):
		case <-held.(Keeper).Done():
			over = true
		case <-r.timed.Done():
			over = true
		}
		if now = r.now(); now-before > ttl/2 {
			stopped = now
		}
		if !over {
			w.renewed(held, now)
		}
	}
	w.leave(opHold, now, until)
	w.note(Event{Kind: EventReleased, FromNs: now, ToNs: now}, nil)
	if lost(held) {
		kept.Lost++
		if now-stopped < ttl {
			kept.Stopped++
		}
	}
}
