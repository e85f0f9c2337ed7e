package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"
)

// Part has the figures of one process of a run. Processes of the same build exchange it as
// JSON. Merge makes the Result from all parts.
type Part struct {
	Complete  bool // not interrupted, no panic
	Panicked  bool
	Unaudited bool // by a Driver
	Growing   bool // a backlog grew, from pacer.end
	sums
	Elapsed         time.Duration // of the measured time; 0: interrupted before it
	LongestWait     int64
	Latency         hists
	Shares          []int64 // acquisitions per worker
	Overlaps        int64   // of all processes so far, as the next
	FenceViolations int64
	History         []Event
	Series          []Point
	Drain           Point // after the measured time

	Stall  *Histogram // nil: not measured, as with the next
	Stalls *Peaks

	ErrorSamples []string
	Why          string // from samples.why
}

// sums are the figures of a Part that add up.
type sums struct {
	Totals        Totals
	Cycles        int64 // in the measured time
	Replaced      int64 // acquisitions of the processes whose place this one took
	Waited, Waits int64 // calls of Acquire, including failed and cut-off ones: time and number
	Holding       holding
	Kept          Kept
	Client        Client // its figures per cycle are totals here
}

// Place is one process's place in a run of Config.Procs processes.
type Place struct {
	Proc  int  // number of this process, from 0
	Joins bool // it takes the place of a killed process, in the middle of the run
	// Begin is called when this process is ready: many names take seconds.
	Begin func() Begin `json:"-"`
	// Table is a file of TableSize zero bytes, for this run alone, open in all its processes.
	// RunPart maps it, and does not close it.
	Table *os.File `json:"-"`
}

// Begin is when a run begins, on the clock of Monotonic.
type Begin struct {
	At    int64 // the same in all processes; may be past
	Since int64 // when the process before this one was killed; arrivals due since then wait for this one. Only if Place.Joins
}

// RunPart is Run for one process of several. It begins when place.Begin says, and its audit covers
// the workers of all processes. cfg must be the same in all processes, with a KeyPrefix. It
// returns a Part whenever Run would return a Result. It returns the errors of Run, and the
// error of mapping the table.
func RunPart(ctx context.Context, impl string, l Locker, cfg Config, place Place) (part *Part, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.KeyPrefix == "" || place.Proc < 0 || place.Proc >= cfg.procs() {
		return nil, wrong("KeyPrefix", "", "process %d of %d needs a place and a common key prefix", place.Proc, cfg.procs())
	}
	cfg.proc = place.Proc
	table, unmap, err := mapTable(place.Table, cfg)
	if err != nil {
		return nil, fmt.Errorf("bench: shared table: %w", err)
	}
	defer unmap()
	runtime.GC()
	var begin Begin
	r := newRunner(ctx, impl, l, cfg, table, func() time.Time {
		begin = place.Begin()
		return baseAt(begin.At)
	})
	r.joins, r.since = place.Joins, begin.Since-begin.At
	report, finish := r.reporter()
	part = r.drive(ctx, report)
	finish(Progress{Elapsed: part.Elapsed, Total: cfg.Duration, Totals: part.Totals})
	return part, context.Cause(r.failed)
}

// Replaces adds the reports of a killed process, whose place this one took. Its seconds go into
// the series, its last totals into the totals. Latencies and shares stay those of this process.
func (p *Part) Replaces(reports []Progress) {
	var last Totals
	for _, r := range reports {
		if r.Warmup {
			continue
		}
		last = r.Totals
		if n := int(r.Elapsed/time.Second) - 1; 0 <= n && n < len(p.Series) {
			p.Series[n].Add(r.Point)
		}
	}
	add(&p.Totals, last)
	p.Replaced += last.Acquired
}

// TableSize returns the size in bytes of the table that the processes of a run share.
func TableSize(cfg Config) int64 { return int64(tableWords(cfg)) * 8 }

// baseAt converts a time of Monotonic to this process's clock. It reads the two clocks one
// after the other, several times, and uses the closest pair.
func baseAt(begin int64) (base time.Time) {
	closest := time.Hour
	for range 20 {
		before := time.Now()
		now := Monotonic()
		if gap := time.Since(before); gap < closest {
			closest, base = gap, before.Add(gap/2).Add(time.Duration(begin-now))
		}
	}
	return base
}
