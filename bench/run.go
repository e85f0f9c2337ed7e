package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"muxlock/internal/clock"
)

// Run loads one locker as cfg says and measures it. It blocks for Warmup and
// Duration, and until every worker has released what it held, at most
// releaseGrace longer with a locker that obeys its ctx. It does not close l.
//
// When ctx ends, Run stops and returns the Result so far, its Valid saying
// ReasonInterrupted, and a nil error. Errors: ErrConfig before anything was sent;
// a panic of the locker, with its stack, beside the Result so far. Errors of the
// lock itself are figures, not errors of Run.
func Run(ctx context.Context, impl string, l Locker, cfg Config) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.procs() > 1 {
		return nil, wrong("Procs", "procs", "needs RunPart in each of %d processes", cfg.Procs)
	}
	// The last run's garbage is not this one's.
	runtime.GC()
	return newRunner(ctx, impl, l, cfg, true).run(ctx)
}

// releaseGrace is how long releases may take after the end of a run.
const releaseGrace = 5 * time.Second

// A run is warming, then measuring, then stopped; an interrupt goes to stopped
// from either.
const (
	warming int32 = iota
	measuring
	stopped
)

// runner is one run, or one process's part of it. It is shared by the workers; all but phase, samples, audit,
// recorder and pacer, which look after themselves, is read-only once they run.
type runner struct {
	impl    string
	cfg     Config
	locker  Locker
	names   []string
	zipf    *zipf
	base    time.Time     // origin of now
	pacer   *pacer        // nil: closed loop
	sleep   *sleeper      // of pacer
	alarms  *clock.Alarms // of workers that hold or think; nil: Go timers
	rec     *recorder
	audit   *audit
	history *history // of Config.History; nil: none
	waits   bool     // Config.waits
	exact   bool     // real time, not virtual

	ctx     context.Context // of acquires; ends with the run
	cancel  context.CancelFunc
	relCtx  context.Context // of releases
	release context.CancelFunc
	stop    chan struct{} // closed when the run is over
	workers []*worker

	failOnce sync.Once
	failure  error         // set before failed is closed
	failed   chan struct{} // closed by the first panic of the locker

	_       [64]byte // phase is read by every operation
	phase   atomic.Int32
	_       [64]byte
	samples samples
}

// newRunner prepares a run of one process, which begins at once.
func newRunner(ctx context.Context, impl string, l Locker, cfg Config, exact bool) *runner {
	return newPartRunner(ctx, impl, l, cfg, exact, newTable(cfg.keys()), time.Now())
}

// newPartRunner prepares one process of a run that begins at base. The contexts of
// the calls do not end with ctx but when the runner says so, after the figures are
// taken. With exact unset arrivals are kept by Go timers, as virtual time needs.
func newPartRunner(ctx context.Context, impl string, l Locker, cfg Config, exact bool, t *table, base time.Time) *runner {
	if cfg.KeyPrefix == "" {
		cfg.KeyPrefix = RandomKeyPrefix()
	}
	r := &runner{
		impl:   impl,
		cfg:    cfg,
		locker: l,
		names:  names(cfg.KeyPrefix, cfg.keys()),
		zipf:   newZipf(cfg),
		rec:    newRecorder(cfg),
		audit:  newAudit(t),
		waits:  cfg.waits(),
		exact:  exact,
		stop:   make(chan struct{}),
		failed: make(chan struct{}),
		base:   base,
	}
	r.history = newHistory(t, r.names, cfg.proc, cfg.History)
	if cfg.Rate > 0 {
		r.sleep = newSleeper(r.stop, exact)
		r.pacer = newPacer(cfg, r.zipf, r.now, r.sleep)
	}
	if exact && (cfg.Hold.Mean() > 0 || cfg.Think.Mean() > 0) {
		r.alarms = clock.NewAlarms()
	}
	ctx = context.WithoutCancel(ctx)
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.relCtx, r.release = context.WithCancel(ctx)
	r.workers = make([]*worker, cfg.Workers)
	for i := range r.workers {
		r.workers[i] = newWorker(r, i)
	}
	return r
}

