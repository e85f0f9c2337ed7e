// Package live shows the progress of runs. A terminal has one line, rewritten in place; other
// outputs get a new line now and then.
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

// pause is the time between two lines without a terminal.
const pause = 2 * time.Second

// A Line writes progress to one writer. Show is for bench.Config.Progress. Only one goroutine at
// a time may call Show or End.
type Line struct {
	w      io.Writer
	rounds int                                   // of each implementation
	size   func() (columns, rows int, err error) // of the terminal; nil: no terminal

	last  time.Time // when the last line was written
	width int       // of the text on the terminal
	at    float64   // of the latest point; a phase begins with a point at 0

	cycles bool // there were some: a load that holds its locks has none
}

// NewLine returns a Line on w.
func NewLine(w io.Writer, rounds int) *Line {
	l := &Line{w: w, rounds: rounds}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		l.size = func() (columns, rows int, err error) { return term.GetSize(int(f.Fd())) }
	}
	return l
}

// Show writes the progress of a run. bench calls it about once a second and at the end.
func (l *Line) Show(now bench.Progress) {
	text := l.text(now)
	if l.size != nil {
		l.rewrite(text)
		return
	}
	if now.Result == nil && (now.Elapsed == 0 || time.Since(l.last) < pause-pause/8) {
		return
	}
	fmt.Fprintln(l.w, text)
	l.last = time.Now()
}

// End clears the line of a terminal. It may be called again.
func (l *Line) End() {
	if l.width > 0 {
		l.rewrite("")
	}
}

// rewrite replaces the text on the terminal. It overwrites with spaces, which need no escape
// sequences. The last column stays free: a cursor beyond it would begin a new row.
func (l *Line) rewrite(text string) {
	line := []rune(text)
	if columns, _, err := l.size(); err == nil {
		line = line[:min(len(line), max(columns-1, 0))]
	}
	fmt.Fprintf(l.w, "\r%*s\r%s", l.width, "", string(line))
	l.width = len(line)
}

func (l *Line) text(now bench.Progress) string {
	line, point := result.Name(now.Impl, now.Setting)+"  ", now.Point
	if l.rounds > 1 {
		line = fmt.Sprintf("round %d/%d  %s", now.Round, l.rounds, line)
	}
	if r := now.Result; r != nil {
		return line + resultText(r)
	}
	if now.Warmup {
		line += "warm-up "
	}
	line += fmt.Sprintf("%.0fs/%.0fs", now.Elapsed.Seconds(), now.Total.Seconds())
	l.cycles = l.cycles || point.Cycles > 0
	if length := point.TS - l.at; length > 0 && l.cycles {
		line += fmt.Sprintf("  %s cycles/s", units.Number(float64(point.Cycles)/length))
	}
	if point.P99Ns > 0 {
		line += "  p99 " + units.Duration(float64(point.P99Ns))
	}
	l.at = point.TS
	if point.Errors+point.Timeouts > 0 {
		line += fmt.Sprintf("  %d errors  %d timeouts", point.Errors, point.Timeouts)
	}
	return line
}

func resultText(r *bench.Result) string {
	text := units.In(bench.UnitCount, r.ThroughputPerS) + " cycles/s"
	if h := r.Holding; h != nil {
		text = fmt.Sprintf("%s of %s locks held  lost %s", units.Number(h.Held), units.Number(h.Wanted), units.Number(h.Lost))
	}
	if s := r.Headline(); s != nil && s.Count > 0 {
		text += fmt.Sprintf("  p50 %s  p99 %s", units.Percentile(s, "50"), units.Percentile(s, "99"))
	}
	if !r.Valid.OK {
		text += "  not valid"
	}
	return text
}
