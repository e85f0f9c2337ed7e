// Package raw measures the masters themselves: pipelined SET NX PX and compare-and-delete, one
// command per operation, without a lock.
//
// A Load owns its connections, four per master. One goroutine drives each connection: it writes 64
// SETs, reads 64 replies, writes 64 EVALSHAs, reads 64 replies. The bytes are encoded once, before
// the run, so that the client costs little. Every key is free when it is set and present when it
// is released; any other reply fails the run. A cycle is one SET and one release on a majority of
// the masters, since a lock waits for no more, and every master is asked. Latencies are of
// each operation on one master.
package raw

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/internal/quorum"
)

// Name of this load among the implementations.
const Name = "raw"

// Caveat limits what its figures mean.
const Caveat = "no lock: the servers alone, one command per operation, 4 connections to each, 64 operations deep; cycles are those that a majority of masters made; ignores --workers and other flags of the load"

// The shape of the load.
const (
	ConnsPerMaster = 4
	Depth          = 64
)

// patience bounds the last batch after the end of the run.
const patience = 2 * time.Second

// Load has the connections to all masters, for one Run. The caller must Close it. Not safe for
// concurrent use.
type Load struct {
	masters int
	workers []*worker
}

// Open dials all connections. It blocks until all are connected or ctx ends.
func Open(ctx context.Context, addrs []string, ttl time.Duration) (*Load, error) {
	l := &Load{masters: len(addrs)}
	for _, master := range addrs {
		for range ConnsPerMaster {
			c, err := dial(ctx, master, len(l.workers), ttl)
			if err != nil {
				return nil, errors.Join(fmt.Errorf("master %s: %w", masters.Redact(master), err), l.Close())
			}
			l.workers = append(l.workers, &worker{conn: c, acquire: bench.NewHistogram(), release: bench.NewHistogram(), cycle: bench.NewHistogram()})
		}
	}
	return l, nil
}

// Close closes the connections.
func (l *Load) Close() error {
	var errs []error
	for _, w := range l.workers {
		errs = append(errs, w.conn.Close())
	}
	return errors.Join(errs...)
}

// Run drives all connections through cfg.Warmup and cfg.Duration. When ctx ends, it returns an
// interrupted result and no error. Of cfg it reads Warmup, Duration, Seed (for the result),
// Progress and Begin. The run ends with an error at the first bad reply or broken connection, or
// if a master has not answered two seconds after the end. A Load runs once: its histograms go on.
func (l *Load) Run(ctx context.Context, cfg bench.Config) (*bench.Result, error) {
	var now atomic.Int32
	g, gctx := errgroup.WithContext(ctx)
	for _, w := range l.workers {
		g.Go(func() error { return w.run(&now) })
	}

	if cfg.Begin != nil {
		cfg.Begin(time.Now())
	}
	l.watch(gctx, cfg, cfg.Warmup, true)
	before := bench.ReadMeter()
	start := time.Now()
	now.Store(measuring)
	if cfg.Progress != nil {
		cfg.Progress(bench.Progress{Impl: Name, Total: cfg.Duration}) // seconds count from here again
	}
	series := l.watch(gctx, cfg, cfg.Duration, false)
	now.Store(over)
	elapsed := time.Since(start)
	after := bench.ReadMeter()
	for _, w := range l.workers {
		_ = w.conn.SetDeadline(time.Now().Add(patience)) // a hung master cannot block the run for ever
	}
	if err := g.Wait(); err != nil && ctx.Err() == nil {
		return nil, err
	}

	r := l.result(elapsed)
	r.Client = after.Since(before, r.Totals.Acquired)
	r.Seed, r.Series = cfg.Seed, series
	if ctx.Err() != nil {
		r.Invalidate(bench.ReasonInterrupted, "")
	}
	if cfg.Progress != nil {
		cfg.Progress(bench.Progress{Impl: r.Impl, Elapsed: elapsed, Total: cfg.Duration, Result: r})
	}
	return r, nil
}

