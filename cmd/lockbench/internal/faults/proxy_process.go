package faults

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"sync"
	"time"

	"muxlock/bench"
	"muxlock/internal/clock"
)

// Command is the only argument of a process that is a Line: this program again, or a test of it.
const Command = "delay-line"

// Serve is the life of a Line. It returns at the end of its input. One processor serves all: what
// wakes a goroutine needs no other thread for it.
func Serve(_ context.Context, in io.Reader, out io.Writer) error {
	runtime.GOMAXPROCS(1)
	alarms := clock.NewAlarms()
	from, to := json.NewDecoder(in), json.NewEncoder(out)
	var all []*listener
	for {
		var c command
		err := from.Decode(&c)
		if errors.Is(err, io.EOF) {
			for _, ln := range all {
				ln.do(command{Op: opCut, Refuse: true})
			}
			return nil
		}
		if err != nil {
			return err
		}
		a := answer{Proxy: c.Proxy}
		if c.Op != opOpen {
			all[c.Proxy].do(c)
		} else if ln, err := listen(c.Target, alarms); err != nil {
			a.Error = err.Error()
		} else {
			all = append(all, ln)
			a.Proxy, a.Addr = len(all)-1, ln.Addr().String()
		}
		if err := to.Encode(a); err != nil {
			return err
		}
	}
}

// listener is a Proxy in its process.
type listener struct {
	net.Listener
	target string
	alarms *clock.Alarms

	mu                sync.Mutex // guards the following
	requests, replies []bench.Span
	refuse            bool
	links             map[*link]struct{}
}

func listen(target string, alarms *clock.Alarms) (*listener, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &listener{Listener: ln, target: target, alarms: alarms, links: map[*link]struct{}{}}
	go l.accept()
	return l, nil
}

func (ln *listener) do(c command) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	switch c.Op {
	case opDelay:
		ln.replies = c.Spans
		for k := range ln.links {
			k.replies.delay(c.Spans)
		}
	case opDelayRequests:
		ln.requests = c.Spans
	case opCut:
		ln.refuse = c.Refuse
		for k := range ln.links {
			k.reset()
		}
	case opHeal:
		ln.refuse = false
	}
}

func (ln *listener) accept() {
	for {
		client, err := ln.Accept()
		if err != nil {
			return
		}
		go ln.serve(client.(*net.TCPConn))
	}
}

// serve runs until either side closes, then closes both.
func (ln *listener) serve(client *net.TCPConn) {
	defer client.Close()
	server, err := net.Dial("tcp", ln.target)
	if err != nil {
		return
	}
	defer server.Close()
	k := &link{client: client, server: server.(*net.TCPConn)}
	ln.mu.Lock()
	k.requests, k.replies = newFlow(ln.requests), newFlow(ln.replies)
	ln.links[k] = struct{}{}
	if ln.refuse {
		k.reset()
	}
	ln.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { k.requests.carry(k.server, k.client, ln.alarms) })
	both.Go(func() { k.replies.carry(k.client, k.server, ln.alarms) })
	both.Wait()
	ln.mu.Lock()
	delete(ln.links, k)
	ln.mu.Unlock()
}

// link is a client's connection and its own to the master.
type link struct {
	client, server    *net.TCPConn
	requests, replies *flow
}

// reset ends it as a crashed host would: with RST, and without what is under way.
func (k *link) reset() {
	for _, c := range []*net.TCPConn{k.client, k.server} {
		_ = c.SetLinger(0)
		c.Close()
	}
}

// flow is one direction of a link.
type flow struct {
	mu    sync.Mutex // guards the following
	late  lateness
	queue []chunk       // under way
	ended bool          // nothing comes any more
	more  chan struct{} // capacity 1: queue or ended has changed
}

type chunk struct {
	bytes []byte
	due   time.Time
}

func newFlow(spans []bench.Span) *flow {
	return &flow{late: newLateness(spans), more: make(chan struct{}, 1)}
}

func (f *flow) delay(spans []bench.Span) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.late = newLateness(spans)
}

// carry copies, then closes both ends.
func (f *flow) carry(to, from net.Conn, alarms *clock.Alarms) {
	go f.read(from)
	alarm := clock.NewAlarm()
	for ended := false; !ended; {
		<-f.more
		f.mu.Lock()
		queue := f.queue
		f.queue, ended = nil, f.ended
		f.mu.Unlock()
		for _, c := range queue { // in this order: none overtakes another
			if d := time.Until(c.due); d > 0 {
				alarms.Sleep(d, alarm, nil)
			}
			if _, err := to.Write(c.bytes); err != nil {
				ended = true
				break
			}
		}
	}
	to.Close()
	from.Close() // ends read
}

// read reads on without waiting for what is under way.
func (f *flow) read(from net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		f.mu.Lock()
		if f.ended = err != nil; !f.ended {
			f.queue = append(f.queue, chunk{slices.Clone(buf[:n]), time.Now().Add(f.late.next())})
		}
		f.mu.Unlock()
		select {
		case f.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}
