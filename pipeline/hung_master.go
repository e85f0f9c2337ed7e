package pipeline

import (
	"fmt"
	"os"
	"time"
)

// How a hung master is found, by its reader and without a timer.
//
// Each read has a deadline. When it passes, overdue looks since when an answer is due. The
// master is hung when nothing has come for Config.Timeout since its oldest flight was sent.
// The time that this process was stopped does not count. The connection then ends, and
// the master is set aside (setaside.go).

const (
	// lastLook is how long a master that has missed its time is read from once more.
	lastLook = time.Millisecond
	// overslept is by how much a goroutine may wake late on a machine that is merely busy.
	// After more than that the process itself was stopped, and the master may have answered.
	overslept = 10 * time.Millisecond
)

var errHung = fmt.Errorf("no answer in time: %w", os.ErrDeadlineExceeded)

// overdue is called when a read deadline has passed. It returns until when to read on, or
// errHung: nothing came for too long since the oldest flight was sent or anything was read.
func (m *master) overdue(now time.Time) (time.Time, error) {
	p, s := m.p, m.session
	if p.ctx.Err() != nil {
		return now, errClosing
	}
	since := m.unansweredSince(now)
	if s.LastRead.After(since) {
		since = s.LastRead
	}
	until, hung := lookAgain(p.timeout, since, s.Until, m.looked, now)
	if hung {
		return now, errHung
	}
	if !now.Before(since.Add(p.timeout)) {
		m.looked = since
	}
	return until, nil
}

// unansweredSince returns since when an answer is due: since the oldest flight was written
// or, where the socket does not take it, since the write began. The caller that writes it
// may have been stopped before; then no answer is due yet.
func (m *master) unansweredSince(now time.Time) time.Time {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	switch {
	case len(m.flights) == 0:
		return now
	case !m.flights[0].wrote.IsZero():
		return m.flights[0].wrote
	case m.blocked:
		return m.flights[0].sent
	}
	return now
}

// lookAgain returns, at now, after reading until asked has brought nothing, until when to read
// on, or that the master is hung because nothing came for timeout since the given time.
// looked is the since for which the last look was taken.
func lookAgain(timeout time.Duration, since, asked, looked, now time.Time) (until time.Time, hung bool) {
	if end := since.Add(timeout); now.Before(end) {
		return end, false
	}
	if late := now.Sub(asked); late > overslept { // this process was stopped, and could not read
		return now.Add(min(late, timeout)), false
	}
	return now.Add(lastLook), looked.Equal(since) // else an answer may be there already
}
