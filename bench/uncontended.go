package bench

import (
	"context"
	"strconv"
	"time"

	"muxlock/internal/clock"
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
func (r *runner) uncontended() {
	defer r.caught()
	name := r.cfg.KeyPrefix + "uncontended:" + strconv.Itoa(r.cfg.proc)
	random := newRNG(r.cfg.Seed, r.cfg.stream(streamUncontended))
	alarm := clock.NewAlarm()
	gap := uncontendedGap / 2 * time.Duration(r.cfg.procs())
	for {
		r.alarms.Sleep(gap+time.Duration(random.IntN(int(gap))), alarm, r.ended)
		if r.phase.Load() >= draining {
			return
		}
		ctx, cancel := r.ctx, context.CancelFunc(func() {})
		if r.cfg.Wait > 0 {
			ctx, cancel = context.WithTimeout(r.ctx, r.cfg.Wait)
		}
		begin := r.now()
		held, err := r.locker.Acquire(ctx, name, r.cfg.TTL)
		took := r.now() - begin
		if err == nil { // workers meet and count the same errors
			if r.phase.Load() == measuring {
				r.rec.shard(0).record(UncontendedTime, took)
			}
			_ = held.Release(r.relCtx)
		}
		cancel()
	}
}
