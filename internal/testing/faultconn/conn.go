package faultconn

import (
	"bytes"
	"context"
	"math"
	"net"
	"os"
	"runtime/pprof"
	"sync"
	"syscall"
	"time"
)

const (
	// capacity is how many bytes one direction of a connection buffers before the writer waits. It is far above the
	// bandwidth times the delay of any test, so that a delay never throttles.
	capacity = 4 << 20

	// closeGrace bounds how long Close writes remaining bytes to a master that does not read.
	closeGrace = 50 * time.Millisecond
)

// conn is a connection through a link. move owns the writing side of inner, and closes inner when the connection is over. move
// runs when the alarm rings. receive is a goroutine that owns the reading side, and ends when inner is closed.
type conn struct {
	link  *Link
	inner net.Conn
	alarm *time.Timer    // calls move
	pumps sync.WaitGroup // receive

	// Guarded by link.mu:
	queues        [2]queue  // by direction
	readDeadline  time.Time // zero = none
	writeDeadline time.Time // zero = none
	err           error     // why the connection is over for its user; nil while it is open
	writeErr      error     // first error of a write to inner
	lingering     bool      // closed, but requests are still under way
	stranded      time.Time // its requests stay where they are until then; zero = they do not
	moving        bool      // move is at work
	ended         bool      // move has closed inner
}

// queue holds the bytes under way in one direction, oldest first.
type queue struct {
	chunks  []chunk
	size    int // bytes in chunks
	changed *sync.Cond
	alarm   *time.Timer // broadcasts changed
}

// chunk is the bytes of one write, or of one read from the master.
type chunk struct {
	at   time.Time // of arrival in the queue
	data []byte    // never empty unless err is set
	err  error     // end of the stream; stays in the queue
}

func newConn(l *Link, inner net.Conn) *conn {
	c := &conn{link: l, inner: inner}
	c.alarm = time.AfterFunc(math.MaxInt64, c.move)
	for d := range c.queues {
		changed := sync.NewCond(&l.mu)
		c.queues[d] = queue{changed: changed, alarm: time.AfterFunc(math.MaxInt64, changed.Broadcast)}
	}
	l.mu.Lock()
	l.conns[c] = struct{}{}
	l.mu.Unlock()
	labels := pprof.Labels("faultconn", inner.RemoteAddr().String())
	c.pumps.Go(func() { pprof.Do(context.Background(), labels, c.receive) })
	return c
}

// Read returns replies as the link lets them pass. It fails with os.ErrDeadlineExceeded when the read deadline passes, even
// while the link holds replies back.
func (c *conn) Read(p []byte) (int, error) {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	q := &c.queues[replies]
	for {
		switch {
		case c.err != nil:
			return 0, c.err
		case passed(c.readDeadline):
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		}
		due, moving := c.dueLocked(replies)
		if moving && passed(due) {
			if err := q.chunks[0].err; err != nil {
				return 0, err
			}
			if data := c.takeLocked(replies, len(p)); data != nil {
				return copy(p, data), nil
			}
			continue // cut
		}
		until := c.readDeadline
		if moving && (until.IsZero() || due.Before(until)) {
			until = due
		}
		q.waitLocked(until)
	}
}

// Write hands p to the link and returns. It waits only while the queue is full, until the write deadline at most; it then
// returns os.ErrDeadlineExceeded and has written nothing.
func (c *conn) Write(p []byte) (int, error) {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	q := &c.queues[requests]
	for {
		switch {
		case c.err != nil:
			return 0, c.err
		case c.writeErr != nil:
			return 0, c.writeErr
		case passed(c.writeDeadline):
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case q.size < capacity:
			q.push(chunk{at: time.Now(), data: bytes.Clone(p)})
			c.armLocked()
			return len(p), nil
		}
		q.waitLocked(c.writeDeadline)
	}
}

// Close ends the connection, and waits for its goroutines unless the link has OutliveClose. Requests that nothing holds
// back still pass. Close always returns nil and may be called again.
func (c *conn) Close() error {
	c.link.mu.Lock()
	if c.err == nil {
		c.err = net.ErrClosed
		c.lingering = c.link.outlive
		if !c.lingering {
			_ = c.inner.SetWriteDeadline(time.Now().Add(closeGrace))
		}
		c.wakeLocked()
	}
	lingering := c.lingering
	c.link.mu.Unlock()
	if !lingering {
		c.pumps.Wait()
	}
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return c.inner.LocalAddr() }
func (c *conn) RemoteAddr() net.Addr { return c.inner.RemoteAddr() }

func (c *conn) SetDeadline(t time.Time) error      { return c.setDeadlines(&t, &t) }
func (c *conn) SetReadDeadline(t time.Time) error  { return c.setDeadlines(&t, nil) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.setDeadlines(nil, &t) }

