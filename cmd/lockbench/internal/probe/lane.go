package probe

import (
	"context"
	"errors"
	"math"
	"os"
	"strconv"
	"sync"
	"time"

	"muxlock/internal/resp"
	"muxlock/internal/wallclock"
	"muxlock/internal/wire"
)

// grace is the time to read an answer that has arrived.
const grace = 10 * time.Millisecond

var timeCommand = resp.AppendCommand(nil, "TIME")

// lane is one master's connection. The conductor writes to it, the lane's goroutine reads.
//
//	up --no answer in time, or the connection breaks--> out --an answer on a new one--> up
type lane struct {
	number  int
	addr    string
	timeout time.Duration

	mu     sync.Mutex // guards the following
	conn   *wire.Conn // nil: out
	under  []sent     // probes under way, oldest first
	ending bool       // no more probes will come

	// Owned by the lane's goroutine until it ends.
	clock  readings
	outage []span
}

// sent is a probe under way.
type sent struct {
	row *row
	at  time.Time
}

// span is a stretch of time, from the base of the book.
type span struct{ from, to time.Duration }

// send sends the row's probe. It returns false if the lane is out.
func (l *lane) send(r *row) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		return false
	}
	now := time.Now()
	if l.under = append(l.under, sent{r, now}); len(l.under) == 1 {
		_ = l.conn.SetReadDeadline(now.Add(l.timeout)) // of the oldest probe
	}
	if _, err := l.conn.Write(timeCommand); err != nil {
		l.conn.Close() // the lane's goroutine sees it
	}
	return true
}

// end says that no more probes will come. The lane still waits for those under way.
func (l *lane) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ending = true
	if l.conn != nil && len(l.under) == 0 {
		l.conn.Close()
	}
}

// run reads answers until all probes are answered or lost after end. ctx bounds reach.
func (l *lane) run(ctx context.Context, b *book) {
	for {
		from := l.read(b)
		if from.IsZero() {
			return
		}
		if !l.reach(ctx) {
			l.outage = append(l.outage, span{from: from.Sub(b.base), to: math.MaxInt64}) // to the end of the probing
			return
		}
		l.outage = append(l.outage, span{from: from.Sub(b.base), to: time.Since(b.base)})
	}
}

// read reads answers until the connection fails, and returns since when the master has been out.
// It returns the zero time when all is over.
func (l *lane) read(b *book) (since time.Time) {
	l.mu.Lock()
	conn := l.conn
	l.mu.Unlock()
	if conn == nil {
		return b.base // not reached when it was opened
	}
	for {
		_, err := conn.In.Peek(1)
		if errors.Is(err, os.ErrDeadlineExceeded) { // perhaps by a pause of this process, and the answer is there
			_ = conn.SetReadDeadline(time.Now().Add(grace))
			_, err = conn.In.Peek(1)
		}
		now := time.Now()
		var answer []resp.Reply // an error reply is an answer too
		if err == nil {
			answer, err = resp.ReadList(conn.In)
		}
		if err != nil {
			break
		}
		s, more := l.answered()
		if s.row == nil {
			break // an answer without a probe
		}
		l.note(answer, s.at, now.Sub(s.at), b.base)
		s.row.answered(l.number, now.Sub(s.at))
		if !more {
			return time.Time{}
		}
	}
	return l.out()
}

// answered removes the oldest probe. more is false if no more answers will come.
func (l *lane) answered() (s sent, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.under) == 0 {
		return sent{}, false
	}
	s = l.under[0]
	l.under = l.under[:copy(l.under, l.under[1:])]
	var deadline time.Time
	if len(l.under) > 0 {
		deadline = l.under[0].at.Add(l.timeout)
	}
	_ = l.conn.SetReadDeadline(deadline)
	return s, !l.ending || len(l.under) > 0
}

// out gives up the connection. All probes under way on it are lost; since is the time of the
// oldest.
func (l *lane) out() (since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending && len(l.under) == 0 {
		return time.Time{}
	}
	since = time.Now()
	if len(l.under) > 0 {
		since = l.under[0].at
	}
	for _, s := range l.under {
		s.row.lost(l.number)
	}
	l.under = nil
	l.conn.Close()
	l.conn = nil
	return since
}

// reach dials until the master answers on a new connection. It returns false if ctx ends first.
func (l *lane) reach(ctx context.Context) bool {
	for {
		if l.connect(ctx) == nil {
			return true
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return false
		}
	}
}

// connect dials a new connection and waits for one answer on it.
func (l *lane) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	conn, err := wire.Dial(ctx, l.addr)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	_, err = conn.Call("TIME")
	if refusal := resp.Error(""); err != nil && !errors.As(err, &refusal) || !stop() {
		conn.Close()
		return errors.Join(err, ctx.Err())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = conn
	return nil
}

// note keeps the reading of the master's clock in an answer.
func (l *lane) note(answer []resp.Reply, at time.Time, took time.Duration, base time.Time) {
	if len(answer) != 2 {
		return
	}
	seconds, err1 := strconv.ParseInt(answer[0].Text, 10, 64)
	micros, err2 := strconv.ParseInt(answer[1].Text, 10, 64)
	if err1 != nil || err2 != nil {
		return
	}
	middle := int64(at.Sub(base) + took/2)
	there := seconds*1e9 + micros*1e3
	l.clock.add(wallclock.Reading{At: middle, Offset: there - base.UnixNano() - middle, Trip: int64(took)})
}

// readings keeps, of each stretch of time, the reading with the shortest trip.
type readings []wallclock.Reading

const stretch = int64(100 * time.Millisecond)

func (r *readings) add(x wallclock.Reading) {
	last := len(*r) - 1
	switch {
	case last < 0 || (*r)[last].At/stretch != x.At/stretch:
		*r = append(*r, x)
	case x.Trip < (*r)[last].Trip:
		(*r)[last] = x
	}
}
