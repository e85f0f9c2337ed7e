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

// Line is a process with proxies, each in front of one master. Inside the process of the load,
// proxies waited for the load's own goroutines, and half of the client's CPU time was theirs.
//
// toxiproxy does more, as a library too. But its delays are whole milliseconds, drawn evenly
// around a mean. It uses Go timers, which an idle process rounds up by as much as a
// millisecond. It also brings an HTTP API, a router, metrics and a log.
type Line struct {
	process *child.Talker

	mu  sync.Mutex // guards the following
	to  *json.Encoder
	dec *json.Decoder
	err error // set when the process no longer answers
}

// OpenLine starts the process. The caller must Close it.
func OpenLine() (*Line, error) {
	p, err := child.Talk(os.Stderr, nil, Process)
	if err != nil {
		return nil, err
	}
	return &Line{process: p, to: json.NewEncoder(p.In), dec: json.NewDecoder(p.Out)}, nil
}

// Close cuts all connections and waits until the process is gone. A delayed reply is dropped,
// never sent early.
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

// Proxy forwards TCP connections to one master. It can delay every reply by a time that it
// draws when the reply arrives. Requests pass at once. Connections do not affect each other.
//
// Delays of successive replies overlap, as on a long cable. No reply overtakes another, as in
// TCP: a reply is due at its own time or when the previous reply is due, whichever is later.
// So drawn delays are not independent, in two ways. Replies that are read together share one
// draw: a batch of pipelined commands is late as a whole. A reply close behind a very late one
// is late as well: with many replies within the spread of the delay, a caller sees longer
// delays than the distribution. Only single replies have the distribution itself.
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

// Addr returns the address for clients.
func (p *Proxy) Addr() string { return p.addr }

// Delay delays every reply that arrives from now on by the sum of a draw from each span. If the
// process has died, Line.Close reports it.
func (p *Proxy) Delay(spans ...bench.Span) {
	_, _ = p.line.ask(command{Proxy: p.id, Spans: spans})
}

// command asks a Line to open a proxy or to set the delays of one. Each has an answer.
type command struct {
	Target string // of a new proxy
	Proxy  int
	Spans  []bench.Span
}

type answer struct {
	Proxy       int
	Addr, Error string
}
