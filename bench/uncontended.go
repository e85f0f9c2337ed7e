package bench

import (
	"context"
	"strconv"
	"time"
)

// reference acquires and releases a name that nobody else wants, one at a time and now
// and then, with the locker of the run and beside its load: what an acquire costs at that
// moment when there is no one to wait for. Hand-overs are held against it. It is in no
// other figure.
type reference struct {
	r    *runner
	name string
	rng  rng
	hist *Histogram // owned by run until it returns
}

// referenceGap is the longest pause between two acquires of all processes together, and twice
// the shortest; random, so that they do not fall in step with anything.
const referenceGap = 20 * time.Millisecond

// newReference is nil where workers do not wait for each other.
func newReference(r *runner) *reference {
	if !r.waits {
		return nil
	}
	return &reference{
		r:    r,
		name: r.cfg.KeyPrefix + "uncontended:" + strconv.Itoa(r.cfg.proc),
		rng:  newRNG(r.cfg.Seed, r.cfg.stream(streamReference)),
		hist: NewHistogram(),
	}
}

// run ends with the measured time, or with a panic of the locker, which ends it.
func (u *reference) run() {
	defer u.r.caught()
	timer := newStoppedTimer()
	gap := referenceGap / 2 * time.Duration(u.r.cfg.procs())
	for {
		pause(timer, gap+time.Duration(u.rng.intn(int(gap))), u.r.ended)
		if u.r.phase.Load() >= draining {
			return
		}
		u.once()
	}
}

func (u *reference) once() {
	r, ctx := u.r, u.r.ctx
	if r.cfg.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.cfg.Wait)
		defer cancel()
	}
	begin := r.now()
	held, err := r.locker.Acquire(ctx, u.name, r.cfg.TTL)
	took := r.now() - begin
	if err != nil {
		return // the workers meet the same, and count it
	}
	if r.phase.Load() == measuring {
		u.hist.Record(took, 1)
	}
	_ = held.Release(r.relCtx)
}
