// Package raw measures what the masters themselves can do: pipelined SET NX PX and
// compare-and-delete, one command per operation, with no lock around them.
//
// A Load owns its connections: four per master, each driven by one goroutine that
// writes 64 SETs, reads 64 replies, writes 64 EVALSHAs, reads 64 replies. The bytes
// are encoded once, before the run, so that the client costs as little as it can.
// Every key is free when it is set and there when it is released; any other reply
// fails the run. A cycle on the masters is one SET and one release on each of them,
// so the cycles of all connections are summed and divided by the number of masters.
package raw

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/masters"
)

// Name of this load among the implementations.
const Name = "raw"

// Caveat says what its figures are not.
const Caveat = "no lock: what the servers can do with one command per operation, 4 connections to each, 64 operations deep; ignores --workers and all that shapes a lock's load"

// The shape of the load.
const (
	ConnsPerMaster = 4
	Depth          = 64
)

// patience is how long the last batch may take once the run is over.
const patience = 2 * time.Second

// Load is the connections to all masters. Close it. Not safe for concurrent use.
type Load struct {
	masters int
	conns   []*conn
}

// Open dials everything. It blocks until all is connected or ctx ends.
func Open(ctx context.Context, addrs []string, ttl time.Duration) (*Load, error) {
	l := &Load{masters: len(addrs)}
	for _, master := range addrs {
		for range ConnsPerMaster {
			c, err := dial(ctx, master, len(l.conns), ttl)
			if err != nil {
				return nil, errors.Join(fmt.Errorf("master %s: %w", masters.Redact(master), err), l.Close())
			}
			l.conns = append(l.conns, c)
		}
	}
	return l, nil
}

