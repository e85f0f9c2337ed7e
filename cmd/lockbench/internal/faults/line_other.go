//go:build !linux

package faults

import (
	"net"
	"slices"
	"sync"
	"time"

	"muxlock/bench"
)

// Line is for systems without epoll: a goroutine for each direction of each connection,
// in the process of the load, which is late by more, the more it has to do.
type Line struct {
	wg   sync.WaitGroup // accept loops and both directions of each connection
	over chan struct{}  // closed by Close

	mu        sync.Mutex // guards the following, and the listeners
	listeners []*listener
}

type listener struct {
	net.Listener
	target            string
	requests, replies []bench.Span
	refuse            bool // cut, or closed
	links             map[*link]struct{}
}

// link is a client's connection and its own to the master.
type link struct {
	client, server    *net.TCPConn
	requests, replies lateness
}

// OpenLine is the same as on Linux.
func OpenLine() (*Line, error) { return &Line{over: make(chan struct{})}, nil }

// Close cuts all connections and waits for the goroutines.
func (l *Line) Close() (err error) {
	l.mu.Lock()
	for _, ln := range l.listeners {
		err = ln.Close()
		ln.cutLocked(true)
	}
	l.mu.Unlock()
	close(l.over) // only now: what is under way must not arrive early
	l.wg.Wait()
	return err
}

func (l *Line) ask(c command) (a answer, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.Proxy = c.Proxy
	if c.Op == opOpen {
		ln := &listener{target: c.Target, links: map[*link]struct{}{}}
		if ln.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return a, err
		}
		l.listeners = append(l.listeners, ln)
		l.wg.Go(func() { l.accept(ln) })
		return answer{Proxy: len(l.listeners) - 1, Addr: ln.Addr().String()}, nil
	}
	switch ln := l.listeners[c.Proxy]; c.Op {
	case opDelay:
		ln.replies = c.Spans
		for k := range ln.links {
			k.replies = newLateness(c.Spans)
		}
	case opDelayRequests:
		ln.requests = c.Spans
	case opCut:
		ln.cutLocked(c.Refuse)
	case opHeal:
		ln.refuse = false
	}
	return a, nil
}

func (l *Line) accept(ln *listener) {
	for {
		client, err := ln.Accept()
		if err != nil {
			return
		}
		l.wg.Go(func() { l.serve(ln, client.(*net.TCPConn)) })
	}
}

// serve runs until either side closes, then closes both.
func (l *Line) serve(ln *listener, client *net.TCPConn) {
	defer client.Close()
	server, err := net.Dial("tcp", ln.target)
	if err != nil {
		return
	}
	k := &link{client: client, server: server.(*net.TCPConn)}
	l.mu.Lock()
	k.requests, k.replies = newLateness(ln.requests), newLateness(ln.replies)
	ln.links[k] = struct{}{}
	if ln.refuse {
		ln.cutLocked(true)
	}
	l.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { l.carry(k.server, k.client, &k.requests) })
	both.Go(func() { l.carry(k.client, k.server, &k.replies) })
	both.Wait()
	l.mu.Lock()
	delete(ln.links, k)
	l.mu.Unlock()
}

type chunk struct {
	bytes []byte
	due   time.Time
}

// carry copies one direction, then closes both ends. It reads on without waiting for
// what is under way, up to 1024 chunks.
func (l *Line) carry(to, from net.Conn, late *lateness) {
	underWay := make(chan chunk, 1024)
	l.wg.Go(func() {
		defer close(underWay)
		buf := make([]byte, 64<<10)
		for {
			n, err := from.Read(buf)
			if err != nil {
				return
			}
			l.mu.Lock()
			due := time.Now().Add(late.next())
			l.mu.Unlock()
			underWay <- chunk{slices.Clone(buf[:n]), due}
		}
	})
	for c := range underWay { // in this order: none overtakes another
		if d := time.Until(c.due); d > 0 {
			select {
			case <-time.After(d):
			case <-l.over:
			}
		}
		if _, err := to.Write(c.bytes); err != nil {
			from.Close() // ends the reader; what it still sends is drained here
		}
	}
	to.Close()
	from.Close()
}

// cutLocked ends every connection as a crashed host would: with RST, and without what
// is under way.
func (ln *listener) cutLocked(refuse bool) {
	ln.refuse = refuse
	for k := range ln.links {
		for _, c := range []*net.TCPConn{k.client, k.server} {
			_ = c.SetLinger(0)
			c.Close()
		}
	}
}
