// Package live shows how runs go on: as lines, or on a terminal as a view that is drawn
// again and again.
package live

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// ProgressOptions is what is known besides the runs. All may be left out.
type ProgressOptions struct {
	Quiet  bool
	Rounds int // of each implementation
	Runs   int // in all; 0: nobody knows
	// Faults is what is in force at a time of the measured window; below 0 is in the
	// warm-up. Called from another goroutine.
	Faults func(at time.Duration) []string
}

// NewProgress makes the view that fits w: several lines redrawn in place where w is
// a terminal that can do that, else a plain line now and then, or nothing at all. show is
// for bench.Config.Progress, which calls it from a goroutine that no worker waits for. end
// removes what should not stay; it may be called again. The two are not called at the same
// time.
func NewProgress(w io.Writer, o ProgressOptions) (show func(bench.Progress), end func()) {
	if o.Quiet {
		return func(bench.Progress) {}, func() {}
	}
	f, ok := w.(*os.File)
	if ok && term.IsTerminal(int(f.Fd())) && redraws(os.Getenv("TERM")) {
		l := newLive(w, func() (int, int, error) { return term.GetSize(int(f.Fd())) }, o)
		return l.show, l.close
	}
	return (&plain{w: w, rounds: o.Rounds}).show, func() {}
}

// redraws tells whether a terminal of that kind can move its cursor.
func redraws(kind string) bool { return kind != "" && kind != "dumb" }

// plain writes a line when a run has ended, and every two seconds.
type plain struct {
	w      io.Writer
	rounds int
	last   time.Time // when the last line was written
}

// plainPause is between two plain lines.
const plainPause = 2 * time.Second

func (p *plain) show(now bench.Progress) {
	if now.Result == nil && (now.Elapsed == 0 || time.Since(p.last) < plainPause-plainPause/8) {
		return
	}
	fmt.Fprintln(p.w, p.line(now))
	p.last = time.Now()
}

func (p *plain) line(now bench.Progress) string {
	name := runName(now)
	if p.rounds > 1 {
		name = fmt.Sprintf("round %d/%d  %s", now.Round, p.rounds, name)
	}
	if now.Result != nil {
		return name + "  " + ended(now.Result)
	}
	phase := ""
	if now.Warmup {
		phase = "warm-up "
	}
	pt := now.Point
	line := fmt.Sprintf("%s  %s%s  %s cycles  p99 %s", name, phase, elapsed(now.Elapsed, now.Total), units.Number(pt.Cycles), units.Duration(float64(pt.P99Ns)))
	if pt.Dropped > 0 {
		line += fmt.Sprintf("  %d dropped", pt.Dropped)
	}
	if pt.Errors+pt.Timeouts > 0 {
		line += fmt.Sprintf("  %d errors  %d timeouts", pt.Errors, pt.Timeouts)
	}
	return line
}

// runName is the implementation, and how this run differs from others of it.
func runName(now bench.Progress) string { return result.Name(now.Impl, now.Setting) }

// ended is the outcome of a run in one line.
func ended(r *bench.Result) string {
	line := fmt.Sprintf("%s cycles/s  p50 %s  p99 %s", units.Number(r.ThroughputPerS), units.Percentile(r.Headline(), "50"), units.Percentile(r.Headline(), "99"))
	if !r.Valid.OK {
		line += "  not valid"
	}
	return line
}

func elapsed(d, total time.Duration) string {
	return fmt.Sprintf("%.0fs/%.0fs", d.Seconds(), total.Seconds())
}
