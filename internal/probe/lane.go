package probe

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

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
	option  rueidis.ClientOption
	timeout time.Duration
	conn    atomic.Pointer[wire.Conn] // nil: out; set by the lane's goroutine, and before it begins
	probes  chan sent                 // oldest first; closed when no more will come
	clock   []wallclock.Reading       // owned by the lane's goroutine until it ends
}

// sent is a probe.
type sent struct {
	conn *wire.Conn // nil: the lane was out
	at   time.Time
	trip *time.Duration // owned by the lane's goroutine until it ends
}

// send sends a probe. The round trip of an answer goes to trip.
func (l *lane) send(trip *time.Duration) {
	conn := l.conn.Load()
	l.probes <- sent{conn, time.Now(), trip}
	if conn != nil {
		_, _ = conn.Write(timeCommand) // without it there is no answer
	}
}

// run reads the answers to probes. After one without an answer it dials until the master answers again, or ctx ends.
// Readings of the clock count from base.
func (l *lane) run(ctx context.Context, base time.Time) {
	var again time.Time // when to dial
	for s := range l.probes {
		conn := l.conn.Load()
		if conn != nil && s.conn == conn { // else it was lost with an earlier connection
			answer, at, err := receive(conn, s.at.Add(l.timeout))
			if err == nil {
				*s.trip = max(at.Sub(s.at), 1)
				l.note(answer, s.at, *s.trip, base)
				continue
			}
			l.close()
		}
		if l.conn.Load() == nil && time.Now().After(again) {
			l.connect(ctx)
			again = time.Now().Add(retryPause)
		}
	}
}

// receive waits until a deadline for one answer. It also takes one that came in time to a process that was paused.
func receive(conn *wire.Conn, until time.Time) (answer []resp.Reply, at time.Time, err error) {
	_ = conn.SetReadDeadline(until)
	if _, err = conn.In.Peek(1); errors.Is(err, os.ErrDeadlineExceeded) {
		_ = conn.SetReadDeadline(time.Now().Add(grace))
		_, err = conn.In.Peek(1)
	}
	at = time.Now()
	if err == nil {
		answer, err = resp.ReadList(conn.In) // an error reply is an answer too
	}
	return answer, at, err
}

// close gives up the connection, and what is under way on it.
func (l *lane) close() {
	if conn := l.conn.Swap(nil); conn != nil {
		conn.Close()
	}
}

// connect dials a new connection and waits for one answer on it, for at most one timeout. A hung master takes connections, too.
func (l *lane) connect(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	conn, err := wire.Connect(ctx, l.option)
	if err != nil {
		return
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	if _, err = conn.Call("TIME"); stop() && (err == nil || errors.As(err, new(resp.Error))) {
		l.conn.Store(conn)
	} else {
		conn.Close()
	}
}

// stretch is the time of which the reading with the shortest trip is kept.
const stretch = int64(100 * time.Millisecond)

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
	x := wallclock.Reading{At: int64(at.Sub(base) + took/2), Trip: int64(took)}
	x.Offset = seconds*1e9 + micros*1e3 - base.UnixNano() - x.At
	switch last := len(l.clock) - 1; {
	case last < 0 || l.clock[last].At/stretch != x.At/stretch:
		l.clock = append(l.clock, x)
	case x.Trip < l.clock[last].Trip:
		l.clock[last] = x
	}
}