// RandomKeyPrefix makes the default of Config.KeyPrefix.
func RandomKeyPrefix() string { return "lockbench:" + rand.Text()[:10] + ":" }

// now is the run's clock: monotonic, ns; time.Now would read a second clock.
func (r *runner) now() int64 { return int64(time.Since(r.base)) }

// run is a whole run in this process.
func (r *runner) run(ctx context.Context) (*Result, error) {
	report, finish := r.reporter()
	part := r.drive(ctx, report)
	res := Merge(r.impl, r.cfg, []*Part{part})
	last := Progress{Elapsed: part.Elapsed, Total: r.cfg.Duration, Result: res}
	if n := len(res.Series); n > 0 {
		last.Point = res.Series[n-1]
	}
	finish(last)
	return res, r.failure
}

// drive drives the phases; the workers drive the load.
func (r *runner) drive(ctx context.Context, report func(Progress)) *Part {
	part := &Part{}
	var done sync.WaitGroup
	start := func() {
		pprof.Do(ctx, pprof.Labels("bench", "worker"), func(context.Context) {
			for _, w := range r.workers {
				done.Go(w.run)
			}
		})
	}
	if r.cfg.Begin != nil {
		r.cfg.Begin(r.base)
	}
	part.Complete = r.await(ctx)
	if r.cfg.Op == Hold {
		part.Holding = &holdingPart{GoroutinesBefore: int64(runtime.NumGoroutine() + len(r.workers))}
		r.meterHolding(part.Holding, -1)
	}
	if r.cfg.Warmup > 0 && part.Complete {
		report(Progress{Warmup: true, Total: r.cfg.Warmup})
		start()
		part.Complete = r.watch(ctx, 0, r.cfg.Warmup, func(i Interval, at time.Duration) (enough bool) {
			report(Progress{Warmup: true, Elapsed: at, Total: r.cfg.Warmup, Point: i.Point})
			return false
		})
	}
	var stalls *stallWatch
	before := ReadMeter()
	if r.cfg.Op != Hold { // which acquires from the begin
		r.rec.forget()
	}
	from, tooLate := r.now(), expired(r.locker)
	if r.cfg.Steady > 0 {
		part.Steady = &Steady{}
	}
	if part.Complete {
		if r.pacer != nil {
			r.pacer.begin(from)
		}
		r.phase.Store(measuring)
		report(Progress{Total: r.cfg.Duration})
		if r.cfg.Warmup == 0 {
			start()
		}
		if r.exact {
			stalls = watchStalls()
		}
		if u := newReference(r); u != nil {
			part.Uncontended = u.hist
			done.Go(u.run)
		}
		part.Complete = r.watch(ctx, from, r.cfg.Duration, func(i Interval, at time.Duration) (enough bool) {
			part.Series = append(part.Series, i)
			report(Progress{Elapsed: at, Total: r.cfg.Duration, Point: i.Point})
			if part.Steady != nil && steady(part.Series, r.cfg.Steady) {
				*part.Steady = Steady{Reached: true, AfterS: i.TS}
				return true
			}
			return false
		})
	}

	// Figures first, then the cancelled calls that must not be in them.
	after := ReadMeter()
	if part.Holding != nil {
		part.Holding.GoroutinesAfter = int64(runtime.NumGoroutine())
		r.meterHolding(part.Holding, 1)
	}
	measured := r.phase.Swap(stopped) == measuring
	to := r.now()
	tooLate = expired(r.locker) - tooLate
	if r.pacer != nil {
		part.Totals, part.Growing = r.pacer.end(to)
	}
	last := r.interval()
	close(r.stop)
	r.cancel()
	grace := time.AfterFunc(releaseGrace, r.release)
	if stalls != nil {
		var took time.Duration
		part.Stall, took = stalls.end()
		after.cpu -= took // no part of the load
	}
	done.Wait()
	grace.Stop()
	r.release()
	if r.alarms != nil {
		r.alarms.Close()
	}
	if r.sleep != nil {
		r.sleep.close()
	}

	if measured {
		part.Elapsed = time.Duration(to - from)
		last.TS = part.Elapsed.Seconds()
		part.addLast(last)
		part.Client = after.Since(before, 1)
		part.Totals.LateQuorum = tooLate
	} else {
		r.rec.forget()
	}
	r.figures(part)
	return part
}

