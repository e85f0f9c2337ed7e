package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// A waitLine says on w, once a second, what is waited for: on a terminal in one line, else with
// every fifth call.
type waitLine struct {
	w    io.Writer
	said int
}

func (l *waitLine) say(format string, args ...any) {
	text := []rune(fmt.Sprintf(format, args...) + "; Ctrl-C is safe, run it again then")
	if onTerminal(l.w) {
		columns, _, _ := term.GetSize(int(l.w.(*os.File).Fd()))
		if columns > 0 {
			text = text[:min(len(text), columns-1)]
		}
		fmt.Fprintf(l.w, "\r\x1b[K%s", string(text))
	} else if l.said%5 == 0 {
		fmt.Fprintln(l.w, string(text))
	}
	l.said++
}

// end clears the line of a terminal.
func (l *waitLine) end() {
	if l.said > 0 && onTerminal(l.w) {
		fmt.Fprint(l.w, "\r\x1b[K")
	}
}

// countDown says on w how long is left, from the second second on, until stop is called.
func countDown(w io.Writer, length time.Duration) (stop func()) {
	begin, line := time.Now(), waitLine{w: w}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer line.end()
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				line.say("%s left: the masters are watched", max(length-time.Since(begin), 0).Round(time.Second))
			case <-end:
				return
			}
		}
	}()
	return func() { close(end); <-ended }
}
