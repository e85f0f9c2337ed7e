// Package faultconn injects faults into the connections to one master, in user space: delays, black holes, held replies,
// cuts and refused dials.
//
//	            Write                move                 inner.Write
//	client ---------------> requests -----> gate of the Link ----------> master
//	       <--------------- replies  <----- gate of the Link <----------
//	            Read                                      inner.Read
//
// A Link owns the settings, the mutex and every connection dialled through it. Each direction is a queue of chunks, with
// their times of arrival. A chunk leaves no earlier than its arrival plus the delay. In a black hole no chunk leaves; while
// replies are held, no reply does. The gate decides when a chunk leaves, so a changed setting applies to bytes under way
// too, the order stays, and a delay costs no throughput.
//
// The package needs no network: Wrap takes any net.Conn, also one end of a net.Pipe in a testing/synctest bubble.
package faultconn

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"
)

// direction is a direction of a connection, seen from the client.
type direction int

const (
	requests direction = iota // client to master
	replies                   // master to client
)

// unlimited is the budget of a direction without a pending cut.
const unlimited = -1

// Link controls every connection to one master. NewLink makes a healthy one; the zero value is not usable. All methods are
// safe for concurrent use. A setting applies to open connections, bytes under way and later dials alike.
type Link struct {
	mu          sync.Mutex         // guards the following and the mutable fields of every conn of the link
	delay       [2]time.Duration   // by direction
	budget      [2]int             // by direction: bytes that may pass before everything is cut
	blackHole   bool               //
	holdReplies bool               //
	refuse      bool               //
	outlive     bool               //
	dials       int                //
	conns       map[*conn]struct{} // a conn leaves when it has ended
	changed     chan struct{}      // closed and replaced at every change of a setting; dials in a black hole wait for it
}

// NewLink returns a healthy link without connections.
func NewLink() *Link {
	return &Link{
		budget:  [2]int{unlimited, unlimited},
		conns:   make(map[*conn]struct{}),
		changed: make(chan struct{}),
	}
}

// Dial connects to addr over TCP, through the link, without TLS. Its signature is that of rueidis.ClientOption.DialCtxFn. In a
// black hole Dial blocks until ctx ends, the dialer's Timeout has passed or the link heals. A link that refuses dials returns
// ECONNREFUSED at once.
func (l *Link) Dial(ctx context.Context, addr string, dialer *net.Dialer, _ *tls.Config) (net.Conn, error) {
	if dialer.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, dialer.Timeout)
		defer cancel()
	}
	return l.DialBy(ctx, func(ctx context.Context) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", addr) })
}

// DialBy is Dial with a connection that open makes, once the link lets it.
func (l *Link) DialBy(ctx context.Context, open func(context.Context) (net.Conn, error)) (net.Conn, error) {
	if err := l.admit(ctx); err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	inner, err := open(ctx)
	if err != nil {
		return nil, err
	}
	return l.Wrap(inner), nil
}

// Wrap puts the link in front of an open connection. The returned connection owns inner. RefuseDials and Dials ignore it.
func (l *Link) Wrap(inner net.Conn) net.Conn { return newConn(l, inner) }

// Dials returns how often Dial was called, including refused and unanswered calls.
func (l *Link) Dials() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dials
}

// Delay makes every reply arrive d later. Zero ends the delay.
func (l *Link) Delay(d time.Duration) { l.set(func() { l.delay[replies] = d }) }

// DelayRequests makes every request reach the master d later. Zero ends the delay.
func (l *Link) DelayRequests(d time.Duration) { l.set(func() { l.delay[requests] = d }) }

// BlackHole lets no byte pass while it is on, as a network that drops packets: writes succeed until about 4 MiB wait and
// then block, reads hang until their deadline, dials hang, and no side sees the connection end. When it goes off, the
// waiting bytes move on, in order. A connection that is closed loses its waiting bytes, except with OutliveClose.
func (l *Link) BlackHole(on bool) { l.set(func() { l.blackHole = on }) }

