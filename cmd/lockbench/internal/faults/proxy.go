package faults

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"muxlock/bench"
	"muxlock/internal/clock"
)

// chunkSize is what the proxy reads at once: more than most batches of replies.
const chunkSize = 32 << 10

// Proxy forwards TCP connections to one master. It can hold back every reply for a
// time that is drawn when the reply arrives, and cut all connections. Requests pass
// at once, unless they are delayed too, in the same way; each connection is on its own.
//
// Replies behind each other are late together, not one after the other, as on a long
// cable, and none overtakes another, as TCP does not let it: a reply is due at its
// own time or when the one before it is, whichever is later. So with drawn delays two
// things are not independent. Replies that were read together share one draw, as
// those of one packet do; a batch of pipelined commands is late as a whole. And a
// reply close behind a very late one is late as well: where many follow each other
// within the spread of the delay, what a caller sees is longer than the distribution
// says. It is the distribution itself only where one reply at a time is on its way.
//
// toxiproxy does more, as a library too, but its delay is in whole milliseconds,
// drawn evenly around a mean, and kept by Go timers, which an idle process rounds up
// by as much as a millisecond; and it brings an HTTP API, its router, metrics and a
// log along.
type Proxy struct {
	ln     net.Listener
	target string
	alarms *clock.Alarms // nil: Go timers
	delays atomic.Pointer[[]bench.Span]
	before atomic.Pointer[[]bench.Span] // of requests; nil: they pass at once

	wg   sync.WaitGroup // accept loop and both directions of each connection
	over chan struct{}  // closed by Close

	mu     sync.Mutex // guards the following
	conns  map[net.Conn]struct{}
	refuse bool // cut, or closed
}

// NewProxy listens on a free port of 127.0.0.1. Close it.
func NewProxy(target string) (*Proxy, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		ln: ln, target: target, alarms: clock.NewAlarms(),
		over: make(chan struct{}), conns: map[net.Conn]struct{}{},
	}
	p.wg.Go(p.accept)
	return p, nil
}

// Addr is what clients connect to.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Delay makes every reply that arrives from now on late by a draw from each span.
func (p *Proxy) Delay(spans ...bench.Span) { p.delays.Store(&spans) }

// DelayRequests makes every request late likewise, on connections made from now on.
func (p *Proxy) DelayRequests(spans ...bench.Span) { p.before.Store(&spans) }

// Cut resets all connections, and while refuse is set every new one too.
func (p *Proxy) Cut(refuse bool) {
	p.mu.Lock()
	p.refuse = refuse
	p.resetLocked()
	p.mu.Unlock()
}

// Heal ends a Cut.
func (p *Proxy) Heal() {
	p.mu.Lock()
	p.refuse = false
	p.mu.Unlock()
}

// Close cuts all connections and waits for the goroutines.
func (p *Proxy) Close() error {
	err := p.ln.Close()
	p.Cut(true)
	close(p.over) // only now: what is on its way must not arrive early
	p.wg.Wait()
	if p.alarms != nil {
		p.alarms.Close()
	}
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // the next one may do
		}
		p.wg.Go(func() { p.serve(client) })
	}
}

// serve runs until either side closes, then closes both.
func (p *Proxy) serve(client net.Conn) {
	defer p.forget(client)
	if !p.remember(client) {
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer p.forget(server)
	if !p.remember(server) {
		return
	}
	p.wg.Go(func() {
		if p.before.Load() == nil {
			_, _ = io.Copy(server, client) // until either end closes
		} else {
			p.carry(server, client, &p.before)
		}
		server.Close()
	})
	p.carry(client, server, &p.delays)
}

// chunk is a part of a stream. Its buffer goes back to the pool when it
// has been written.
type chunk struct {
	buf *[chunkSize]byte
	n   int
	due time.Time // zero: at once
}

var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// carry copies one direction until either end closes. It reads on without waiting for
// what is on its way, up to 1024 chunks.
func (p *Proxy) carry(to, from net.Conn, delays *atomic.Pointer[[]bench.Span]) {
	onTheWay := make(chan chunk, 1024)
	p.wg.Go(func() {
		defer close(onTheWay)
		late := lateness{delays: delays}
		for {
			buf := chunks.Get().(*[chunkSize]byte)
			n, err := from.Read(buf[:])
			if err != nil {
				chunks.Put(buf)
				return
			}
			onTheWay <- chunk{buf, n, late.due()}
		}
	})
	alarm := clock.NewAlarm()
	for c := range onTheWay { // in this order: none overtakes another
		p.sleepUntil(c.due, alarm)
		_, err := to.Write(c.buf[:c.n])
		chunks.Put(c.buf)
		if err != nil {
			from.Close() // ends the reader; what it still sends is drained here
		}
	}
}

func (p *Proxy) sleepUntil(due time.Time, alarm *clock.Alarm) {
	if due.IsZero() {
		return
	}
	d := time.Until(due)
	switch {
	case d <= 0:
	case p.alarms != nil:
		p.alarms.Sleep(d, alarm, p.over)
	default:
		select {
		case <-time.After(d):
		case <-p.over:
		}
	}
}

// remember is false when the connection must not be.
func (p *Proxy) remember(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = struct{}{}
	if p.refuse {
		p.resetLocked()
	}
	return !p.refuse
}

func (p *Proxy) forget(c net.Conn) {
	c.Close()
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}

// resetLocked ends every connection as a crashed host would: with RST, and without
// what is still on its way.
func (p *Proxy) resetLocked() {
	for c := range p.conns {
		_ = c.(*net.TCPConn).SetLinger(0)
		c.Close()
		delete(p.conns, c)
	}
}

// lateness draws the delays of one direction of a connection. Its reader owns it.
type lateness struct {
	delays *atomic.Pointer[[]bench.Span]
	spans  *[]bench.Span // what draws is made of
	draws  []*bench.Sampler
}

// due is when what arrives now is to be delivered; zero: at once.
func (l *lateness) due() time.Time {
	if spans := l.delays.Load(); spans != l.spans {
		l.spans, l.draws = spans, nil
		for _, s := range *spans {
			l.draws = append(l.draws, s.Sampler(rand.Uint64(), 0))
		}
	}
	var sum time.Duration
	for _, d := range l.draws {
		sum += d.Next()
	}
	if sum == 0 {
		return time.Time{}
	}
	return time.Now().Add(sum)
}
