package bench

import (
	"context"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

// Run loads one locker as cfg describes and measures it. It blocks for Warmup and Duration,
// then for the drain. In the drain nothing new is due; operations that were due still begin
// and end, for at most 5 s and no longer than Duration. An operation that has not ended then
// is cut off and counts as unfinished. Run returns when every worker has released its lock,
// at most releaseGrace later if the locker obeys its ctx. It does not close l.
//
// When ctx ends, Run stops without a drain, or ends it. It returns the Result so far, whose Valid has
// ReasonInterrupted, and a nil error. Run returns ErrConfig before it sends anything. If the
// locker panics, it returns the Result so far and the panic with its stack. Errors of the
// lock itself are figures, not errors of Run.
func Run(ctx context.Context, impl string, l Locker, cfg Config) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.procs() > 1 {
		return nil, wrong("Procs", "procs", "needs RunPart in each of %d processes", cfg.Procs)
	}
	runtime.GC() // the previous run's garbage is no cost of this run
	return newRunner(ctx, impl, l, cfg, newTable(cfg), time.Now).run(ctx)
}

const (
	drainMost    = 5 * time.Second // longest drain, see Run
	releaseGrace = 5 * time.Second // for releases after the drain
)

// run makes a whole run in this process.
func (r *runner) run(ctx context.Context) (*Result, error) {
	finish := r.reporter()
	part := r.drive(ctx)
	res := Merge(r.impl, r.cfg, []*Part{part})
	last := Progress{Elapsed: time.Duration(part.Elapsed), Total: r.cfg.Duration, Result: res}
	if n := len(res.Series); n > 0 {
		last.Point = res.Series[n-1]
	}
	finish(last)
	return res, context.Cause(r.failed)
}

// drive goes through the phases of the run; the workers make the load.
func (r *runner) drive(ctx context.Context) *Part {
	part := &Part{}
	start := sync.OnceFunc(func() {
		pprof.Do(ctx, pprof.Labels("bench", "worker"), func(context.Context) {
			for _, w := range r.workers {
				w.start(r.loop())
			}
			for _, w := range r.keepers {
				w.start((*worker).keepOne)
			}
		})
	})
	if r.cfg.Begin != nil {
		r.cfg.Begin(r.base)
	}
	part.Interrupted = r.watch(ctx, part, 0, 0, 0)
	counted := countsOf(r.locker)
	if r.cfg.Op == Hold {
		part.Holding.GoroutinesBefore = int64(runtime.NumGoroutine() + len(r.workers))
		part.Holding.HeapBytesPerLock = -heap()
	}
	if r.now() < int64(r.cfg.Warmup) && !part.Interrupted {
		r.report(Progress{Warmup: true, Total: r.cfg.Warmup})
		start()
		part.Interrupted = r.watch(ctx, part, 0, time.Second, r.cfg.Warmup)
	}
	from := int64(r.cfg.Warmup) // in all processes, for faults and for probes
	before := readMeter()
	if r.cfg.Op != Hold { // which acquires from the start
		counted = countsOf(r.locker)
	}
	if !part.Interrupted {
		r.measure(ctx, from, part, start)
	}

	// First the figures of the measured time, then the rest of its operations.
	after := readMeter()
	if r.cfg.Op == Hold {
		part.Holding.GoroutinesAfter = int64(runtime.NumGoroutine())
		part.Holding.HeapBytesPerLock += heap()
	}
	measured := r.phase.Swap(draining) == measuring
	to := r.now()
	part.Counts = countsOf(r.locker).since(counted)
	if hot, ok := r.locker.(HotNamer); ok && r.cfg.workload() == Contended {
		part.HotNames = hot.HotNames()
	}
	if r.pacer != nil {
		part.Growing = r.pacer.end(to)
	}
	last := r.rec.rotate()
	part.Cycles = r.rec.cycles
	r.end()
	r.drain(ctx, part)
	r.alarms.Close()

	if measured {
		<-r.stalls.done
		part.Stall, part.Stalls = r.stalls.hist, mergePeaks(&r.stalls.peaks)
		after.cpu -= r.stalls.cpu // the stall watch is no part of the load
		part.Elapsed = most(to - from)
		last.TS = time.Duration(part.Elapsed).Seconds()
		part.Series = append(part.Series, last)
		part.Drain = r.rec.rotate()
		part.Drain.TS = time.Duration(r.now() - from).Seconds()
		after.since(before, &part.figures)
	} else {
		r.rec.forget()
		part.Counts = Counts{}
	}
	r.figures(part)
	return part
}

