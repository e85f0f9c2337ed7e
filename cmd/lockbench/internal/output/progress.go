package output

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"muxlock/bench"
)

// Progress shows how runs go on: one line redrawn on a terminal, elsewhere a line
// now and then. Show is for bench.Config.Progress, which calls it from a goroutine
// that no worker waits for. Not safe for concurrent use.
type Progress struct {
	w        io.Writer
	rounds   int
	terminal bool
	last     time.Time // when the last plain line was written
	dirty    bool      // the terminal's line is not empty
}

// plainPause is between two plain lines.
const plainPause = 2 * time.Second

// NewProgress writes to w; Close ends the last line.
func NewProgress(w io.Writer, rounds int) *Progress {
	f, ok := w.(*os.File)
	return &Progress{w: w, rounds: rounds, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

// Show writes a line, or redraws it.
func (p *Progress) Show(now bench.Progress) {
	line := p.line(now)
	switch {
	case p.terminal:
		fmt.Fprintf(p.w, "\r%s\x1b[K", line)
		p.dirty = true
	case now.Result != nil || time.Since(p.last) >= plainPause-plainPause/8:
		fmt.Fprintln(p.w, line)
		p.last = time.Now()
	}
}

// Close leaves a terminal's cursor on an empty line.
func (p *Progress) Close() {
	if p.dirty {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

func (p *Progress) line(now bench.Progress) string {
	name := now.Impl
	if p.rounds > 1 {
		name = fmt.Sprintf("round %d/%d  %s", now.Round, p.rounds, now.Impl)
	}
	if r := now.Result; r != nil {
		return fmt.Sprintf("%s  %s cycles/s  p50 %s  p99 %s", name, number(r.ThroughputPerS), percentile(r.Headline(), "50"), percentile(r.Headline(), "99"))
	}
	phase := ""
	if now.Warmup {
		phase = "warm-up "
	}
	pt := now.Point
	line := fmt.Sprintf("%s  %s%.0fs/%.0fs  %s cycles  p99 %s", name, phase, now.Elapsed.Seconds(), now.Total.Seconds(), number(float64(pt.Cycles)), duration(float64(pt.P99Ns)))
	if pt.Errors+pt.Timeouts > 0 {
		line += fmt.Sprintf("  %d errors  %d timeouts", pt.Errors, pt.Timeouts)
	}
	return line
}

// buffer holds a page until it is whole, so that only flush can fail.
type buffer struct{ bytes.Buffer }

func (b *buffer) flush(w io.Writer) error {
	_, err := w.Write(b.Bytes())
	return err
}
