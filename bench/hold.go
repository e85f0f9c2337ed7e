package bench

import "runtime"

// holding is a process's share of Holding, in figures that can be added.
type holding struct {
	Holding                 // its heap is of all locks
	Rounds, Commands uint64 // over the whole run
}

func (h holding) result() *Holding {
	h.HeapBytesPerLock = max(h.HeapBytesPerLock, 0) / float64(max(h.Held, 1))
	h.CommandsPerRound = float64(h.Commands) / float64(max(h.Rounds, 1))
	return &h.Holding
}

// meterHolding adds the heap and the commands so far to h: with sign -1 when the run begins,
// with 1 when it ends.
func (r *runner) meterHolding(h *holding, sign int64) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h.HeapBytesPerLock += float64(sign) * float64(m.HeapAlloc)
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
		w.waited(now-begin, 1)
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
			w.sums.Holding.Held++
			w.shard.acquired(acquired{acquire: now - begin, used: -1, wait: -1, handover: -1, fence: fenceOf(held)})
			continue
		} else {
			w.shard.failed(Totals{Finished: 1, Errors: 1}, -1)
			w.failed(now, "keep alive", err)
		}
		_ = held.Release(w.relCtx)
	}
	<-r.stop
	for _, held := range w.kept {
		select {
		case <-held.(Keeper).Done():
			w.sums.Holding.Lost++
			w.sums.Totals.Outlived++
			w.sums.Totals.LostValidity++
		default:
		}
		_ = held.Release(w.relCtx) // the run is over: no figure counts the verdict
	}
}
