package bench

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"time"

	"muxlock/internal/clock"
)

// worker is one goroutine that locks. That goroutine owns all fields until it returns.
type worker struct {
	r      *runner
	number int // among the workers of all processes
	shard  *shard
	draws  keyGen
	spans  *rand.Rand // of hold and think
	ops    *rand.Rand // of a mix
	alarm  *clock.Alarm
	ctx    context.Context // ends with the drain
	cancel context.CancelFunc
	wait   *waitCtx        // nil: an Acquire may wait until the drain ends
	relCtx context.Context // ends releaseGrace after the drain

	keys   []int   // of the operation under way
	stamps []int64 // of audit, by key
	fences []uint64

	acquired int64 // in the measured time
	longest  int64 // call of Acquire, including failed and cut-off ones
	sums     sums

	kept []Held // op hold
}

// errorPause keeps a worker from calling a lock that fails at once, or refuses without asking anybody, in a tight loop.
const errorPause = time.Millisecond

// After yieldEvery operations a worker lets others run. Otherwise the workers of a lock that
// never blocks (noop) run 10 ms each, and a thousand of them delay the run's own goroutine by
// seconds.
const yieldEvery = 128

// newWorker gives each worker contexts of its own. Hundreds of goroutines that derive from
// one context would queue at its mutex, unlike real callers.
func newWorker(r *runner, id int) *worker {
	w := &worker{
		r:      r,
		number: r.cfg.first() + id,
		shard:  r.rec.shard(id),
		draws:  newKeyGen(r.cfg, r.zipf, streamWorkers+uint64(id), r.cfg.first()+id),
		spans:  newRNG(r.cfg.Seed, r.cfg.stream(streamSpans+uint64(id))),
		ops:    newRNG(r.cfg.Seed, r.cfg.stream(streamOps+uint64(id))),
		alarm:  clock.NewAlarm(),
	}
	w.ctx, w.cancel = context.WithCancel(r.ctx)
	if r.cfg.Op == Hold {
		w.sums.Holding.Wanted = int64(r.cfg.shareOf(w.number))
		w.kept = make([]Held, 0, w.sums.Holding.Wanted) // before the heap is measured
	}
	return w
}

// run locks until the run is over. A panic of the locker ends the run.
func (w *worker) run() {
	relCtx, relCancel := context.WithCancel(w.r.relCtx)
	w.relCtx = relCtx
	if w.r.cfg.Wait > 0 {
		w.wait = newWaitCtx(w.ctx, w.r.base, w.r.cfg.Wait)
	}
	defer relCancel()
	defer w.cancel()
	defer w.r.caught()
	driver, drives := w.r.locker.(Driver)
	switch {
	case drives:
		w.drive(driver)
	case w.r.cfg.Op == Hold:
		w.keep()
	case w.r.pacer != nil:
		w.openLoop()
	default:
		w.closedLoop()
	}
}

func (w *worker) closedLoop() {
	think := w.r.cfg.Think
	for n := 1; w.r.phase.Load() < draining; n++ {
		if n%yieldEvery == 0 {
			runtime.Gosched()
		}
		a := arrival{at: -1, key: w.draws.next(), op: w.r.cfg.Op.draw(w.ops), measured: true}
		a.hold = w.r.cfg.Hold.draw(w.spans)
		w.operate(a)
		w.sleep(think.draw(w.spans), w.r.ended)
	}
}