// HoldReplies holds every reply back while it is on, and lets requests pass. When it goes off, the replies follow in order.
func (l *Link) HoldReplies(on bool) { l.set(func() { l.holdReplies = on }) }

// OutliveClose lets the requests of a connection still reach the master if the connection is closed while it is on. A
// kernel does so with bytes written before close. Delay and BlackHole still apply. Such a connection keeps its goroutine
// until its last byte has passed or Cut ends it.
func (l *Link) OutliveClose(on bool) { l.set(func() { l.outlive = on }) }

// Strand keeps the requests of the connections that are open now from the master until d has passed, while later
// connections are served. So the bytes of a connection that died arrive late, if OutliveClose is on.
func (l *Link) Strand(d time.Duration) {
	l.set(func() {
		for c := range l.conns {
			if c.err == nil {
				c.stranded = time.Now().Add(d)
			}
		}
	})
}

// RefuseDials makes every Dial fail with ECONNREFUSED while it is on. It does not affect open connections.
func (l *Link) RefuseDials(on bool) { l.set(func() { l.refuse = on }) }

// Cut closes every connection of the link. Bytes under way are lost. The client's reads and writes fail with ECONNRESET,
// even in a black hole. New dials succeed.
func (l *Link) Cut() { l.set(l.cutLocked) }

// CutRequestsAfter lets k more bytes of requests pass, over all connections together. The next byte cuts the link, once.
// With k = 0 the next request cuts the link and does not reach the master.
func (l *Link) CutRequestsAfter(k int) { l.set(func() { l.budget[requests] = k }) }

// CutRepliesAfter lets k more bytes of replies pass, over all connections together. The next byte cuts the link, once.
// With k = 0 the master executes the next request, and its reply is lost.
func (l *Link) CutRepliesAfter(k int) { l.set(func() { l.budget[replies] = k }) }

// set applies a change and wakes all that may wait for it.
func (l *Link) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	close(l.changed)
	l.changed = make(chan struct{})
	for c := range l.conns {
		c.wakeLocked()
	}
}

// admit counts a dial. It refuses the dial, or makes it wait while the link is a black hole.
func (l *Link) admit(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.dials++; ; {
		if l.refuse {
			return syscall.ECONNREFUSED
		}
		if !l.blackHole {
			return nil
		}
		changed := l.changed
		l.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		l.mu.Lock()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// passLocked takes up to n bytes from a direction's budget and returns how many may pass. It returns 0 if it has cut the
// link.
func (l *Link) passLocked(d direction, n int) int {
	if l.budget[d] == unlimited {
		return n
	}
	if l.budget[d] == 0 {
		l.cutLocked()
		return 0
	}
	n = min(n, l.budget[d])
	l.budget[d] -= n
	return n
}

// cutLocked ends every connection and cancels pending cuts.
func (l *Link) cutLocked() {
	l.budget = [2]int{unlimited, unlimited}
	for c := range l.conns {
		c.cutLocked()
	}
}

// Links holds one Link per master, by address, so that one client template can serve all masters.
type Links map[string]*Link

// To returns a healthy Link for each master, in order and by address, cut at cleanup.
func To(t testing.TB, addrs []string) ([]*Link, Links) {
	links, byAddr := make([]*Link, len(addrs)), make(Links)
	for i, addr := range addrs {
		links[i] = NewLink()
		byAddr[addr] = links[i]
		t.Cleanup(links[i].Cut)
	}
	return links, byAddr
}

// Dial dials through the Link of addr, and fails if there is none.
func (ls Links) Dial(ctx context.Context, addr string, dialer *net.Dialer, tlsConfig *tls.Config) (net.Conn, error) {
	l, ok := ls[addr]
	if !ok {
		return nil, fmt.Errorf("faultconn: no link for %s", addr)
	}
	return l.Dial(ctx, addr, dialer, tlsConfig)
}
