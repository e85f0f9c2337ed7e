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
	report, finish := r.reporter()
	part := r.drive(ctx, report)
	res := Merge(r.impl, r.cfg, []*Part{part})
	last := Progress{Elapsed: part.Elapsed, Total: r.cfg.Duration, Result: res}
	if n := len(res.Series); n > 0 {
		last.Point = res.Series[n-1]
	}
	finish(last)
	return res, context.Cause(r.failed)
}

// drive goes through the phases of the run; the workers make the load.
func (r *runner) drive(ctx context.Context, report func(Progress)) *Part {
	part := &Part{}
	var done sync.WaitGroup
	start := sync.OnceFunc(func() {
		pprof.Do(ctx, pprof.Labels("bench", "worker"), func(context.Context) {
			for _, w := range r.workers {
				done.Go(w.run)
			}
			for _, k := range r.keepers {
				done.Go(k.run)
			}
		})
	})
	if r.cfg.Begin != nil {
		r.cfg.Begin(r.base)
	}
	part.Complete = r.await(ctx)
	if r.cfg.Op == Hold {
		part.Holding.GoroutinesBefore = int64(runtime.NumGoroutine() + len(r.workers))
		r.meterHolding(&part.Holding, -1)
	}
	if r.now() < int64(r.cfg.Warmup) && part.Complete {
		report(Progress{Warmup: true, Total: r.cfg.Warmup})
		start()
		part.Complete = r.watch(ctx, 0, time.Second, r.cfg.Warmup, func(i Point, at time.Duration) {
			report(Progress{Warmup: true, Elapsed: at, Total: r.cfg.Warmup, Point: i})
		})
	}
	from := int64(r.cfg.Warmup) // in all processes, for faults and for probes
	before, counted := readMeter(), countsOf(r.locker)
	var stalls *stallWatch
	if part.Complete {
		stalls = r.measure(ctx, from, counted, part, &done, report, start)
	}

	// First the figures of the measured time, then the rest of its operations.
	after := readMeter()
	if r.cfg.Op == Hold {
		part.Holding.GoroutinesAfter = int64(runtime.NumGoroutine())
		r.meterHolding(&part.Holding, 1)
	}
	measured := r.phase.Swap(draining) == measuring
	to := r.now()
	counts := countsOf(r.locker)
	if r.pacer != nil {
		part.Growing = r.pacer.end(to)
	}
	last := r.rec.rotate()
	part.Cycles = r.rec.cycles
	close(r.ended)
	if stalls != nil {
		close(stalls.stop)
	}
	r.drain(ctx, &done, part)
	r.alarms.Close()
	if stalls != nil {
		<-stalls.done
		part.Stall, part.Stalls = stalls.hist, mergePeaks(&stalls.peaks)
		after.cpu -= stalls.cpu // the stall watch is no part of the load
	}

	if measured {
		part.Elapsed = time.Duration(to - from)
		last.TS = part.Elapsed.Seconds()
		part.Series = append(part.Series, last)
		part.Drain = r.rec.rotate()
		part.Drain.TS = time.Duration(r.now() - from).Seconds()
		part.Client = after.since(before)
		r.figures(part, counts.since(counted))
	} else {
		r.rec.forget()
		r.figures(part, Counts{})
	}
	return part
}

// measure runs the measured time, or what is left of it when this process joins. It returns the
// stall watch, still running.
func (r *runner) measure(ctx context.Context, from int64, counted Counts, part *Part, done *sync.WaitGroup, report func(Progress), start func()) (stalls *stallWatch) {
	fresh := r.cfg.Op != Hold // which acquires from the start
	if fresh {
		r.rec.swap()
	}
	if r.pacer != nil {
		due := from
		if r.joins { // what was due before was another process's
			due = max(from, r.since)
		}
		r.pacer.begin(from, due)
	}
	r.phase.Store(measuring)
	report(Progress{Total: r.cfg.Duration})
	start()
	if fresh {
		r.rec.forget()
	}
	stalls = watchStalls(r.cfg.procs(), time.Duration(r.now()-from))
	if r.waits {
		done.Go(r.uncontended)
	}
	first := time.Second
	for ; r.joins && from+int64(first) < r.now() && first < r.cfg.Duration-pointLeast; first += time.Second {
		part.Series = append(part.Series, Point{TS: first.Seconds()})
	}
	part.Complete = r.watch(ctx, from, first, r.cfg.Duration, func(i Point, at time.Duration) {
		part.Series = append(part.Series, i)
		report(Progress{Elapsed: at, Total: r.cfg.Duration, Point: i, Totals: r.totals(countsOf(r.locker).since(counted))})
	})
	return stalls
}