func (w *worker) openLoop() {
	for {
		a, ok := w.r.pacer.next()
		if !ok {
			return
		}
		if a.key < 0 {
			a.key = w.draws.own
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
	held, timedOut, err := w.acquire(begin, a.op)
	var missed error // op many: the error of some names, although the call got others
	if a.op == opMany && held != nil {
		missed, err = err, nil
	}
	now := r.now()
	got := acquired{acquire: now - begin, wait: a.waited(begin), lag: a.lag, handover: -1}
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

	if r.waits && a.op != opTry && a.op != opRead { // opTry does not wait; a reader may join others
		got.handover, got.remote = w.handover(begin, now)
	}
	until := untilNs(r.base, held.Until())
	got.used = r.used(now, until)
	w.enter(a.op, held, now, until)
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
	from, hold, call, cut := now, a.hold, "release", false
	stays := hold > 0 || a.op == opExtend
	warm := !a.measured || stays && a.at < 0 && p == warming
	if stays {
		if a.measured {
			w.shard.acquired(got)
		}
		if a.op == opExtend {
			w.sleep(hold/2, r.stop)
			hold -= hold / 2
			var took int64
			if took, err = w.extend(held); err != nil {
				call = "extend"
			} else if a.measured {
				w.shard.record(ExtendTime, took)
			}
		}
		w.sleep(hold, r.stop)
		now = r.now()
		cut = r.phase.Load() == stopped
	}
	until = untilNs(r.base, held.Until())
	w.leave(a.op, now, until)
	outlived := begin <= until && until < now // a validity before begin makes no claim
	if failed := held.Release(w.relCtx); err == nil {
		err = failed
	}
	release := r.now() - now
	w.note(Event{Kind: EventReleased, FromNs: now, ToNs: now + release}, err)

	w.shard.mu.Lock()
	if !stays && a.measured {
		w.shard.acquiredLocked(got)
	}
	w.shard.releasedLocked(released{acquire: got.acquire, hold: now - from, release: release, cut: cut, outlived: outlived, warm: warm}, err)
	if missed != nil && !warm && r.phase.Load() != stopped { // the end of the drain may have cut it off
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
		w.stamps[0] = r.audit.renew(w.keys[0], w.number, w.stamps[0], now, untilNs(r.base, held.Until()), r.now)
	}
	return now - begin, err
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

// acquire acquires w.keys, limited to Config.Wait.
func (w *worker) acquire(now int64, op opKind) (held Held, timedOut bool, err error) {
	ctx := w.ctx
	if w.wait != nil {
		w.wait.arm(now)
		ctx = w.wait
	}
	switch op {
	case opAll, opMany:
		held, err = w.takeSeveral(ctx, op)
	case opRead, opPermit:
		held, err = w.takeShared(ctx, op)
	case opTry:
		held, err = w.r.locker.TryAcquire(ctx, w.r.names[w.keys[0]], w.r.cfg.TTL)
	default:
		held, err = w.r.locker.Acquire(ctx, w.r.names[w.keys[0]], w.r.cfg.TTL)
	}
	if w.wait != nil && !w.wait.disarm() {
		timedOut = true
		w.wait = newWaitCtx(w.ctx, w.r.base, w.r.cfg.Wait)
	}
	return held, timedOut, err
}

// unable ends the run: its locker cannot do its operation.
func (w *worker) unable(why string) (Held, error) {
	w.r.fail(wrong("Op", "op", "%s: %s %s", w.r.cfg.Op, w.r.impl, why))
	<-w.r.stop
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
	answered := (a.op == opTry || a.op == opMany) && c.Refused > 0 // not a failure
	if a.measured && answered {
		w.shard.ended(c, -1)
	} else if a.measured {
		w.shard.failed(c, a.waited(now))
	}
	switch {
	case c.Errors > 0:
		w.failed(now, call, err)
	case c.Refused == 0:
		w.r.samples.vain(now, !timedOut, err)
	case w.r.pacer == nil && w.r.cfg.Think.Mean() == 0:
		w.sleep(errorPause, w.r.ended)
	}
}

// waited counts so many calls of Acquire that took ns each.
func (w *worker) waited(ns, n int64) {
	w.longest = max(w.longest, ns)
	w.sums.Waited += ns * n
	w.sums.Waits += n
}

func (w *worker) failed(now int64, call string, err error) {
	if w.r.phase.Load() == stopped {
		return
	}
	w.r.samples.add(now, call, err)
	if w.r.phase.Load() < draining {
		w.sleep(errorPause, w.r.ended)
	}
}

// sleep returns after d, or earlier when end is closed.
func (w *worker) sleep(d time.Duration, end <-chan struct{}) {
	if d <= 0 {
		return
	}
	w.r.alarms.Sleep(d, w.alarm, end)
}
