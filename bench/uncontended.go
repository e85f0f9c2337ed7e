package bench

import (
	"context"
	"strconv"
	"time"

	"muxlock/internal/clock"
)

// referenceGap is the longest pause between two acquires of all processes together, and twice
// the shortest; random, so that they do not fall in step with anything.
const referenceGap = 20 * time.Millisecond

// uncontended acquires and releases a name that nobody else wants, one at a time and now
// and then, with the locker of the run and beside its load: what an acquire costs at that
// moment when there is no one to wait for. Hand-overs are held against it. It is in no
// other figure. It ends with the measured time, or with a panic of the locker, which ends it.
func (r *runner) uncontended(hist *Histogram) {
	defer r.caught()
	name := r.cfg.KeyPrefix + "uncontended:" + strconv.Itoa(r.cfg.proc)
	random := newRNG(r.cfg.Seed, r.cfg.stream(streamReference))
	alarm := clock.NewAlarm()
	gap := referenceGap / 2 * time.Duration(r.cfg.procs())
	for {
		r.alarms.Sleep(gap+time.Duration(random.intn(int(gap))), alarm, r.ended)
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
		if err == nil { // else the workers meet the same, and count it
			if r.phase.Load() == measuring {
				hist.Record(took, 1)
			}
			_ = held.Release(r.relCtx)
		}
		cancel()
	}
}
