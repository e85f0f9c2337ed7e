package bench

import (
	"context"
	"errors"
	"runtime"
	"time"

	"muxlock/internal/clock"
)

// worker is one goroutine that locks. That goroutine owns all fields until it returns.
type worker struct {
	r      *runner
	number int // among the workers of all processes
	shard  *shard
	draws
	alarm  *clock.Alarm
	ctx    context.Context // of acquires
	cancel context.CancelFunc
	relCtx context.Context // ends releaseGrace after the drain

	keys   []int   // of the operation under way
	stamps []int64 // of audit, by key
	fences []uint64

	acquired int64 // in the measured time
	sum      figures
}

// errorPause keeps a worker from calling a lock that fails at once, or refuses without asking anybody, in a tight loop.
const errorPause = time.Millisecond

// After yieldEvery operations a worker lets others run. Otherwise the workers of a lock that
// never blocks (noop) run 10 ms each, and a thousand of them delay the run's own goroutine by
// seconds.
const yieldEvery = 128

// newWorker gives each worker contexts of its own. Hundreds of goroutines that derive from
// one context would queue at its mutex, unlike real callers. ctx is of acquires.
func newWorker(ctx context.Context, r *runner, id int) *worker {
	w := &worker{
		r:      r,
		number: r.cfg.first() + id,
		shard:  r.rec.shard(id),
		draws:  newDraws(r.cfg, r.zipf, 1+uint64(id), r.cfg.first()+id),
		alarm:  clock.NewAlarm(),
	}
	w.ctx, w.cancel = context.WithCancel(ctx)
	return w
}

// start starts the worker's goroutine, which locks until the run is over. A panic of the locker ends the run.
func (w *worker) start(loop func(*worker)) {
	w.r.done.Go(func() {
		var cancel context.CancelFunc
		w.relCtx, cancel = context.WithCancel(w.r.relCtx)
		defer cancel()
		defer w.cancel()
		defer w.r.caught()
		loop(w)
	})
}

// loop returns what the workers do.
func (r *runner) loop() func(*worker) {
	driver, drives := r.locker.(Driver)
	switch {
	case drives:
		return func(w *worker) { w.drive(driver) }
	case r.cfg.Op == Hold:
		return (*worker).keep
	case r.pacer != nil:
		return (*worker).openLoop
	}
	return (*worker).closedLoop
}

func (w *worker) closedLoop() {
	for n := 1; w.r.phase.Load() < draining; n++ {
		if n%yieldEvery == 0 {
			runtime.Gosched()
		}
		a := w.next(-1)
		a.measured = true
		w.operate(a)
		w.sleep(w.r.cfg.Think.draw(w.spans), w.r.timed)
	}
}

func (w *worker) openLoop() {
	for {
		a, ok := w.r.pacer.next()
		if !ok {
			return
		}
		if a.key < 0 {
			a.key = w.key.own
		}
		w.operate(a)
	}
}

// operate makes one operation (acquire, hold, release) and counts it. One clock reading ends
// a phase and begins the next.
func (w *worker) operate(a arrival) {
	r := w.r
	w.drawKeys(a.key)

	begin := r.now()
	held, timedOut, err := w.acquire(a.op, r.names[w.keys[0]])
	var missed error // op many: the error of some names, although the call got others
	if a.op == opMany && held != nil {
		missed, err = err, nil
	}
	now := r.now()
	got := operation{acquire: now - begin, wait: a.waited(begin), lag: a.lag, handover: -1}
	p := r.phase.Load()
	if p != warming {
		w.waited(got.acquire, 1)
		if err == nil && p == measuring {
			w.acquired++
		}
	}
	if err != nil {
		w.note(Event{Kind: EventRefused, FromNs: begin, ToNs: now}, err)
		w.refused(a, now, "acquire", err, timedOut)
		return
	}

	until := untilNs(r.base, held.Until())
	got.used = r.used(now, until)
	if since, remote := w.enter(a.op, held, begin, now, until); a.op != opTry && a.op != opRead { // opTry does not wait; a reader may join others
		got.handover, got.remote = since, remote
	}
	got.fence = w.fences[0]
	if a.op == opMany {
		got.names = int64(len(w.keys))
	}
	if a.op == opMany || a.op == opAll {
		got.fences = int64(len(w.keys))
	}
	kind := EventAcquired
	if a.op == opRead {
		kind = EventRead
	}
	w.note(Event{Kind: kind, FromNs: begin, ToNs: now, UntilNs: until}, nil)
	from, hold, call := now, a.hold, "release"
	stays := hold > 0 || a.op == opExtend
	got.warm = !a.measured || stays && a.at < 0 && p == warming
	if stays {
		if a.measured {
			w.shard.acquired(&got)
		}
		if a.op == opExtend {
			w.sleep(hold/2, r.ctx)
			hold -= hold / 2
			var took int64
			if took, err = w.extend(held); err != nil {
				call = "extend"
			} else if a.measured {
				w.shard.record(ExtendTime, took)
			}
		}
		w.sleep(hold, r.ctx)
		now = r.now()
		got.cut = r.phase.Load() == stopped
	}
	until = untilNs(r.base, held.Until())
	w.leave(a.op, now, until)
	got.outlived = begin <= until && until < now // a validity before begin makes no claim
	if failed := held.Release(w.relCtx); err == nil {
		err = failed
	}
	got.hold, got.release = now-from, r.now()-now
	w.note(Event{Kind: EventReleased, FromNs: now, ToNs: now + got.release}, err)

	w.shard.mu.Lock()
	if !stays && a.measured {
		w.shard.acquiredLocked(&got)
	}
	w.shard.releasedLocked(&got, err)
	if missed != nil && !got.warm && r.phase.Load() != stopped { // the end of the drain may have cut it off
		w.shard.counts.Errors++
	}
	w.shard.mu.Unlock()
	if err != nil {
		w.failed(now, call, err)
	}
	if missed != nil {
		w.failed(now, "acquire", missed)
	}
}

