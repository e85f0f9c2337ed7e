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
	figures
	Joined time.Duration // into the measured time, when this process took the place of a killed one; 0: it did not
	Series []Point
	Drain  Point // after the measured time
}

// figures are what add adds up, of the workers of a process and of the processes of a run.
type figures struct {
	Totals        Totals
	Cycles        int64 // in the measured time
	Waited, Waits int64 // calls of Acquire, including failed and cut-off ones: time and number
	LongestWait   most
	Latency       hists
	Shares        []int64 // acquisitions per worker
	Counts        Counts  // of the locker in the measured time; with op hold, in the whole run
	Holding       Holding // its heap is of all locks
	Kept          Kept
	Client        Client // its figures per cycle are totals here, its p99s are those of Pauses and Ready
	Pauses, Ready most
	Stall         *Histogram // nil: not measured, as with the next
	Stalls        *Peaks

	Interrupted, Panicked bool
	Unaudited             bool // by a Driver
	Growing               bool // a backlog grew, from pacer.end
	Elapsed               most // of the measured time; 0: interrupted before it
	Overlaps              most // of all processes so far, as the next
	FenceViolations       most
	History               []Event
	Audited               int64 // holds in the history, those of killed processes among them
	HotNames              []HotName
	ErrorSamples          []string
	Why                   string // from samples.why
}

// most is a figure of which add keeps the largest.
type most int64

// Place is one process's place in a run of Config.Procs processes.
type Place struct {
	Proc  int  // number of this process, from 0
	Joins bool // it takes the place of a killed process, in the middle of the run; what was due before it is ready is not its own
	// Begin is called when this process is ready: many names take seconds. It returns when the run
	// begins, on the clock of Monotonic. That is the same in all processes, and may be past.
	Begin func() int64 `json:"-"`
	// Table is a file of TableSize zero bytes, for this run alone, open in all its processes.
	// RunPart maps it, and does not close it.
	Table *os.File `json:"-"`
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
	r := newRunner(ctx, impl, l, cfg, table, func() time.Time { return baseAt(place.Begin()) })
	r.joins = place.Joins
	finish := r.reporter()
	part = r.drive(ctx)
	finish(Progress{Elapsed: time.Duration(part.Elapsed), Total: cfg.Duration})
	return part, context.Cause(r.failed)
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
