package pipeline

import (
	"fmt"
	"os"
	"time"
)

// The reader of a master detects without a timer that the master is hung.
//
// Each read has a deadline. When it passes, overdue checks how long an answer has been due. The
// master is hung if nothing has come for Config.Timeout since its oldest flight was written. Time
// for which this process was stopped does not count. The connection of a hung master ends, and the
// master is set aside (setaside.go).

const (
	// lastCheck is how long the reader reads once more from a master that has exceeded the timeout.
	lastCheck = time.Millisecond
	// overslept is how late a goroutine may wake on a machine that is merely busy. If it wakes
	// later, this process was stopped, and the master may have answered meanwhile.
	overslept = 10 * time.Millisecond
)

var errHung = fmt.Errorf("no answer in time: %w", os.ErrDeadlineExceeded)

// overdue is called when a read deadline has passed. It returns until when to read on. It returns
// errHung if nothing came for too long: since the oldest flight was written, or since the last
// byte.
func (m *master) overdue(now time.Time) (time.Time, error) {
	p, s := m.p, m.session
	if p.ctx.Err() != nil {
		return now, errClosing
	}
	since := m.unansweredSince(now)
	if s.LastRead.After(since) {
		since = s.LastRead
	}
	until, hung := checkAgain(p.cfg.Timeout, since, s.Until, m.rechecked, now)
	if hung {
		return now, errHung
	}
	if !now.Before(since.Add(p.cfg.Timeout)) {
		m.rechecked = since
	}
	return until, nil
}

// unansweredSince returns since when an answer is due: since the oldest flight was written or, if
// the socket does not take it, since the write began. If the goroutine that writes
// was stopped before either, no answer is due yet.
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

// checkAgain is called at now, after a read with the deadline asked brought nothing. It returns until
// when to read on, or that the master is hung because nothing came for timeout after since. rechecked
// is the since of the last check.
func checkAgain(timeout time.Duration, since, asked, rechecked, now time.Time) (until time.Time, hung bool) {
	if end := since.Add(timeout); now.Before(end) {
		return end, false
	}
	if late := now.Sub(asked); late > overslept { // this process was stopped, and could not read
		return now.Add(min(late, timeout)), false
	}
	return now.Add(lastCheck), rechecked.Equal(since) // else an answer may be there already
}
