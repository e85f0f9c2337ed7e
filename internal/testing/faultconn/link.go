// Package faultconn bends the connections to one master at run time, in user space: delay, black hole, held replies,
// cuts and refused dials.
//
//	            Write                pump                 inner.Write
//	client ---------------> requests -----> gate of the Link ----------> master
//	       <--------------- replies  <----- gate of the Link <----------
//	            Read                                      inner.Read
//
// A Link owns the settings and the mutex; every connection dialled through it belongs to it. Each direction is a queue of
// chunks stamped with their time of arrival. A chunk leaves when the link lets it: not while black-holed, not (replies)
// while held, and not before its arrival plus the delay. Because the gate is asked when a chunk leaves, a changed setting
// also applies to bytes under way, order is kept, and a delay costs no throughput.
//
// Nothing here needs a network: Wrap takes any net.Conn, also a net.Pipe end inside a testing/synctest bubble.
package faultconn

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"
)

// direction is the side of a connection on which bytes travel, seen from the client.
type direction int

const (
	requests direction = iota // client to master
	replies                   // master to client
)

// unlimited is the budget of a direction that no cut waits for.
const unlimited = -1

// Link controls every connection to one master. The zero value is not usable; NewLink makes a healthy one.
// Every method is safe for concurrent use; settings hold for open connections, bytes under way and future dials alike.
type Link struct {
	mu          sync.Mutex         // guards the following and the mutable fields of every conn of the link
	delay       [2]time.Duration   // by direction
	budget      [2]int             // by direction: bytes that may pass before everything is cut
	blackHole   bool               //
	holdReplies bool               //
	refuse      bool               //
	outlive     bool               //
	dials       int                //
	conns       map[*conn]struct{} // a conn leaves when its pump ends
	changed     chan struct{}      // closed and replaced at every change of a setting; dials in a black hole wait on it
}

// NewLink returns a healthy link without connections.
func NewLink() *Link {
	return &Link{
		budget:  [2]int{unlimited, unlimited},
		conns:   make(map[*conn]struct{}),
		changed: make(chan struct{}),
	}
}

// Dial connects to addr over TCP and puts the link in between; its signature is that of rueidis.ClientOption.DialCtxFn.
// With a TLS configuration the handshake and all records travel over the bent connection. It blocks while the link is a
// black hole, until ctx ends, the dialer's Timeout has passed or the link heals. A link that refuses dials answers with
// ECONNREFUSED at once.
func (l *Link) Dial(ctx context.Context, addr string, dialer *net.Dialer, tlsConfig *tls.Config) (net.Conn, error) {
	if dialer.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, dialer.Timeout)
		defer cancel()
	}
	if err := l.admit(ctx); err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	inner, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := l.Wrap(inner)
	if tlsConfig == nil {
		return c, nil
	}
	tlsConfig = tlsConfig.Clone()
	if tlsConfig.ServerName == "" {
		tlsConfig.ServerName, _, _ = net.SplitHostPort(addr)
	}
	secure := tls.Client(c, tlsConfig)
	if err := secure.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return secure, nil
}

// Wrap puts the link in front of an open connection, which the returned one then owns. Neither RefuseDials nor Dials
// takes notice of it.
func (l *Link) Wrap(inner net.Conn) net.Conn { return newConn(l, inner) }

// Dials returns how often Dial was called, refused and unanswered calls included.
func (l *Link) Dials() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dials
}

// Delay makes every reply arrive d later than it would. Zero ends it.
func (l *Link) Delay(d time.Duration) { l.set(func() { l.delay[replies] = d }) }

// DelayRequests makes every request reach the master d later than it would. Zero ends it.
func (l *Link) DelayRequests(d time.Duration) { l.set(func() { l.delay[requests] = d }) }

// BlackHole when on lets no byte pass in either direction, as when a network drops packets: writes succeed until about
// 4 MiB are waiting and then block, reads hang until their deadline, dials hang, the end of the connection is not seen.
// Off it heals: what waited travels on, in order. What a connection had waiting when it was closed is lost,
// unless OutliveClose says otherwise.
func (l *Link) BlackHole(on bool) { l.set(func() { l.blackHole = on }) }

// HoldReplies when on lets requests pass and holds every reply back; off it releases them in order.
func (l *Link) HoldReplies(on bool) { l.set(func() { l.holdReplies = on }) }

// OutliveClose when on lets the requests of a connection that is closed from now on still reach the master, after delay or
// black hole, as a kernel does with bytes that were written before close. Such a connection keeps its goroutines
// until its last byte has passed or Cut ends it.
func (l *Link) OutliveClose(on bool) { l.set(func() { l.outlive = on }) }

// RefuseDials when on makes every Dial fail with ECONNREFUSED; open connections are left alone.
func (l *Link) RefuseDials(on bool) { l.set(func() { l.refuse = on }) }

// Cut closes every connection of the link. Bytes under way are lost; the client's reads and writes fail with ECONNRESET,
// also in a black hole. New dials are welcome.
func (l *Link) Cut() { l.set(l.cutLocked) }

// CutRequestsAfter lets k more bytes of requests pass, counted over all connections; the byte after them cuts the link,
// once. Zero cuts at the next request, which does not reach the master.
func (l *Link) CutRequestsAfter(k int) { l.set(func() { l.budget[requests] = k }) }

// CutRepliesAfter lets k more bytes of replies pass, counted over all connections; the byte after them cuts the link,
// once. Zero lets the next request be executed and loses its reply.
func (l *Link) CutRepliesAfter(k int) { l.set(func() { l.budget[replies] = k }) }

// set applies one change and wakes everyone who may be waiting for it.
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

// admit counts a dial, refuses it, or keeps it waiting while the link is a black hole.
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

// passLocked takes n bytes out of the budget of a direction and returns how many of them may pass. None means that the
// link has just been cut.
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

// cutLocked ends every connection and forgets about cuts that were still to come.
func (l *Link) cutLocked() {
	l.budget = [2]int{unlimited, unlimited}
	for c := range l.conns {
		c.cutLocked()
	}
}

// Links holds one Link per master, by address, so that one client template can serve all masters.
type Links map[string]*Link

// Dial hands over to the Link of addr; it fails when there is none.
func (ls Links) Dial(ctx context.Context, addr string, dialer *net.Dialer, tlsConfig *tls.Config) (net.Conn, error) {
	l, ok := ls[addr]
	if !ok {
		return nil, fmt.Errorf("faultconn: no link for %s", addr)
	}
	return l.Dial(ctx, addr, dialer, tlsConfig)
}
