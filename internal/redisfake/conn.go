package redisfake

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// A conn is the client's end of a connection. Write executes commands at once, and never blocks. Read waits for the replies.
type conn struct {
	s       *Server
	changed *sync.Cond  // replies, the deadline or the end of the connection, for Read
	alarm   *time.Timer // broadcasts changed when a reply is due or the deadline is over

	// Guarded by Server.mu:
	err           error      // why nothing more comes or goes; nil: it is open
	in            string     // the begin of a command
	out           []delivery // replies not read yet, the oldest first
	replies       int        // so far, with pushes
	readDeadline  time.Time
	writeDeadline time.Time
	tracking      bool // CLIENT TRACKING ON OPTIN
	caching       bool // the previous command was CLIENT CACHING YES
}

// A delivery is a reply, or what is left of it.
type delivery struct {
	since time.Time
	bytes []byte
	end   bool // the connection ends behind the reply
}

// Write executes the commands that p completes.
func (c *conn) Write(p []byte) (int, error) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	switch {
	case errors.Is(c.err, net.ErrClosed):
		return 0, c.err
	case c.err != nil:
		return 0, io.ErrClosedPipe
	case passed(c.writeDeadline):
		return 0, os.ErrDeadlineExceeded
	}
	c.in += string(p)
	for c.err == nil {
		words, rest, err := CutCommand(c.in)
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF): // there is more to come
			return len(p), nil
		case err != nil:
			c.endLocked(io.EOF)
		default:
			c.in = rest
			c.replyLocked(c.executeLocked(words))
		}
	}
	return len(p), nil
}

func (c *conn) replyLocked(reply any) {
	d := delivery{since: time.Now(), bytes: appendReply(nil, reply)}
	if c.s.mangle != nil {
		d.bytes, d.end = c.s.mangle(c.replies, d.bytes)
	}
	c.replies++
	c.out = append(c.out, d)
	c.changed.Broadcast()
}

// Read returns replies that are due.
func (c *conn) Read(p []byte) (n int, err error) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	for {
		switch {
		case c.err != nil:
			return 0, c.err
		case passed(c.readDeadline):
			return 0, os.ErrDeadlineExceeded
		}
		n, until := c.takeLocked(p)
		if n > 0 || len(p) == 0 {
			return n, nil
		}
		if c.err != nil {
			continue
		}
		if !until.IsZero() {
			c.alarm.Reset(time.Until(until))
		}
		c.changed.Wait()
	}
}

// takeLocked moves replies that are due to p. If none is due, until is when the next reply is due or the deadline is over;
// zero: never.
func (c *conn) takeLocked(p []byte) (n int, until time.Time) {
	for until = c.readDeadline; n < len(p) && len(c.out) > 0; {
		first := &c.out[0]
		if due := first.since.Add(c.s.delay); !passed(due) {
			if until.IsZero() || due.Before(until) {
				until = due
			}
			break
		}
		moved := copy(p[n:], first.bytes)
		n += moved
		if first.bytes = first.bytes[moved:]; len(first.bytes) > 0 {
			break
		}
		if first.end {
			c.endLocked(io.EOF)
			break
		}
		c.out = c.out[1:]
	}
	return n, until
}

// Close ends the connection.
func (c *conn) Close() error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.endLocked(net.ErrClosed)
	return nil
}

func (c *conn) endLocked(err error) {
	if c.err == nil {
		c.err, c.in, c.out = err, "", nil
		delete(c.s.conns, c)
		c.alarm.Stop()
		c.changed.Broadcast()
	}
}

func (c *conn) LocalAddr() net.Addr  { return addr{} }
func (c *conn) RemoteAddr() net.Addr { return addr{} }

func (c *conn) SetDeadline(t time.Time) error {
	return c.setDeadlines(t, &c.readDeadline, &c.writeDeadline)
}
func (c *conn) SetReadDeadline(t time.Time) error  { return c.setDeadlines(t, &c.readDeadline) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.setDeadlines(t, &c.writeDeadline) }

func (c *conn) setDeadlines(t time.Time, deadlines ...*time.Time) error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	for _, d := range deadlines {
		*d = t
	}
	c.changed.Broadcast()
	return nil
}

// passed reports whether a deadline is over. The zero time is none.
func passed(t time.Time) bool { return !t.IsZero() && !time.Now().Before(t) }

// addr is the address of both ends.
type addr struct{}

func (addr) Network() string { return "fake" }
func (addr) String() string  { return "fake" }