// extend calls Extend of the lock of w.keys, and returns how long that took. It ends the run when held is no Extender.
func (w *worker) extend(held Held) (took int64, err error) {
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
		w.renewed(held, now)
	}
	return now - begin, err
}

// renewed notes in the audit that the lock of w.keys was extended until now.
func (w *worker) renewed(held Held, now int64) {
	w.stamps[0] = w.r.audit.renew(w.keys[0], w.number, w.stamps[0], now, untilNs(w.r.base, held.Until()), w.r.now)
}

// note adds an event of each name to the history, if there is one.
func (w *worker) note(e Event, err error) {
	if w.r.history == nil {
		return
	}
	e.Worker = w.number
	if err != nil && !errors.Is(err, ErrRefused) {
		e.Error = err.Error()
	}
	for i, key := range w.keys {
		if e.Acquires() {
			e.Fence = w.fences[i]
		}
		w.r.history.add(key, e)
	}
}

// acquire acquires w.keys, or their only name, limited to Config.Wait.
func (w *worker) acquire(op opKind, name string) (held Held, timedOut bool, err error) {
	if w.r.cfg.Wait == 0 {
		held, err = w.take(w.ctx, op, name)
		return held, false, err
	}
	ctx, cancel := context.WithTimeout(w.ctx, w.r.cfg.Wait)
	defer cancel()
	held, err = w.take(ctx, op, name)
	return held, ctx.Err() == context.DeadlineExceeded, err
}

func (w *worker) take(ctx context.Context, op opKind, name string) (Held, error) {
	switch op {
	case opAll, opMany:
		return w.takeSeveral(ctx, op)
	case opRead, opPermit:
		return w.takeShared(ctx, op, name)
	case opTry:
		return w.r.locker.TryAcquire(ctx, name, w.r.cfg.TTL)
	}
	return w.r.locker.Acquire(ctx, name, w.r.cfg.TTL)
}

// unable ends the run: its locker cannot do its operation.
func (w *worker) unable(why string) (Held, error) {
	w.r.fail(wrong("Op", "op", "%s: %s %s", w.r.cfg.Op, w.r.impl, why))
	<-w.r.ctx.Done()
	return nil, context.Canceled
}

// refused counts an operation whose call failed. A timeout comes first, whatever else the
// locker met.
func (w *worker) refused(a arrival, now int64, call string, err error, timedOut bool) {
	c := Totals{Finished: 1}
	switch {
	case timedOut:
		c.Timeouts = 1
	case errors.Is(err, ErrRefused):
		c.Refused = 1
	case w.r.phase.Load() == stopped: // the end of the drain cut it off
		c = Totals{Unfinished: 1}
	default:
		c.Errors = 1
	}
	response := int64(-1)
	if c.Refused == 0 || a.op != opTry && a.op != opMany { // else it was answered, and has not failed
		c.Failed, response = 1, a.waited(now)
	}
	if a.measured {
		w.shard.ended(c, response)
	}
	switch {
	case c.Errors > 0:
		w.failed(now, call, err)
	case c.Refused == 0:
		w.r.samples.vain(now, !timedOut, err)
	case w.r.pacer == nil && w.r.cfg.Think.Mean() == 0:
		w.sleep(errorPause, w.r.timed)
	}
}

// waited counts so many calls of Acquire that took ns each.
func (w *worker) waited(ns, n int64) {
	w.sum.LongestWait = max(w.sum.LongestWait, most(ns))
	w.sum.Waited += ns * n
	w.sum.Waits += n
}

func (w *worker) failed(now int64, call string, err error) {
	if w.r.phase.Load() == stopped {
		return
	}
	w.r.samples.add(now, call, err)
	if w.r.phase.Load() < draining {
		w.sleep(errorPause, w.r.timed)
	}
}

// sleep returns after d, or earlier when end is over.
func (w *worker) sleep(d time.Duration, end context.Context) {
	if d > 0 {
		w.r.alarms.Sleep(d, w.alarm, end.Done())
	}
}
