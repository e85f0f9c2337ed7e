// Package faultproxy has TCP proxies in front of local servers. A proxy delays replies, cuts connections in the middle
// of bytes, and holds what a client and the server send to each other.
package faultproxy

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"muxlock/internal/clock"
)

// Proxy forwards TCP connections to one server. Its methods are safe for concurrent use.
type Proxy struct {
	ln     net.Listener
	target string
	alarms *clock.Alarms

	mu    sync.Mutex // guards the following
	delay func() func() time.Duration
	flows map[*flow]struct{}
	cuts  int                      // so far
	holes map[string]chan struct{} // by the client's IP; closed when bytes pass again
}

// Listen listens on a free port of 127.0.0.1 until the process ends.
func Listen(target string, alarms *clock.Alarms) (*Proxy, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{ln: ln, target: target, alarms: alarms, flows: map[*flow]struct{}{}, holes: map[string]chan struct{}{}}
	go p.accept()
	return p, nil
}

// Addr returns the address for clients.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Delay delays every reply that arrives from now on. delay makes a sampler for each connection.
func (p *Proxy) Delay(delay func() func() time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = delay
	for f := range p.flows {
		f.delay(delay())
	}
}

// Cut ends every open connection at its next bytes, in either direction. A part of these bytes still passes.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cuts++
}

// Blackhole holds all bytes from and to a client, also of connections that the client closes meanwhile. When on is false
// again, the bytes pass.
func (p *Proxy) Blackhole(ip string, on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on {
		p.holes[ip] = make(chan struct{})
		return
	}
	close(p.holes[ip])
	delete(p.holes, ip)
}

func (p *Proxy) accept() {
	for {
		client, err := p.ln.Accept()
		if err != nil {
			return
		}
		go p.serve(client)
	}
}

// serve runs until either side closes, then closes both.
func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	replies := &flow{more: make(chan struct{}, 1)}
	p.mu.Lock()
	if p.delay != nil {
		replies.delay(p.delay())
	}
	p.flows[replies] = struct{}{}
	l := link{p, client.RemoteAddr().(*net.TCPAddr).IP.String(), p.cuts}
	p.mu.Unlock()
	go func() {
		_, _ = io.Copy(held{l, server}, client)
		server.Close() // ends carry
	}()
	replies.carry(held{l, client}, server, p.alarms)
	p.mu.Lock()
	delete(p.flows, replies)
	p.mu.Unlock()
}

// link is one connection of a client, and the proxy's own to the server.
type link struct {
	proxy  *Proxy
	client string // IP
	cuts   int    // of the proxy, when the client connected
}

// held is one direction of a link.
type held struct {
	link
	to net.Conn
}

var errCut = errors.New("cut")

// Write waits while the client is in a black hole. After a cut it writes a part, and fails.
func (h held) Write(b []byte) (int, error) {
	for {
		h.proxy.mu.Lock()
		hole, cut := h.proxy.holes[h.client], h.cuts != h.proxy.cuts
		h.proxy.mu.Unlock()
		switch {
		case hole != nil:
			<-hole
		case cut:
			n, _ := h.to.Write(b[:rand.IntN(len(b))])
			return n, errCut
		default:
			return h.to.Write(b)
		}
	}
}

// flow delays the replies of one connection.
type flow struct {
	mu    sync.Mutex           // guards the following
	late  func() time.Duration // draws the delay of a reply; nil: none
	queue []chunk              // delayed replies
	ended bool                 // no more replies will come
	more  chan struct{}        // capacity 1: queue or ended has changed
}

type chunk struct {
	bytes []byte
	due   time.Time
}

func (f *flow) delay(late func() time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.late = late
}

// carry copies replies until either end is closed.
func (f *flow) carry(to io.Writer, from net.Conn, alarms *clock.Alarms) {
	go f.read(from)
	alarm := clock.NewAlarm()
	for ended := false; !ended; {
		<-f.more
		f.mu.Lock()
		queue := f.queue
		f.queue, ended = nil, f.ended
		f.mu.Unlock()
		for _, c := range queue { // in order: no reply overtakes another
			if d := time.Until(c.due); d > 0 {
				alarms.Sleep(d, alarm, nil)
			}
			if _, err := to.Write(c.bytes); err != nil {
				ended = true
				break
			}
		}
	}
}

// read queues replies without waiting for delayed ones.
func (f *flow) read(from net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		f.mu.Lock()
		if f.ended = err != nil; !f.ended {
			due := time.Now()
			if f.late != nil {
				due = due.Add(f.late())
			}
			f.queue = append(f.queue, chunk{slices.Clone(buf[:n]), due})
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