// Close closes the connections.
func (l *Load) Close() error {
	var errs []error
	for _, c := range l.conns {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Run drives all connections through cfg.Warmup and cfg.Duration, or until ctx
// ends, which leaves an interrupted result and no error. Of cfg it reads those two,
// Seed (to repeat it in the result) and Progress. The first bad reply or broken
// connection ends the run with an error, as does a master that has not answered two
// seconds after the end; after an error the Load can only be closed.
func (l *Load) Run(ctx context.Context, cfg bench.Config) (*bench.Result, error) {
	workers := make([]*worker, len(l.conns))
	for i, c := range l.conns {
		workers[i] = &worker{conn: c, acquire: newHistogram(), release: newHistogram(), cycle: newHistogram()}
	}
	var now phase
	g, gctx := errgroup.WithContext(ctx)
	for _, w := range workers {
		g.Go(func() error { return w.run(&now) })
	}

	l.watch(gctx, cfg, cfg.Warmup, workers, true)
	var before, after usage
	before.read()
	start := time.Now()
	now.Store(measuring)
	series := l.watch(gctx, cfg, cfg.Duration, workers, false)
	now.Store(over)
	elapsed := time.Since(start)
	after.read()
	for _, c := range l.conns {
		c.SetDeadline(time.Now().Add(patience)) // or a hung master would hold the run for ever
	}
	if err := g.Wait(); err != nil && ctx.Err() == nil {
		return nil, err
	}

	r := l.result(workers, elapsed, after.sub(before))
	r.Seed, r.Series = cfg.Seed, series
	if ctx.Err() != nil {
		r.Invalidate(bench.ReasonInterrupted)
	}
	if cfg.Progress != nil {
		cfg.Progress(bench.Progress{Impl: r.Impl, Elapsed: elapsed, Total: cfg.Duration, Result: r})
	}
	return r, nil
}

// watch lets a phase last and reports it once a second.
func (l *Load) watch(ctx context.Context, cfg bench.Config, total time.Duration, workers []*worker, warmup bool) []bench.Point {
	series := []bench.Point{}
	start, seen := time.Now(), l.cycles(workers)
	end := time.NewTimer(total)
	defer end.Stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		done := false
		select {
		case <-ctx.Done():
			return series
		case <-end.C:
			done = true
		case <-tick.C:
		}
		cycles, elapsed := l.cycles(workers), time.Since(start)
		p := bench.Point{TS: elapsed.Seconds(), Cycles: cycles - seen, Acquired: cycles - seen}
		seen = cycles
		series = append(series, p)
		if done {
			return series
		}
		if cfg.Progress != nil {
			cfg.Progress(bench.Progress{Impl: Name, Warmup: warmup, Elapsed: elapsed, Total: total, Point: p})
		}
	}
}

// phase is what the workers look at between two batches.
type phase = atomic.Int32

const (
	warming int32 = iota
	measuring
	over
)

// worker drives one connection; its histograms are its own until run returns.
type worker struct {
	conn                    *conn
	batches                 atomic.Int64 // read by watch
	measured                int64        // batches
	acquire, release, cycle *hdrhistogram.Histogram
}

func (w *worker) run(now *phase) error {
	start := time.Now()
	for {
		middle, err := w.conn.cycle()
		if err != nil {
			now.Store(over) // stops the others
			return err
		}
		end := time.Now()
		w.batches.Add(1)
		switch now.Load() {
		case measuring:
			w.measured++
			w.acquire.RecordValues(middle.Sub(start).Nanoseconds(), Depth)
			w.release.RecordValues(end.Sub(middle).Nanoseconds(), Depth)
			w.cycle.RecordValues(end.Sub(start).Nanoseconds(), Depth)
		case over:
			return nil
		}
		start = end
	}
}

// cycles so far, on the masters together.
func (l *Load) cycles(workers []*worker) (n int64) {
	for _, w := range workers {
		n += w.batches.Load()
	}
	return n * Depth / int64(l.masters)
}

func (l *Load) result(workers []*worker, elapsed time.Duration, cost usage) *bench.Result {
	acquire, release, cycle := newHistogram(), newHistogram(), newHistogram()
	var batches, squares float64
	for _, w := range workers {
		acquire.Merge(w.acquire)
		release.Merge(w.release)
		cycle.Merge(w.cycle)
		batches += float64(w.measured)
		squares += float64(w.measured) * float64(w.measured)
	}
	n := int64(batches) * Depth / int64(l.masters)
	r := &bench.Result{
		Impl:           Name,
		Round:          1,
		Masters:        l.masters,
		Workers:        ConnsPerMaster * Depth, // operations in flight at each master
		Procs:          1,
		Keys:           ConnsPerMaster * Depth,
		DurationS:      elapsed.Seconds(),
		Totals:         bench.Totals{Offered: n, Started: n, Acquired: n},
		ThroughputPerS: float64(n) / elapsed.Seconds(),
		Latency: bench.Latencies{
			Service: l.summary(acquire), Acquire: l.summary(acquire), Release: l.summary(release), Cycle: l.summary(cycle),
		},
		Fairness:     bench.Fairness{MaxWaitNs: acquire.Max(), PerProc: []int64{n}},
		Valid:        bench.Valid{OK: true, Reasons: []string{}},
		ErrorSamples: []string{},
	}
	if n == 0 {
		r.Invalidate(bench.ReasonNothing)
		return r
	}
	r.Fairness.Jain = batches * batches / (squares * float64(len(workers)))
	r.Client.CPUNsPerOp = float64(cost.cpu) / float64(n)
	r.Client.AllocsPerOp = float64(cost.allocs) / float64(n)
	return r
}

// usage of this process.
type usage struct {
	cpu    time.Duration
	allocs uint64
}

func (u *usage) read() {
	u.cpu = cpuTime()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.allocs = m.Mallocs
}

func (u usage) sub(v usage) usage { return usage{u.cpu - v.cpu, u.allocs - v.allocs} }

// newHistogram counts from 1 us to 1 minute to 3 digits.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1000, time.Minute.Nanoseconds(), 3)
}

// summary counts an operation on all masters once.
func (l *Load) summary(h *hdrhistogram.Histogram) *bench.Summary {
	s := &bench.Summary{Unit: "ns", Count: h.TotalCount() / int64(l.masters), P: map[string]int64{}}
	if s.Count > 0 {
		s.Min, s.Mean, s.Max = h.Min(), h.Mean(), h.Max()
	}
	for _, p := range []float64{50, 90, 99, 99.9, 99.99} {
		s.P[strconv.FormatFloat(p, 'g', -1, 64)] = h.ValueAtQuantile(p)
	}
	return s
}