// await waits for the begin of the run; false when ctx ended before.
func (r *runner) await(ctx context.Context) bool {
	select {
	case <-time.After(time.Duration(-r.now())):
		return true
	case <-ctx.Done():
		return false
	}
}

// watch waits until length after from on the run's clock, and gives each a point
// about once a second, but not the last, which ends with the load, or until each has
// had enough. It is false when ctx ended or the locker panicked before.
func (r *runner) watch(ctx context.Context, from int64, length time.Duration, each func(i Interval, at time.Duration) (enough bool)) bool {
	timer := newStoppedTimer()
	for at := time.Second; ; at += time.Second {
		if at > length-pointLeast {
			at = length
		}
		timer.Reset(time.Duration(from + int64(at) - r.now()))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-r.failed:
			timer.Stop()
			return false
		}
		if at == length {
			return true
		}
		i := r.interval()
		i.TS = time.Duration(r.now() - from).Seconds()
		if each(i, at) {
			return true
		}
	}
}

// interval is what happened since the last one.
func (r *runner) interval() Interval {
	i := r.rec.rotate()
	if r.pacer != nil {
		i.Dropped = r.pacer.drops()
	}
	return i
}

// pointLeast is the shortest last interval of a series.
const pointLeast = 100 * time.Millisecond

// figures fills in what was counted.
func (r *runner) figures(p *Part) {
	c := r.rec.counts
	p.Cycles = c.cycles
	p.Totals.Acquired, p.Totals.Refused = c.acquired, c.refused
	p.Totals.Timeouts, p.Totals.Errors = c.timeouts, c.errors
	p.Totals.LostValidity = c.lost + p.Totals.LateQuorum
	if r.pacer == nil {
		p.Totals.Started = c.ended + r.rec.late()
		p.Totals.Offered = p.Totals.Started
	}
	p.Latency = r.rec.total
	p.Shares = make([]int64, len(r.workers))
	for i, w := range r.workers {
		p.Shares[i] = w.acquired
		p.Waits.add(w.waits)
		if p.Holding != nil {
			p.Holding.Held += int64(len(w.kept))
			p.Holding.Lost += w.lost
		}
	}
	if p.Holding != nil {
		p.Holding.Wanted = int64(r.cfg.share())
	}
	p.Overlaps, p.History = r.audit.overlaps.Load(), r.history.overlapping()
	p.Panicked = r.failure != nil
	p.ErrorSamples, p.Why = r.samples.texts, r.samples.why
}

// caught is deferred by who calls the locker: a panic of it ends the run.
func (r *runner) caught() {
	if v := recover(); v != nil {
		r.fail(fmt.Errorf("bench: %s: %s: %v\n%s", r.impl, ReasonPanic, v, debug.Stack()))
	}
}

// fail ends the run because of a panic; the first counts.
func (r *runner) fail(err error) {
	r.failOnce.Do(func() {
		r.failure = err
		close(r.failed)
	})
}

// reporter starts the goroutine that calls Config.Progress. report never
// blocks: a call that finds the last one not yet delivered is dropped. finish
// delivers the last and waits for it.
func (r *runner) reporter() (report, finish func(Progress)) {
	if r.cfg.Progress == nil {
		return func(Progress) {}, func(Progress) {}
	}
	calls, done := make(chan Progress, 1), make(chan struct{})
	go func() {
		defer close(done)
		for p := range calls {
			r.cfg.Progress(p)
		}
	}()
	fill := func(p Progress) Progress {
		p.Impl, p.Round = r.impl, 1
		return p
	}
	report = func(p Progress) {
		select {
		case calls <- fill(p):
		default:
		}
	}
	finish = func(p Progress) {
		calls <- fill(p)
		close(calls)
		<-done
	}
	return report, finish
}
