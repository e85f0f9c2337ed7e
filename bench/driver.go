package bench

import (
	"context"
	"time"
)

// A Driver is a Locker without locks. It makes operations of its own, which no audit sees. Config's Workers is the number of calls of
// Drive; what else describes operations is ignored.
type Driver interface {
	// Drive makes batches of operations until count returns false. ctx ends with the drain. An error ends the run.
	Drive(ctx context.Context, worker int, count func(Batch) (more bool)) error
}

// Batch is what a Driver did in one step.
type Batch struct {
	Cycles           int64 // that this step completed, each with a lock
	Operations       int64 // that took so long, all of them the same time
	Acquire, Release time.Duration
}

// drive lets the locker of the run make the operations.
func (w *worker) drive(d Driver) {
	err := d.Drive(w.ctx, w.number, func(b Batch) bool {
		acquire, release := int64(b.Acquire), int64(b.Release)
		w.shard.mu.Lock()
		w.shard.counts.Finished += b.Cycles
		w.shard.counts.Acquired += b.Cycles
		w.shard.cycles += b.Cycles
		w.shard.hists[AcquireTime].Record(acquire, b.Operations)
		w.shard.hists[ReleaseTime].Record(release, b.Operations)
		w.shard.hists[CycleTime].Record(acquire+release, b.Operations)
		w.shard.mu.Unlock()
		phase := w.r.phase.Load()
		if phase == measuring {
			w.acquired += b.Cycles
			w.waited(acquire, b.Operations)
		}
		return phase < draining
	})
	if err != nil {
		w.r.fail(err)
	}
}
