package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"
)

// say writes a line to standard error.
func say(log io.Writer, format string, args ...any) {
	fmt.Fprintln(log, "muxlock: "+plain(fmt.Sprintf(format, args...)))
}

// plain leaves out that errors are muxlock's, which the line around them says, and is one line.
func plain(text string) string {
	return strings.NewReplacer("muxlock: ", "", "\n", "; ").Replace(text)
}

const (
	// mostLines bounds a backlog. Holders say far fewer: it fills up only when nobody reads.
	mostLines = 64
	// lastWords is how long the end of muxlock waits for its backlog. A write that finds room takes
	// microseconds; the rest is for a busy machine. When nobody reads, the exit code comes this much
	// later. Neither the lock nor the command is there any more.
	lastWords = 250 * time.Millisecond
)

// backlog is an output of a command that holds a lock. A write to a full pipe or a stopped terminal blocks,
// perhaps for ever, so a goroutine writes for the command, which has a lease to watch. All methods but run are safe for
// concurrent use.
type backlog struct {
	w   io.Writer // owned by run
	due chan func()
}

func newBacklog(w io.Writer) *backlog {
	b := &backlog{w, make(chan func(), mostLines)}
	go b.run()
	return b
}

// run ends with the process.
func (b *backlog) run() {
	for do := range b.due {
		do()
	}
}

// Write never blocks and never fails: a line for which the backlog has no room is lost.
func (b *backlog) Write(line []byte) (int, error) {
	line = bytes.Clone(line) // the caller may change its own when Write has returned
	select {
	case b.due <- func() { _, _ = b.w.Write(line) }:
	default:
	}
	return len(line), nil
}

// flush waits until the lines so far are written, at most for limit.
func (b *backlog) flush(limit time.Duration) {
	late, written := time.After(limit), make(chan struct{})
	select {
	case b.due <- func() { close(written) }:
	case <-late:
		return
	}
	select {
	case <-written:
	case <-late:
	}
}
