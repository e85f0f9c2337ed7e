package live

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/units"
)

// live is the view on a terminal: a few lines that it writes over again and again.
// show only keeps the news; a goroutine of its own draws, so that a terminal that
// takes nothing (Ctrl-S) holds up neither the load nor the end of a run.
//
// A frame ends with an end of line, and the cursor rests below it, visible: so a
// process that dies leaves a usable terminal whatever happened. The next frame
// moves up over the last one and is one write, which keeps it from flickering. The
// size is read anew for each.
//
// Bubble Tea would do this too, with 16 modules, the keyboard in raw mode, so that
// Ctrl-C is a key and no signal, and a message loop. There are no keys here.
type live struct {
	w    io.Writer
	size func() (width, height int, err error)
	done chan struct{} // closed when draw has returned
	stop chan struct{} // closed by close
	// close clears the lines and waits for it, but not long.
	close func()

	mu    sync.Mutex // guards the following
	state state

	widths []int // of the lines on the screen; owned by draw
}

const (
	framePause = 250 * time.Millisecond
	closeLimit = time.Second // for a terminal that takes nothing
)

func newLive(w io.Writer, size func() (int, int, error), o ProgressOptions) *live {
	l := &live{
		w: w, size: size, state: state{options: o},
		done: make(chan struct{}), stop: make(chan struct{}),
	}
	l.close = sync.OnceFunc(func() {
		close(l.stop)
		select {
		case <-l.done:
		case <-time.After(closeLimit):
		}
	})
	go l.draw()
	return l
}

// show keeps the news for the next frame.
func (l *live) show(now bench.Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.see(now, time.Now())
}

func (l *live) draw() {
	defer close(l.done)
	ticker := time.NewTicker(framePause)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			width, height, err := l.size()
			if err != nil {
				width, height = 80, 24
			}
			l.put(l.frame(width, height-1), width) // a row is for the cursor
		case <-l.stop:
			width, _, _ := l.size()
			l.put(nil, width)
			return
		}
	}
}

func (l *live) frame(width, height int) []string {
	l.mu.Lock()
	lines := l.state.lines(width, time.Now())
	l.mu.Unlock()
	return lines[:min(max(height, 1), len(lines))]
}

// put replaces the frame on the screen.
func (l *live) put(lines []string, width int) {
	var b bytes.Buffer
	if up := rows(l.widths, width); up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", up)
	}
	l.widths = l.widths[:0]
	for _, line := range lines {
		l.widths = append(l.widths, utf8.RuneCountInString(line))
		b.WriteString(line + "\r\n")
	}
	_, _ = l.w.Write(b.Bytes()) // there is nobody to tell
}

// rows is how many rows of the screen lines of these widths take: one each, unless
// the terminal has become narrower since they were written and has broken them.
func rows(widths []int, width int) (n int) {
	for _, w := range widths {
		n += max((w+width-1)/max(width, 1), 1)
	}
	return n
}

// state is what the view knows of the run: values in, lines out.
type state struct {
	options ProgressOptions
	now     bench.Progress
	at      time.Time // when now came
	begun   bool      // a run is under way, or has been
	over    bool      // the last news were a result
	runs    int       // ended
	last    string    // the run that ended last

	counts  bench.Point // sums since the run began
	fromS   float64     // where the next point of this phase begins
	points  bool        // there was one; the following are of the last
	rate    float64
	p50     float64
	p99     float64
	masters []int64
}

// see takes in what bench reports.
func (s *state) see(now bench.Progress, at time.Time) {
	if !s.begun || s.over { // a new run
		*s = state{options: s.options, begun: true, runs: s.runs, last: s.last}
	}
	if now.Warmup != s.now.Warmup {
		s.fromS = 0
	}
	s.now, s.at = now, at
	if now.Result != nil {
		s.over = true
		s.runs++
		s.last = runName(now) + "  " + ended(now.Result)
		return // the last point is part of the result
	}
	p := now.Point
	if length := p.TS - s.fromS; length > 0 {
		s.points, s.rate, s.p50, s.p99 = true, float64(p.Cycles)/length, float64(p.P50Ns), float64(p.P99Ns)
		s.fromS = p.TS
	}
	s.counts.Add(p)
	if p.MasterNs != nil {
		s.masters = p.MasterNs
	}
}

// lines is the frame.
func (s *state) lines(width int, at time.Time) []string {
	if !s.begun {
		return nil
	}
	lines := []string{s.header(width, at)}
	if s.points {
		lines = append(lines, fit(width, "rate "+units.Number(s.rate)+"/s", "p50 "+units.Duration(s.p50), "p99 "+units.Duration(s.p99)))
	}
	c := s.counts
	lines = append(lines, fit(width, "errors "+units.Number(c.Errors), "timeouts "+units.Number(c.Timeouts), "dropped "+units.Number(c.Dropped), "refused "+units.Number(c.Refused)))
	if len(s.masters) > 0 {
		lines = append(lines, strip(width, s.masters))
	}
	if s.options.Faults != nil {
		if active := s.options.Faults(s.window(at)); len(active) > 0 {
			lines = append(lines, fit(width, append([]string{"faults"}, active...)...))
		}
	}
	if s.last != "" {
		lines = append(lines, fit(width, "before: "+s.last))
	}
	return lines
}

// header says what runs, and how far it is.
func (s *state) header(width int, at time.Time) string {
	phase := "measuring"
	if s.now.Warmup {
		phase = "warm-up"
	}
	if s.over {
		phase = "ending"
	}
	now, total := s.elapsed(at), s.now.Total
	parts := []string{runName(s.now), phase, elapsed(now, total)}
	if s.options.Rounds > 1 {
		parts = append(parts, fmt.Sprintf("round %d/%d", s.now.Round, s.options.Rounds))
	}
	if s.options.Runs > s.options.Rounds { // else the rounds say it
		current := s.runs
		if !s.over {
			current++
		}
		parts = append(parts, fmt.Sprintf("run %d/%d", current, s.options.Runs))
	}
	return fit(width, parts...)
}

// elapsed is how long the phase has lasted, which goes on between news.
func (s *state) elapsed(at time.Time) time.Duration {
	if s.over {
		return s.now.Elapsed
	}
	return min(s.now.Elapsed+at.Sub(s.at), s.now.Total)
}

// window is the same on the clock of the measured time.
func (s *state) window(at time.Time) time.Duration {
	if s.now.Warmup {
		return s.elapsed(at) - s.now.Total
	}
	return s.elapsed(at)
}
