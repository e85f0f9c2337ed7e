package bench

import "runtime"

// holding returns Holding from the figures of all processes.
func (f *figures) holding(cfg Config) *Holding {
	h := f.Holding
	h.Wanted = int64(cfg.Keys)
	h.HeapBytesPerLock = max(h.HeapBytesPerLock, 0) / float64(max(h.Held, 1))
	h.CommandsPerRound = float64(f.Counts.Commands) / float64(max(f.Counts.Rounds, 1))
	return &h
}

// heap returns the size of the live heap.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// keep acquires the worker's share of the names, keeps the locks alive until the run is
// over, and releases them. No other worker wants these names, so there is nothing to audit.
func (w *worker) keep() {
	r := w.r
	all := r.cfg.Workers * r.cfg.procs()
	for key := w.number; key < len(r.held) && r.phase.Load() < draining; key += all {
		begin := r.now()
		w.keys = append(w.keys[:0], key)
		held, timedOut, err := w.acquire(opHold, r.names[key])
		now, call := r.now(), "acquire"
		w.waited(now-begin, 1)
		if err == nil {
			if err = w.keepAlive(held); err != nil {
				call = "keep alive"
				_ = held.Release(w.relCtx)
			}
		}
		if err != nil {
			w.refused(arrival{at: -1, measured: true, op: opHold}, now, call, err, timedOut)
			continue
		}
		w.acquired++
		w.sum.Holding.Held++
		r.held[key] = held
		w.shard.acquired(&operation{acquire: now - begin, used: -1, wait: -1, handover: -1, fence: fenceOf(held)})
	}
	<-r.ctx.Done()
	for key := w.number; key < len(r.held); key += all {
		if held := r.held[key]; held != nil {
			if lost(held) {
				w.sum.Holding.Lost++
				w.sum.Totals.Outlived++
			}
			_ = held.Release(w.relCtx) // the run is over: no figure counts the verdict
		}
	}
}

// keepAlive keeps a lock alive until the run is over. It ends the run when held is no Keeper.
func (w *worker) keepAlive(held Held) error {
	k, ok := held.(Keeper)
	if !ok {
		_, err := w.unable("has locks that cannot be kept alive")
		return err
	}
	return k.KeepAlive(w.r.cfg.Warmup + w.r.cfg.Duration + releaseGrace)
}

// lost reports whether a lock that is kept alive has ended.
func lost(held Held) bool {
	select {
	case <-held.(Keeper).Done():
		return true
	default:
		return false
	}
}
