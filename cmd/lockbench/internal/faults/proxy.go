package faults

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// chunkSize is what the proxy reads at once: more than most batches of replies.
const chunkSize = 32 << 10

// Proxy forwards TCP connections to one master and holds back every reply for a
// fixed time after it arrived. Replies behind each other are late together, not
// one after the other, as on a long cable. Requests pass at once.
//
// toxiproxy does the same and much more, but brings an HTTP API and a metrics
// library along; these few lines are what a fixed delay needs.
type Proxy struct {
	ln     net.Listener
	target string
	delay  time.Duration

	wg sync.WaitGroup // accept loop and both directions of each connection

	mu     sync.Mutex // guards the following
	conns  map[net.Conn]struct{}
	closed bool
}

// NewProxy listens on a free port of 127.0.0.1. Close it.
func NewProxy(target string, delay time.Duration) (*Proxy, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{ln: ln, target: target, delay: delay, conns: map[net.Conn]struct{}{}}
	p.wg.Go(p.accept)
	return p, nil
}

// Addr is what clients connect to.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Close cuts all connections and waits for the goroutines.
func (p *Proxy) Close() error {
	err := p.ln.Close()
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
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
		_, _ = io.Copy(server, client) // until either end closes
		server.Close()
	})
	p.reply(client, server)
}

// chunk is a part of the reply stream. Its buffer goes back to the pool when it
// has been written.
type chunk struct {
	buf *[chunkSize]byte
	n   int
	due time.Time
}

var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// reply reads on without waiting for what is on its way, up to 1024 chunks.
func (p *Proxy) reply(client, server net.Conn) {
	onTheWay := make(chan chunk, 1024)
	p.wg.Go(func() {
		defer close(onTheWay)
		for {
			buf := chunks.Get().(*[chunkSize]byte)
			n, err := server.Read(buf[:])
			if err != nil {
				chunks.Put(buf)
				return
			}
			onTheWay <- chunk{buf, n, time.Now().Add(p.delay)}
		}
	})
	for c := range onTheWay {
		if p.delay > 0 {
			time.Sleep(time.Until(c.due))
		}
		_, err := client.Write(c.buf[:c.n])
		chunks.Put(c.buf)
		if err != nil {
			server.Close() // ends the reader; what it still sends is drained here
		}
	}
}

func (p *Proxy) remember(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.conns[c] = struct{}{}
	}
	return !p.closed
}

func (p *Proxy) forget(c net.Conn) {
	c.Close()
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}
