package bench

import "runtime"

// holdingPart is a process's share of Holding, in figures that can be added.
type holdingPart struct {
	Wanted, Held, Lost                int64
	HeapBytes                         int64
	GoroutinesBefore, GoroutinesAfter int64
	Rounds, Commands                  uint64
}

func (h *holdingPart) add(g *holdingPart) {
	h.Wanted += g.Wanted
	h.Held += g.Held
	h.Lost += g.Lost
	h.HeapBytes += g.HeapBytes
	h.GoroutinesBefore += g.GoroutinesBefore
	h.GoroutinesAfter += g.GoroutinesAfter
	h.Rounds += g.Rounds
	h.Commands += g.Commands
}

func (h *holdingPart) result() *Holding {
	return &Holding{
		Wanted: h.Wanted, Held: h.Held, Lost: h.Lost,
		HeapBytesPerLock: float64(max(h.HeapBytes, 0)) / float64(max(h.Held, 1)),
		GoroutinesBefore: h.GoroutinesBefore, GoroutinesAfter: h.GoroutinesAfter,
		CommandsPerRound: float64(h.Commands) / float64(max(h.Rounds, 1)),
	}
}

// meterHolding adds the heap and the commands so far to h: with sign -1 when the run begins,
// with 1 when it ends.
func (r *runner) meterHolding(h *holdingPart, sign int64) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h.HeapBytes += sign * int64(m.HeapAlloc)
	c := countsOf(r.locker)
	h.Rounds += uint64(sign) * c.Rounds
	h.Commands += uint64(sign) * c.Commands
}

// keep acquires the worker's share of the names, keeps the locks alive until the run is
// over, and releases them. No other worker wants these names, so there is nothing to audit.
func (w *worker) keep() {
	r := w.r
	all := r.cfg.Workers * r.cfg.procs()
	limit := r.cfg.Warmup + r.cfg.Duration + releaseGrace
	for key := w.number; key < len(r.names) && r.phase.Load() < draining; key += all {
		begin := r.now()
		w.keys = append(w.keys[:0], key)
		held, timedOut, err := w.acquire(begin, opHold)
		now := r.now()
		w.waits.add(waits{Longest: now - begin, Sum: now - begin, Count: 1})
		if err != nil {
			w.refused(arrival{at: -1, measured: true, op: opHold}, now, "acquire", err, timedOut)
			continue
		}
		k, ok := held.(Keeper)
		if !ok {
			r.fail(wrong("Op", "op", "hold: locks of %s cannot be kept alive", r.impl))
		} else if err = k.KeepAlive(limit); err == nil {
			w.acquired++
			w.kept = append(w.kept, held)
			w.shard.mu.Lock()
			w.shard.acquiredLocked(acquired{acquire: now - begin, used: -1, wait: -1, handover: -1, fence: fenceOf(held)})
			w.shard.mu.Unlock()
			continue
		} else {
			w.shard.mu.Lock()
			w.shard.failedLocked(Totals{Finished: 1, Errors: 1}, -1)
			w.shard.mu.Unlock()
			w.failed(now, "keep alive", err)
		}
		_ = held.Release(w.relCtx)
	}
	<-r.stop
	for _, held := range w.kept {
		select {
		case <-held.(Keeper).Done():
			w.lost++
		default:
		}
		_ = held.Release(w.relCtx) // the run is over: no figure counts the verdict
	}
}