// drain waits for the operations under way, and cuts off those that take too long. An
// interrupted run and a run with op hold do not wait.
func (r *runner) drain(ctx context.Context, workers *sync.WaitGroup, part *Part) {
	over := make(chan struct{})
	go func() {
		workers.Wait()
		close(over)
	}()
	if part.Complete && r.cfg.Op != Hold {
		limit := time.NewTimer(min(drainMost, r.cfg.Duration))
		defer limit.Stop()
		select {
		case <-over:
		case <-limit.C:
		case <-ctx.Done():
			part.Complete = false
		case <-r.failed.Done():
			part.Complete = false
		}
	}
	r.phase.Store(stopped)
	if r.pacer != nil {
		part.Totals = r.pacer.close(r.now(), r.rec.neverBegun)
	}
	close(r.stop)
	r.cancel()
	grace := time.AfterFunc(releaseGrace, r.release)
	<-over
	grace.Stop()
	r.release()
}

// await waits for the start of the run. It returns false when ctx ends first.
func (r *runner) await(ctx context.Context) bool {
	select {
	case <-time.After(time.Duration(-r.now())):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// watch waits until length after from on the run's clock. At first, and then about once a second,
// it calls each with a Point; drive takes the last one. It returns false when ctx ends or the locker
// panics first.
func (r *runner) watch(ctx context.Context, from int64, first, length time.Duration, each func(i Point, at time.Duration)) bool {
	for at := first; ; at += time.Second {
		if at > length-pointLeast {
			at = length
		}
		select {
		case <-time.After(time.Duration(from + int64(at) - r.now())):
		case <-ctx.Done():
			return false
		case <-r.failed.Done():
			return false
		}
		if at == length {
			return true
		}
		now := r.now()
		i := r.rec.rotate()
		i.TS = time.Duration(now - from).Seconds()
		each(i, at)
	}
}

// pointLeast is the shortest last interval of a series.
const pointLeast = 100 * time.Millisecond

// totals returns the counts so far, with those of the locker. What is under way, or due and not
// begun, is not yet among them.
func (r *runner) totals(c Counts) Totals {
	t := r.rec.counts
	t.LateQuorum, t.FenceSecondTrips = int64(c.LateQuorum), int64(c.FenceSecondTrips)
	t.LostValidity = t.Outlived + t.LateQuorum
	t.Started = t.Finished + t.Unfinished
	t.Offered = t.Started
	return t
}

// figures fills in the counts and the histograms.
func (r *runner) figures(p *Part, c Counts) {
	t := r.totals(c)
	if r.pacer != nil { // it has counted these
		t.Offered, t.Started = 0, 0
	}
	add(&p.Totals, t)
	p.Latency = r.rec.total
	p.Shares = make([]int64, len(r.workers))
	for i, w := range r.workers {
		p.Shares[i] = w.acquired
		p.LongestWait = max(p.LongestWait, w.longest)
		add(&p.sums, w.sums)
	}
	for _, k := range r.keepers {
		add(&p.Kept, k.Kept)
	}
	p.Overlaps, p.FenceViolations, p.History = r.audit.overlaps().Load(), r.audit.stale().Load(), r.history.violations()
	_, p.Unaudited = r.locker.(Driver)
	p.Panicked = r.failed.Err() != nil
	p.ErrorSamples, p.Why = r.samples.texts, r.samples.why
}
