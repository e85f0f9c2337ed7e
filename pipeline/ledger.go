package pipeline

import (
	"slices"
	"time"
)

// A ledger holds the releases that one master still owes us: those that it could
// not be sent or whose answer did not come. It is pure bookkeeping: no clock, no
// I/O; guarded by Pipeline.mu.
//
// Each debt is paid twice. First on the next connection, before anything else.
// Then once more a dead-peer time later: the bytes of an acquire may sit in the
// socket of the connection that died, and a server that was stopped reads them
// after it has answered on the new one.
type ledger struct {
	deadPeer time.Duration
	debts    []debt
	doubts   []doubt
}

type debt struct {
	name, token string
	due         time.Time // zero: on the next connection
	forget      time.Time // the key is gone by itself then; zero: not before it was sent
	second      bool
}

func (d *debt) forgotten(now time.Time) bool { return !d.forget.IsZero() && !now.Before(d.forget) }

// A doubt is a range of rounds that were in flight when a connection died. Their
// acquires may be executed until the dead-peer time after the next admission.
type doubt struct {
	from, to uint64
	until    time.Time // zero until a new connection is admitted
}

// died notes that rounds from to to were in flight on a connection that ended.
func (l *ledger) died(from, to uint64) {
	l.doubts = append(l.doubts, doubt{from: from, to: to})
}

// admitted starts the dead-peer time of the doubts that wait for it.
func (l *ledger) admitted(now time.Time) {
	for i := range l.doubts {
		if l.doubts[i].until.IsZero() {
			l.doubts[i].until = now.Add(l.deadPeer)
		}
	}
}

// prune drops what has come to an end: doubts after the dead-peer time, debts whose
// keys have expired.
func (l *ledger) prune(now time.Time) {
	l.doubts = slices.DeleteFunc(l.doubts, func(d doubt) bool { return !d.until.IsZero() && !now.Before(d.until) })
	l.debts = slices.DeleteFunc(l.debts, func(d debt) bool { return d.forgotten(now) })
}

// owe notes a release that was not sent or not answered.
func (l *ledger) owe(q *Request, now time.Time) {
	d := debt{name: q.Name, token: q.Token, forget: now.Add(q.TTL)}
	if _, doubtful := l.doubtful(q.Round, now); doubtful || q.Round == 0 {
		d.forget = time.Time{}
	}
	l.debts = append(l.debts, d)
}

// sent notes a release that was answered; if the acquire that it undoes may still
// be waiting in a dead connection, it is owed once more.
func (l *ledger) sent(q *Request, now time.Time) {
	if len(l.doubts) == 0 {
		return
	}
	if until, doubtful := l.doubtful(q.Round, now); doubtful && !until.IsZero() {
		l.debts = append(l.debts, debt{name: q.Name, token: q.Token, due: until, second: true})
	}
}

func (l *ledger) doubtful(round uint64, now time.Time) (until time.Time, yes bool) {
	for _, d := range l.doubts {
		if d.from <= round && round <= d.to && (d.until.IsZero() || now.Before(d.until)) {
			return d.until, true
		}
	}
	return time.Time{}, false
}

// isDue reports whether take would find something.
func (l *ledger) isDue(now time.Time) bool {
	return slices.ContainsFunc(l.debts, func(d debt) bool { return !d.forgotten(now) && !now.Before(d.due) })
}

// take removes up to most debts that are due, and drops those that are to be forgotten.
func (l *ledger) take(now time.Time, most int) (due []debt) {
	keep := l.debts[:0]
	for _, d := range l.debts {
		switch {
		case d.forgotten(now):
		case len(due) < most && !now.Before(d.due):
			due = append(due, d)
		default:
			keep = append(keep, d)
		}
	}
	clear(l.debts[len(keep):])
	l.debts = keep
	return due
}

// paid books debts that were answered: each first payment is followed by a second.
func (l *ledger) paid(debts []debt, now time.Time) {
	for _, d := range debts {
		if !d.second {
			d.second, d.due, d.forget = true, now.Add(l.deadPeer), time.Time{}
			l.debts = append(l.debts, d)
		}
	}
}

// unpaid puts debts back that could not be sent; they start over.
func (l *ledger) unpaid(debts []debt) {
	for _, d := range debts {
		d.due, d.second = time.Time{}, false
		l.debts = append(l.debts, d)
	}
}
