package conn

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"muxlock/internal/resp"
)

// A wire is a session's connection after the greeting. One goroutine reads it. Another may write
// meanwhile, one at a time.
type wire struct {
	conn    net.Conn
	timeout time.Duration
	In      *bufio.Reader    // reads from the wire itself
	now     func([]byte) int // writes the bytes that the socket takes at once, and returns their number; nil: it cannot

	// The following are owned by the reader.
	Until    time.Time                                        // the read deadline
	LastRead time.Time                                        // when bytes came last
	Overdue  func(now time.Time) (until time.Time, err error) // called when the deadline has passed; nil: reading ends then
	Ctx      context.Context                                  // its end ends reading at once; written with Overdue
	Pushed   func(channel, message string)                    // takes messages of channels; nil: no pushes are asked for
}

// takeOver makes a wire of a connection without an open request.
func takeOver(conn net.Conn, timeout time.Duration) (wire, error) {
	w := wire{conn: conn, timeout: timeout}
	switch c := conn.(type) { // a wrapper's bytes are not the socket's
	case *net.TCPConn:
		w.now = immediately(c)
	case *net.UnixConn:
		w.now = immediately(c)
	}
	return w, conn.SetDeadline(time.Time{}) // rueidis leaves one behind
}

// Ask sends a batch and reads its replies, within the timeout. Nothing else may be under way. It
// reuses the memory of replies. If the connection ends, the error has the last error reply, too: the
// server may have said why.
func (w *wire) Ask(b *Batch, replies []resp.Reply) ([]resp.Reply, error) {
	if w.In == nil {
		w.In = bufio.NewReaderSize(w, 64<<10)
	}
	if err := w.conn.SetDeadline(time.Now().Add(w.timeout)); err != nil {
		return nil, err
	}
	_, unsent := w.conn.Write(b.text)
	replies, err := w.ReadReplies(b.Commands(), replies[:0])
	if err = cmp.Or(unsent, err); err == nil {
		return replies, w.conn.SetDeadline(time.Time{})
	}
	if n := len(replies); n > 0 && replies[n-1].Kind == resp.Failed {
		err = fmt.Errorf("%w (%w)", replies[n-1].Err(), err)
	}
	return nil, err
}

// Checked returns the results of Ask. If the first reply is an error, Checked returns this error, too.
func Checked(replies []resp.Reply, err error) ([]resp.Reply, error) {
	if err == nil {
		err = replies[0].Err()
	}
	return replies, err
}

// ReadReplies reads n replies and appends them, with an error those before it. On a connection that takes pushes, the
// confirmation of SUBSCRIBE is a reply too, and other pushes between the replies go to Pushed.
func (w *wire) ReadReplies(n int, replies []resp.Reply) ([]resp.Reply, error) {
	if w.Pushed == nil {
		return resp.ReadAll(w.In, n, replies)
	}
	for n > 0 {
		sign, err := w.In.Peek(1)
		if err != nil {
			return replies, err
		}
		if sign[0] == '>' {
			confirmed, err := w.ReadPush()
			if err != nil {
				return replies, err
			}
			if !confirmed {
				continue
			}
			replies = append(replies, resp.Reply{Kind: resp.Text, Text: subscribed})
		} else if replies, err = resp.ReadAll(w.In, 1, replies); err != nil {
			return replies, err
		}
		n--
	}
	return replies, nil
}

// subscribed is the kind of the push that confirms SUBSCRIBE.
const subscribed = "subscribe"

// ReadPush reads a push and gives it to Pushed, or reports that it confirms SUBSCRIBE.
func (w *wire) ReadPush() (confirmed bool, err error) {
	push, err := resp.ReadPush(w.In)
	switch {
	case err != nil:
		return false, err
	case push[0].Text == subscribed:
		return true, nil
	case push[0].Text == "message" && len(push) == 3:
		w.Pushed(push[1].Text, push[2].Text)
	}
	return false, nil
}

// Read reads from the connection, past deadlines for as long as Overdue allows.
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

// ListenUntil sets the read deadline. If Ctx has ended, the deadline is now: the AfterFunc of Ctx
// may have set its own just before.
func (w *wire) ListenUntil(until time.Time) error {
	w.Until = until
	err := w.conn.SetReadDeadline(until)
	if err == nil && w.Ctx.Err() != nil {
		err = w.conn.SetReadDeadline(time.Now())
	}
	return err
}

// Write writes the bytes that the socket takes without waiting. It returns how many pieces were
// written in full, and cuts the written bytes off the next piece in out.
func (w *wire) Write(out [][]byte) (gone int) {
	if w.now == nil {
		return 0
	}
	for gone < len(out) {
		b := out[gone]
		if n := w.now(b); n < len(b) {
			out[gone] = b[n:]
			break
		}
		gone++
	}
	return gone
}
