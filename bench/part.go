package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"
)

// Part is what one process of a run found. It can be written and read as JSON by
// processes of the same build; Merge makes the Result of all parts.
type Part struct {
	Complete        bool // not interrupted, no panic
	Panicked        bool
	Growing         bool          // the pacer's verdict
	Elapsed         time.Duration // measured; 0: nothing was
	Totals          Totals
	Cycles          int64 // in the measured time
	Latency         hists
	Shares          []int64 // acquisitions per worker
	Waits           waits
	Overlaps        int64
	FenceViolations int64
	History         []Event
	Holding         *holdingPart // op hold only
	Client          Client       // of all cycles together
	Series          []Interval
	Drain           Interval // what came after the measured time

	Stall       *Histogram // nil: not measured, as are the next
	Stalls      *Peaks
	Uncontended *Histogram

	ErrorSamples []string
	Why          string // what kept an acquire that never got its lock; empty if unknown
}

// Interval is a Point and, where the points of processes must be merged, what its
// percentiles are of.
type Interval struct {
	Point
	Latency []byte `json:",omitempty"` // an encoded Histogram
}

func (i *Interval) quantiles(h *Histogram) {
	i.P50Ns, i.P99Ns = h.Quantile(0.50), h.Quantile(0.99)
	i.P50AtLeast, i.P99AtLeast = h.AtLeast(0.50), h.AtLeast(0.99)
}

// Place is one process's place in a run of Config.Procs processes.
type Place struct {
	Proc  int   // number of this process, from 0
	Begin int64 // when all processes begin, as Monotonic gives the time; may be past
	// Table is TableSize bytes of zeros that all processes of the run have open: a
	// file for this run alone. RunPart maps it, and does not close it.
	Table *os.File
}

// RunPart is Run for one process of several: it begins at place.Begin, and its
// workers watch for overlaps with those of all other processes. cfg, and so its
// KeyPrefix, which must be set, is the same for all. The Part is there whenever Run
// would return a Result; its errors are those of Run, and those of mapping the table.
func RunPart(ctx context.Context, impl string, l Locker, cfg Config, place Place) (part *Part, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.KeyPrefix == "" || place.Proc < 0 || place.Proc >= cfg.procs() {
		return nil, wrong("KeyPrefix", "", "process %d of %d needs a place and a common key prefix", place.Proc, cfg.procs())
	}
	cfg.proc = place.Proc
	table, unmap, err := mapTable(place.Table, cfg.keys())
	if err != nil {
		return nil, fmt.Errorf("bench: shared table: %w", err)
	}
	defer unmap()
	runtime.GC()
	r := newPartRunner(ctx, impl, l, cfg, table, baseAt(place.Begin))
	report, finish := r.reporter()
	part = r.drive(ctx, report)
	finish(Progress{Elapsed: part.Elapsed, Total: cfg.Duration})
	return part, context.Cause(r.failed)
}

// TableSize is the size in bytes of the table that the processes of a run share.
func TableSize(cfg Config) int64 { return int64(tableWords(cfg.keys())) * 8 }

// baseAt is the time of this process's clock at a moment of the machine's. The two
// are read one after the other; the closest of several readings counts.
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
