package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"muxlock/bench"
	"muxlock/internal/child"
)

// Line is a process that proxies run in, each in front of one master. In the process of
// the load each waited for the load's own goroutines, and half of what counted as the
// client's CPU time was the proxy's.
//
// toxiproxy does more, as a library too, but its delay is in whole milliseconds,
// drawn evenly around a mean, and kept by Go timers, which an idle process rounds up
// by as much as a millisecond; and it brings an HTTP API, its router, metrics and a
// log along.
type Line struct {
	process *child.Talker

	mu  sync.Mutex // guards the following
	to  *json.Encoder
	dec *json.Decoder
	err error // why it does not answer any more
}

// OpenLine starts the process. Close it.
func OpenLine() (*Line, error) {
	p, err := child.Talk(os.Stderr, nil, Process)
	if err != nil {
		return nil, err
	}
	return &Line{process: p, to: json.NewEncoder(p.In), dec: json.NewDecoder(p.Out)}, nil
}

// Close cuts all connections and waits until the process is gone. Nothing that is under
// way arrives early.
func (l *Line) Close() error {
	l.process.In.Close()
	<-l.process.Done
	l.process.Out.Close()
	if !l.process.ProcessState.Success() {
		return fmt.Errorf("%s: %s", Process, l.process.ProcessState)
	}
	return l.err
}

func (l *Line) ask(c command) (a answer, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = errors.Join(l.to.Encode(c), l.dec.Decode(&a))
	}
	if l.err == nil && a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, l.err
}

// Proxy forwards TCP connections to one master. It can hold back every reply for a
// time that is drawn when the reply arrives. Requests pass at once; each connection is
// on its own.
//
// Replies behind each other are late together, not one after the other, as on a long
// cable, and none overtakes another, as TCP does not let it: a reply is due at its
// own time or when the one before it is, whichever is later. So with drawn delays two
// things are not independent. Replies that were read together share one draw, as
// those of one packet do; a batch of pipelined commands is late as a whole. And a
// reply close behind a very late one is late as well: where many follow each other
// within the spread of the delay, what a caller sees is longer than the distribution
// alone. It is the distribution itself only where one reply at a time is on its way.
type Proxy struct {
	line *Line
	id   int
	addr string
}

// Proxy listens on a free port of 127.0.0.1, until Close.
func (l *Line) Proxy(target string) (*Proxy, error) {
	a, err := l.ask(command{Target: target})
	if err != nil {
		return nil, err
	}
	return &Proxy{l, a.Proxy, a.Addr}, nil
}

// Addr is what clients connect to.
func (p *Proxy) Addr() string { return p.addr }

// Delay makes every reply that arrives from now on late by a draw from each span. Line.Close
// reports that the process has died.
func (p *Proxy) Delay(spans ...bench.Span) {
	_, _ = p.line.ask(command{Proxy: p.id, Spans: spans})
}

// command is what a Line receives: a proxy to open, or the delays of one. Each has an answer.
type command struct {
	Target string // of a new proxy
	Proxy  int
	Spans  []bench.Span
}

type answer struct {
	Proxy       int
	Addr, Error string
}
