package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	"muxlock/internal/child"
)

// Line is a process that proxies run in, each in front of one master. One thread serves
// them all: it sleeps until bytes have come or are due, so any number of them can be
// under way, and no delay waits for another one's goroutine. In the process of the load
// each waited for the load's own, and half of what counted as the client's CPU time was
// the proxy's.
//
// toxiproxy does more, as a library too, but its delay is in whole milliseconds,
// drawn evenly around a mean, and kept by Go timers, which an idle process rounds up
// by as much as a millisecond; and it brings an HTTP API, its router, metrics and a
// log along.
type Line struct {
	cmd  *exec.Cmd
	done <-chan struct{} // closed when it is gone

	mu  sync.Mutex // guards the following
	in  io.WriteCloser
	out *os.File
	dec *json.Decoder
	err error // why it does not answer any more
}

// OpenLine starts the process. Close it.
func OpenLine() (*Line, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	l := &Line{cmd: exec.Command(self, lineCommand)}
	l.cmd.Stderr = os.Stderr
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	var w *os.File
	if l.out, w, err = os.Pipe(); err != nil {
		return nil, err
	}
	l.cmd.Stdout, l.dec = w, json.NewDecoder(l.out)
	l.done, err = child.Start(l.cmd)
	w.Close()
	if err != nil {
		l.out.Close()
		return nil, err
	}
	return l, nil
}

// Close cuts all connections and waits until the process is gone. Nothing that is under
// way arrives early.
func (l *Line) Close() error {
	l.in.Close()
	<-l.done
	l.out.Close()
	if !l.cmd.ProcessState.Success() {
		return fmt.Errorf("%s: %s", lineCommand, l.cmd.ProcessState)
	}
	return l.err
}

func (l *Line) ask(c command) (a answer, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = errors.Join(json.NewEncoder(l.in).Encode(c), l.dec.Decode(&a))
	}
	if l.err == nil && a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, l.err
}
