package faultproxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"time"

	"muxlock/internal/child"
	"muxlock/internal/clock"
)

// Line is a process with proxies, each in front of one server. Inside the process of a load,
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

// OpenLine starts this program again as a process that calls Serve: process is its name for child.Talk. The caller
// must Close the Line.
func OpenLine(process string) (*Line, error) {
	p, err := child.Talk(os.Stderr, nil, process)
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
		return fmt.Errorf("%s: %s", l.process.Args, l.process.ProcessState)
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

// Remote is a proxy in the process of a Line. If the process has died, Line.Close reports it.
//
// Delays of successive replies overlap, as on a long cable. No reply overtakes another, as in
// TCP: a reply is due at its own time or when the previous reply is due, whichever is later.
// So drawn delays are not independent, in two ways. Replies that are read together share one
// draw: a batch of pipelined commands is late as a whole. A reply close behind a very late one
// is late as well: with many replies within the spread of the delay, a caller sees longer
// delays than the distribution. Only single replies have the distribution itself.
type Remote struct {
	line *Line
	id   int
	addr string
}

// Proxy listens on a free port of 127.0.0.1, until Close.
func (l *Line) Proxy(target string) (*Remote, error) {
	a, err := l.ask(command{Do: doOpen, Target: target})
	if err != nil {
		return nil, err
	}
	return &Remote{l, a.Proxy, a.Addr}, nil
}

// Addr returns the address for clients.
func (p *Remote) Addr() string { return p.addr }

// Delay is Proxy.Delay. of goes to the process as JSON, and Serve makes the samplers.
func (p *Remote) Delay(of any) {
	if text, err := json.Marshal(of); err == nil { // values of this program
		_, _ = p.line.ask(command{Do: doDelay, Proxy: p.id, Delay: text})
	}
}

// Cut is Proxy.Cut.
func (p *Remote) Cut() { _, _ = p.line.ask(command{Do: doCut, Proxy: p.id}) }

// Blackhole is Proxy.Blackhole, for the client with ClientAddr.
func (p *Remote) Blackhole(client int, on bool) {
	_, _ = p.line.ask(command{Do: doBlackhole, Proxy: p.id, Client: client, On: on})
}

// ClientAddr returns a local IP by which proxies know a client.
func ClientAddr(client int) string {
	return net.IPv4(127, 1, byte(client>>8), byte(client)).String()
}

// command asks a Line to open a proxy or to change one. Each has an answer.
type command struct {
	Do     string
	Target string // of a new proxy
	Proxy  int
	Delay  json.RawMessage `json:",omitempty"`
	Client int
	On     bool
}

const (
	doOpen      = "open"
	doDelay     = "delay"
	doCut       = "cut"
	doBlackhole = "blackhole"
)

type answer struct {
	Proxy       int
	Addr, Error string
}

// Serve is the process of a Line. It returns at the end of its input; its connections end with
// the process. It uses one processor, so that a wake-up never waits for another thread. delay
// makes samplers of a value of Remote.Delay.
func Serve(in io.Reader, out io.Writer, delay func(json.RawMessage) (func() func() time.Duration, error)) error {
	runtime.GOMAXPROCS(1)
	alarms := clock.NewAlarms()
	from, to := json.NewDecoder(in), json.NewEncoder(out)
	var all []*Proxy
	for {
		var c command
		err := from.Decode(&c)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		a := answer{Proxy: c.Proxy}
		switch c.Do {
		case doDelay:
			var sampler func() func() time.Duration
			if sampler, err = delay(c.Delay); err == nil {
				all[c.Proxy].Delay(sampler)
			}
		case doCut:
			all[c.Proxy].Cut()
		case doBlackhole:
			all[c.Proxy].Blackhole(ClientAddr(c.Client), c.On)
		default:
			var p *Proxy
			if p, err = Listen(c.Target, alarms); err == nil {
				all = append(all, p)
				a.Proxy, a.Addr = len(all)-1, p.Addr()
			}
		}
		if err != nil {
			a.Error = err.Error()
		}
		if err := to.Encode(a); err != nil {
			return err
		}
	}
}
