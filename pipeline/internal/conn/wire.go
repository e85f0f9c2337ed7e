package conn

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"time"

	"muxlock/internal/resp"
)

// A wire is a session's connection after the greeting. One goroutine reads it; another may
// write meanwhile, one at a time. Who forms a round writes it, to all masters, without
// waiting: what a socket does not take at once is left to the master's writer.
type wire struct {
	conn    net.Conn
	timeout time.Duration
	In      *bufio.Reader // of the wire itself
	now     immediate     // nil where writing without waiting cannot be had

	// The following are owned by the reader.
	Until    time.Time                                        // the read deadline
	LastRead time.Time                                        // when it last returned bytes
	Overdue  func(now time.Time) (until time.Time, err error) // asked when the deadline has passed; nil: that is the end
	Ctx      context.Context                                  // whose end ends reading at once; set with overdue
}

// An immediate writes what a socket takes at once.
type immediate interface{ write(b []byte) (n int) }

// takeOver makes a wire of a connection on which everything has been answered.
func takeOver(conn net.Conn, timeout time.Duration) (wire, error) {
	w := wire{conn: conn, timeout: timeout}
	switch c := conn.(type) { // and not what wraps one: its bytes are not the socket's
	case *net.TCPConn:
		w.now = immediately(c)
	case *net.UnixConn:
		w.now = immediately(c)
	}
	return w, conn.SetDeadline(time.Time{}) // rueidis leaves one behind
}

// Ask sends a batch and reads its replies, within the timeout. Nothing else may be under way.
func (w *wire) Ask(b *Batch, replies []resp.Reply) ([]resp.Reply, error) {
	if w.In == nil {
		w.In = bufio.NewReaderSize(w, 64<<10)
	}
	if err := w.conn.SetDeadline(time.Now().Add(w.timeout)); err != nil {
		return nil, err
	}
	if _, err := w.conn.Write(b.Text); err != nil {
		return nil, err
	}
	replies, err := w.ReadReplies(b.Commands(), replies[:0])
	if err != nil {
		return nil, err
	}
	return replies, w.conn.SetDeadline(time.Time{})
}

// ReadReplies appends n replies.
func (w *wire) ReadReplies(n int, replies []resp.Reply) ([]resp.Reply, error) {
	for range n {
		reply, err := resp.Read(w.In)
		if err != nil {
			return nil, err
		}
		replies = append(replies, reply)
	}
	return replies, nil
}

// Read reads from the connection, past deadlines for as long as overdue allows.
func (w *wire) Read(b []byte) (int, error) {
	for {
		n, err := w.conn.Read(b)
		now := time.Now()
		if n > 0 {
			w.LastRead = now
			return n, nil
		}
		if w.Overdue == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
			return 0, err
		}
		until, err := w.Overdue(now)
		if err == nil {
			err = w.ListenUntil(until)
		}
		if err != nil {
			return 0, err
		}
	}
}

// ListenUntil sets the read deadline; one of now if ctx has ended meanwhile, whose AfterFunc
// may have set its own just before.
func (w *wire) ListenUntil(until time.Time) error {
	w.Until = until
	err := w.conn.SetReadDeadline(until)
	if err == nil && w.Ctx.Err() != nil {
		err = w.conn.SetReadDeadline(time.Now())
	}
	return err
}

// Write sends what goes out without waiting. It returns how many of the pieces are gone;
// of the one after them it keeps what is not.
func (w *wire) Write(out [][]byte) (gone int) {
	if w.now == nil {
		return 0
	}
	for gone < len(out) {
		b := out[gone]
		if n := w.now.write(b); n < len(b) {
			out[gone] = b[n:]
			break
		}
		gone++
	}
	return gone
}