// watch waits for the end of a phase and reports it once a second.
func (l *Load) watch(ctx context.Context, cfg bench.Config, total time.Duration, warmup bool) []bench.Point {
	series := []bench.Point{}
	start, seen := time.Now(), l.cycles()
	for at := time.Second; ; at += time.Second {
		if at > total-pointLeast {
			at = total
		}
		select {
		case <-ctx.Done():
			return series
		case <-time.After(time.Until(start.Add(at))):
		}
		now, elapsed := l.cycles(), time.Since(start)
		p := bench.Point{TS: elapsed.Seconds(), Cycles: now - seen, Acquired: now - seen}
		seen = now
		series = append(series, p)
		if at == total {
			return series
		}
		if cfg.Progress != nil {
			cfg.Progress(bench.Progress{Impl: Name, Warmup: warmup, Elapsed: elapsed, Total: total, Point: p})
		}
	}
}

// pointLeast is the shortest last interval of a series.
const pointLeast = 100 * time.Millisecond

// The phases of a run, which the workers read between two batches.
const (
	warming int32 = iota
	measuring
	over
)

// worker drives one connection. It owns its histograms until run returns.
type worker struct {
	conn                    *conn
	batches                 atomic.Int64 // read by watch
	measured                int64        // batches
	acquire, release, cycle *bench.Histogram
}

func (w *worker) run(now *atomic.Int32) error {
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
			w.acquire.Record(middle.Sub(start).Nanoseconds(), Depth)
			w.release.Record(end.Sub(middle).Nanoseconds(), Depth)
			w.cycle.Record(end.Sub(start).Nanoseconds(), Depth)
		case over:
			return nil
		}
		start = end
	}
}

// cycles returns the cycles so far.
func (l *Load) cycles() int64 {
	return l.onMajority(func(w *worker) int64 { return w.batches.Load() })
}

// onMajority returns how many cycles a majority of the masters made.
func (l *Load) onMajority(batches func(*worker) int64) int64 {
	var each []int64
	for ofMaster := range slices.Chunk(l.workers, ConnsPerMaster) {
		var sum int64
		for _, w := range ofMaster {
			sum += batches(w)
		}
		each = append(each, sum)
	}
	slices.Sort(each)
	return each[len(each)-quorum.Size(len(each))] * Depth
}

func (l *Load) result(elapsed time.Duration) *bench.Result {
	acquire, release, cycle := bench.NewHistogram(), bench.NewHistogram(), bench.NewHistogram()
	shares := make([]int64, len(l.workers))
	for i, w := range l.workers {
		acquire.Merge(w.acquire)
		release.Merge(w.release)
		cycle.Merge(w.cycle)
		shares[i] = w.measured
	}
	n := l.onMajority(func(w *worker) int64 { return w.measured })
	r := &bench.Result{
		Impl:           Name,
		Round:          1,
		Masters:        l.masters,
		Workers:        ConnsPerMaster * Depth, // operations in flight at each master
		Procs:          1,
		Keys:           ConnsPerMaster * Depth,
		DurationS:      elapsed.Seconds(),
		Totals:         bench.Totals{Offered: n, Started: n, Finished: n, Acquired: n},
		ThroughputPerS: float64(n) / elapsed.Seconds(),
		AcquiredPerS:   float64(n) / elapsed.Seconds(),
		Latency: bench.Latencies{
			bench.AcquireTime: acquire.Summary(), bench.ReleaseTime: release.Summary(), bench.CycleTime: cycle.Summary(),
		},
		Fairness:     bench.Fairness{Jain: bench.Jain(shares), PerProc: []int64{n}},
		Valid:        bench.Valid{OK: true, Reasons: []bench.Reason{}},
		ErrorSamples: []string{},
	}
	r.Fairness.MaxWaitNs = r.Latency[bench.AcquireTime].Max
	if n == 0 {
		r.Invalidate(bench.ReasonNothing, "")
	}
	return r
}
