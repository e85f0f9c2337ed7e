package bench

import (
	"strconv"
	"time"
)

// uncontendedGap is the longest pause between two uncontended acquires of all processes
// together. The shortest is half of it. Pauses are random, so that they do not fall in step
// with the load.
const uncontendedGap = 20 * time.Millisecond

// uncontended acquires and releases a name that no worker wants, with the locker of the run
// and beside its load. UncontendedTime shows the cost of an acquire without anybody to wait for;
// hand-overs are compared with it. Lost validity and second round trips for fences count them
// too, since the locker counts those of all its callers; no other figure does. uncontended
// returns when the measured time ends or the locker panics.
func (w *worker) uncontended() {
	r := w.r
	name := r.cfg.KeyPrefix + "uncontended:" + strconv.Itoa(r.cfg.proc)
	gap := uncontendedGap / 2 * time.Duration(r.cfg.procs())
	for {
		w.sleep(gap+time.Duration(w.spans.IntN(int(gap))), r.timed)
		if r.phase.Load() >= draining {
			return
		}
		begin := r.now()
		held, _, err := w.acquire(opAcquireRelease, name)
		took := r.now() - begin
		if err == nil { // workers meet and count the same errors
			if r.phase.Load() == measuring {
				w.shard.record(UncontendedTime, took)
			}
			_ = held.Release(w.relCtx)
		}
	}
}
