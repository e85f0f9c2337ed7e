package redisfake

import (
	"bufio"
	"net"
	"time"
)

// A conn is a connection. One goroutine reads and executes commands, another writes the replies: a client may send many
// commands before it reads, and a net.Pipe buffers nothing.
type conn struct {
	s      *Server
	net    net.Conn
	wake   chan struct{} // capacity 1: the outbox or the delay has changed
	closed chan struct{} // closed when nothing more comes or goes

	// Guarded by Server.mu:
	ended    bool
	outbox   []delivery
	tracking bool // CLIENT TRACKING ON OPTIN
	caching  bool // the previous command was CLIENT CACHING YES
}

// A delivery is a reply still to be sent.
type delivery struct {
	since time.Time
	bytes []byte
}

// receive executes commands until the connection ends.
func (c *conn) receive() {
	in := bufio.NewReader(c.net)
	for {
		words, err := ReadCommand(in)
		c.s.mu.Lock()
		if err != nil || c.ended {
			c.closeLocked()
			c.s.mu.Unlock()
			return
		}
		c.replyLocked(c.executeLocked(words))
		c.s.mu.Unlock()
	}
}

func (c *conn) replyLocked(reply any) {
	c.outbox = append(c.outbox, delivery{time.Now(), appendReply(nil, reply)})
	c.wakeSender()
}

// send writes replies when they are due, until the connection ends.
func (c *conn) send() {
	for {
		out, next := c.due()
		if len(out) > 0 {
			if _, err := c.net.Write(out); err != nil {
				return
			}
			continue
		}
		var timer <-chan time.Time
		if !next.IsZero() {
			timer = time.After(time.Until(next))
		}
		select {
		case <-c.wake:
		case <-timer:
		case <-c.closed:
			return
		}
	}
}

// due takes the replies that are due out of the outbox, and returns when the next one will be, or the zero time.
func (c *conn) due() (out []byte, next time.Time) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	now, n := time.Now(), 0
	for ; n < len(c.outbox); n++ {
		if next = c.outbox[n].since.Add(c.s.delay); next.After(now) {
			break
		}
		out, next = append(out, c.outbox[n].bytes...), time.Time{}
	}
	c.outbox = c.outbox[n:]
	return out, next
}

func (c *conn) wakeSender() {
	select {
	case c.wake <- struct{}{}:
	default: // a wake-up is pending
	}
}

func (c *conn) closeLocked() {
	if c.ended {
		return
	}
	c.ended = true
	delete(c.s.conns, c)
	close(c.closed)
	c.net.Close()
}
