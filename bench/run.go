package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"
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

// runner is one run. It is shared by the workers; all but phase, samples, audit,
// recorder and pacer, which look after themselves, is read-only once they run.
type runner struct {
	impl   string
	cfg    Config
	locker Locker
	names  []string
	zipf   *zipf
	base   time.Time // origin of now
	pacer  *pacer    // nil: closed loop
	sleep  *sleeper  // of pacer
	rec    *recorder
	audit  *audit
	proc   int  // number of this process, from 0
	waits  bool // Config.waits

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

// newRunner prepares a run. The contexts of the calls do not end with ctx but
// when the runner says so, after the figures are taken. With exact unset arrivals
// are kept by Go timers, as virtual time needs.
func newRunner(ctx context.Context, impl string, l Locker, cfg Config, exact bool) *runner {
	if cfg.KeyPrefix == "" {
		cfg.KeyPrefix = "lockbench:" + rand.Text()[:10] + ":"
	}
	r := &runner{
		impl:   impl,
		cfg:    cfg,
		locker: l,
		names:  names(cfg.KeyPrefix, cfg.keys()),
		zipf:   newZipf(cfg),
		rec:    newRecorder(cfg),
		audit:  newAudit(newTable(cfg.keys())),
		waits:  cfg.waits(),
		stop:   make(chan struct{}),
		failed: make(chan struct{}),
		base:   time.Now(),
	}
	if cfg.Rate > 0 {
		r.sleep = newSleeper(r.stop, exact)
		r.pacer = newPacer(cfg, r.zipf, r.now, r.sleep)
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

// now is the run's clock: monotonic, ns; time.Now would read a second clock.
func (r *runner) now() int64 { return int64(time.Since(r.base)) }

// run drives the phases; the workers drive the load.
func (r *runner) run(ctx context.Context) (*Result, error) {
	report, finish := r.reporter()
	res := &Result{
		Impl:         r.impl,
		Round:        1,
		Workers:      r.cfg.Workers,
		Procs:        1,
		Keys:         r.cfg.keys(),
		Seed:         r.cfg.Seed,
		Series:       []Point{},
		Valid:        Valid{OK: true, Reasons: []string{}},
		ErrorSamples: []string{},
	}

	var done sync.WaitGroup
	start := func() {
		pprof.Do(ctx, pprof.Labels("bench", "worker"), func(context.Context) {
			for _, w := range r.workers {
				done.Go(w.run)
			}
		})
	}
	complete := true
	if r.cfg.Warmup > 0 {
		start()
		complete = r.watch(ctx, 0, r.cfg.Warmup, func(p Point, at time.Duration) {
			report(Progress{Warmup: true, Elapsed: at, Total: r.cfg.Warmup, Point: p})
		})
	}
	before := ReadMeter()
	r.rec.forget()
	from := r.now()
	if complete {
		if r.pacer != nil {
			r.pacer.begin(from)
		}
		r.phase.Store(measuring)
		if r.cfg.Warmup == 0 {
			start()
		}
		complete = r.watch(ctx, from, r.cfg.Duration, func(p Point, at time.Duration) {
			res.Series = append(res.Series, p)
			report(Progress{Elapsed: at, Total: r.cfg.Duration, Point: p})
		})
	}

	// Figures first, then the cancelled calls that must not be in them.
	after := ReadMeter()
	measured := r.phase.Swap(stopped) == measuring
	to := r.now()
	var growing bool
	if r.pacer != nil {
		res.Totals.Offered, res.Totals.Started, growing = r.pacer.end(to)
	}
	last := r.rec.rotate()
	close(r.stop)
	r.cancel()
	grace := time.AfterFunc(releaseGrace, r.release)
	done.Wait()
	grace.Stop()
	r.release()
	if r.sleep != nil {
		r.sleep.close()
	}

	if measured {
		elapsed := time.Duration(to - from)
		last.TS = elapsed.Seconds()
		res.Series = append(res.Series, last)
		r.figures(res, elapsed)
		res.Client = after.Since(before, r.rec.counts.cycles)
	} else {
		r.rec.forget()
		r.figures(res, 0)
	}
	r.judge(res, complete, growing)
	finish(Progress{Elapsed: time.Duration(to - from), Total: r.cfg.Duration, Point: last, Result: res})
	return res, r.failure
}

// watch waits until length after from on the run's clock, and gives each a point
// about once a second, but not the last, which ends with the load. It is false
// when ctx ended or the locker panicked before.
func (r *runner) watch(ctx context.Context, from int64, length time.Duration, each func(p Point, at time.Duration)) bool {
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
		p := r.rec.rotate()
		p.TS = time.Duration(r.now() - from).Seconds()
		each(p, at)
	}
}

// pointLeast is the shortest last interval of a series.
const pointLeast = 100 * time.Millisecond

// figures fills in what was counted; elapsed 0 means nothing was measured.
func (r *runner) figures(res *Result, elapsed time.Duration) {
	c, h := r.rec.counts, r.rec.total
	res.DurationS = elapsed.Seconds()
	res.Totals.Acquired, res.Totals.Refused = c.acquired, c.refused
	res.Totals.Timeouts, res.Totals.Errors = c.timeouts, c.errors
	if elapsed > 0 {
		res.ThroughputPerS = float64(c.cycles) / elapsed.Seconds()
	}
	if r.pacer == nil {
		res.Totals.Started = c.ended + r.rec.late()
		res.Totals.Offered = res.Totals.Started
	}
	res.Latency = Latencies{
		Service: h.acquire.Summary(),
		Acquire: h.acquire.Summary(),
		Release: h.release.Summary(),
		Cycle:   h.cycle.Summary(),
	}
	if h.response != nil {
		res.Latency.Response = h.response.Summary()
	}
	if h.handover != nil {
		res.Latency.Handover = h.handover.Summary()
	}
	shares := make([]int64, len(r.workers))
	for i, w := range r.workers {
		shares[i] = w.acquired
		res.Fairness.MaxWaitNs = max(res.Fairness.MaxWaitNs, w.maxWait)
	}
	res.Fairness.Jain = Jain(shares)
	res.Fairness.PerProc = []int64{c.acquired}
	res.Safety.Overlaps = r.audit.overlaps.Load()
	res.ErrorSamples = append(res.ErrorSamples, r.samples.texts...)
}

// rateSlack is the share of arrivals that may be unstarted at the end of a run
// that met its rate, and how many may be in any case.
const (
	rateSlack  = 0.01
	leastSlack = 3
)

// judge says what speaks against the figures.
func (r *runner) judge(res *Result, complete, growing bool) {
	if r.failure != nil {
		res.Invalidate(ReasonPanic)
	} else if !complete {
		res.Invalidate(ReasonInterrupted)
	}
	if res.Totals.Acquired == 0 {
		res.Invalidate(ReasonNothing)
	}
	t, s := res.Totals, max(res.DurationS, 1e-9)
	if float64(t.Offered-t.Started) > max(rateSlack*float64(t.Offered), leastSlack) {
		res.Invalidate(fmt.Sprintf("%s: offered %.1f/s, achieved %.1f/s", ReasonRate, float64(t.Offered)/s, float64(t.Started)/s))
	}
	if growing {
		res.Invalidate(fmt.Sprintf("%s: arrivals waited longer and longer to be started, offered %.1f/s, achieved %.1f/s",
			ReasonBacklog, float64(t.Offered)/s, res.ThroughputPerS))
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
