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

// plain returns text on one line, without the prefix "muxlock: " of errors: the line around it has that prefix.
func plain(text string) string {
	return strings.NewReplacer("muxlock: ", "", "\n", "; ").Replace(text)
}

const (
	// mostLines bounds a backlog. A holder writes far fewer lines, so only an unread output fills the backlog up.
	mostLines = 64
	// lastWords bounds how long muxlock waits for its backlog before it exits. A write that finds room takes
	// microseconds; the rest is for a busy machine. An unread output delays the exit code by this long. The lock is
	// released and the command has ended by then.
	lastWords = 250 * time.Millisecond
)

// backlog is the output of a command that holds a lock. A write to a full pipe or a stopped terminal may block for ever,
// and the command has a lease to watch; so a goroutine writes. All methods are safe for concurrent use.
type backlog struct {
	w   io.Writer // owned by the goroutine
	due chan func()
}

func newBacklog(w io.Writer) *backlog {
	b := &backlog{w, make(chan func(), mostLines)}
	go func() { // ends with the process
		for do := range b.due {
			do()
		}
	}()
	return b
}

// Write never blocks and never fails. A full backlog loses the line.
func (b *backlog) Write(line []byte) (int, error) {
	line = bytes.Clone(line) // the caller may reuse its slice after Write
	select {
	case b.due <- func() { _, _ = b.w.Write(line) }:
	default:
	}
	return len(line), nil
}

// flush waits until all lines so far are written, but no longer than limit.
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