func (c *conn) setDeadlines(read, write *time.Time) error {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	if read != nil {
		c.readDeadline = *read
	}
	if write != nil {
		c.writeDeadline = *write
	}
	c.wakeLocked()
	return nil
}

// armLocked has move called when something is to be done: requests are due, or the connection is over.
func (c *conn) armLocked() {
	due, moving := c.dueLocked(requests)
	wait := time.Until(due)
	switch {
	case c.moving || c.ended:
	case c.overLocked() || moving && wait <= 0:
		go c.move() // timers of a synctest bubble that fire in Reset, two at once, crash the race detector of Go 1.26
	case moving:
		c.alarm.Reset(wait)
	}
}

// overLocked reports whether no request may pass any more.
func (c *conn) overLocked() bool {
	return c.err != nil && (!c.lingering || len(c.queues[requests].chunks) == 0)
}

// move writes the requests that are due to inner. Once the connection is over it closes inner.
func (c *conn) move() {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	if c.moving || c.ended {
		return
	}
	c.moving = true
	for data := c.nextLocked(); data != nil; data = c.nextLocked() {
		c.link.mu.Unlock()
		_, err := c.inner.Write(data)
		c.link.mu.Lock()
		if err != nil {
			c.writeErr = err
			c.queues[requests].clear()
		}
	}
	c.moving = false
	if c.ended = c.overLocked(); c.ended {
		c.alarm.Stop()
		for d := range c.queues {
			c.queues[d].alarm.Stop()
		}
		c.inner.Close()
		delete(c.link.conns, c)
	}
	c.armLocked()
}

// nextLocked takes requests that are due and that the link's budget allows. It returns nil if there are none, or if it has cut
// the link.
func (c *conn) nextLocked() []byte {
	if due, moving := c.dueLocked(requests); !moving || !passed(due) {
		return nil
	}
	return c.takeLocked(requests, math.MaxInt)
}

// receive moves bytes from inner to the queue of replies until inner ends. It drops bytes that come after Close.
func (c *conn) receive(context.Context) {
	q := &c.queues[replies]
	buf := make([]byte, 8<<10)
	for {
		n, err := c.inner.Read(buf)
		c.link.mu.Lock()
		for c.err == nil && q.size >= capacity {
			q.waitLocked(time.Time{})
		}
		if c.err == nil && n > 0 {
			q.push(chunk{at: time.Now(), data: bytes.Clone(buf[:n])})
		}
		if c.err == nil && err != nil {
			q.push(chunk{at: time.Now(), err: err})
		}
		c.link.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// dueLocked returns when the oldest chunk of a direction may leave. moving is false if time alone will not let it leave.
func (c *conn) dueLocked(d direction) (due time.Time, moving bool) {
	q, l := &c.queues[d], c.link
	if len(q.chunks) == 0 || l.blackHole || d == replies && l.holdReplies {
		return time.Time{}, false
	}
	if due = q.chunks[0].at.Add(l.delay[d]); d == requests && due.Before(c.stranded) {
		due = c.stranded
	}
	return due, true
}

// takeLocked takes up to most bytes of the oldest chunk, as many as the link's budget allows. It returns nil if it has cut
// the link.
func (c *conn) takeLocked(d direction, most int) []byte {
	q := &c.queues[d]
	n := c.link.passLocked(d, min(most, len(q.chunks[0].data)))
	if n == 0 {
		return nil
	}
	data := q.chunks[0].data[:n]
	q.drop(n)
	return data
}

// waitLocked releases the mutex until the queue changes or the time until is reached. A zero time is never reached. waitLocked
// may also return before.
func (q *queue) waitLocked(until time.Time) {
	if !until.IsZero() {
		q.alarm.Reset(time.Until(until))
		defer q.alarm.Stop()
	}
	q.changed.Wait()
}

func (c *conn) wakeLocked() {
	for d := range c.queues {
		c.queues[d].changed.Broadcast()
	}
	c.armLocked()
}

func (c *conn) cutLocked() {
	if c.err == nil {
		c.err = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	c.lingering = false
	for d := range c.queues {
		c.queues[d].clear()
	}
	c.inner.Close()
}

func (q *queue) push(c chunk) {
	q.chunks = append(q.chunks, c)
	q.size += len(c.data)
	q.changed.Broadcast()
}

// drop removes the first n bytes of the oldest chunk.
func (q *queue) drop(n int) {
	q.size -= n
	head := &q.chunks[0]
	if head.data = head.data[n:]; len(head.data) == 0 {
		q.chunks = q.chunks[1:]
	}
	q.changed.Broadcast()
}

func (q *queue) clear() {
	q.chunks, q.size = nil, 0
	q.changed.Broadcast()
}

// passed reports whether t has passed. The zero time never has.
func passed(t time.Time) bool { return !t.IsZero() && !time.Now().Before(t) }