// measure runs the measured time, or what is left of it when this process joins. The stall watch runs until its end.
func (r *runner) measure(ctx context.Context, from int64, part *Part, start func()) {
	fresh := r.cfg.Op != Hold // which acquires from the start
	if fresh {
		r.rec.swap()
	}
	begin := from
	if r.joins {
		begin = max(from, r.now())
	}
	part.Joined = time.Duration(begin - from)
	if r.pacer != nil {
		r.pacer.begin(from, begin)
	}
	r.phase.Store(measuring)
	r.report(Progress{Total: r.cfg.Duration})
	start()
	if fresh {
		r.rec.forget()
	}
	r.stalls = watchStalls(r.cfg.procs(), time.Duration(r.now()-from), r.timed.Done())
	if r.waits {
		newWorker(r.timed, r, maxWorkers).start((*worker).uncontended)
	}
	first := part.Joined.Truncate(time.Second) + time.Second
	part.Interrupted = r.watch(ctx, part, from, first, r.cfg.Duration)
}

// drain waits for the operations under way, and cuts off those that take too long. An
// interrupted run and a run with op hold do not wait.
func (r *runner) drain(ctx context.Context, part *Part) {
	over := make(chan struct{})
	go func() {
		r.done.Wait()
		close(over)
	}()
	if !part.Interrupted && r.cfg.Op != Hold {
		select {
		case <-over:
		case <-time.After(min(drainMost, r.cfg.Duration)):
		case <-ctx.Done():
			part.Interrupted = true
		case <-r.failed.Done():
			part.Interrupted = true
		}
	}
	r.phase.Store(stopped)
	if r.pacer != nil {
		part.Totals = r.pacer.close(r.now(), r.rec.neverBegun)
	}
	r.cancel()
	grace := time.AfterFunc(releaseGrace, r.release)
	<-over
	grace.Stop()
	r.release()
}

// watch waits until length after from on the run's clock. At first, and then about once a second,
// it takes a Point, reports it and, after the warm-up, keeps it; drive takes the last one. watch returns
// whether ctx ended or the locker panicked first.
func (r *runner) watch(ctx context.Context, part *Part, from int64, first, length time.Duration) (cut bool) {
	for at := first; ; at += time.Second {
		if at > length-pointLeast {
			at = length
		}
		select {
		case <-time.After(time.Duration(from + int64(at) - r.now())):
		case <-ctx.Done():
			return true
		case <-r.failed.Done():
			return true
		}
		if at == length {
			return ctx.Err() != nil
		}
		now := r.now()
		i := r.rec.rotate()
		i.TS = time.Duration(now - from).Seconds()
		warm := r.phase.Load() == warming
		if !warm {
			part.Series = append(part.Series, i)
		}
		r.report(Progress{Warmup: warm, Elapsed: at, Total: length, Point: i})
	}
}

// pointLeast is the shortest last interval of a series.
const pointLeast = 100 * time.Millisecond

// figures fills in the counts and the histograms.
func (r *runner) figures(p *Part) {
	t := r.rec.counts
	if r.pacer == nil { // else it has counted these
		t.Started = t.Finished + t.Unfinished
		t.Offered = t.Started
	}
	add(&p.Totals, t)
	p.Latency = r.rec.total
	for _, w := range r.workers {
		p.Shares = append(p.Shares, w.acquired)
		add(&p.figures, w.sum)
	}
	for _, w := range r.keepers {
		add(&p.figures, w.sum)
	}
	p.Overlaps, p.FenceViolations = most(r.audit.overlaps().Load()), most(r.audit.stale().Load())
	p.History, p.Audited = r.history.violations(), r.history.holds()
	_, p.Unaudited = r.locker.(Driver)
	p.Panicked = r.failed.Err() != nil
	p.ErrorSamples, p.Why = r.samples.texts, r.samples.why
}
