package pipeline

import (
	"time"

	"muxlock/pipeline/internal/conn"
)

// setAside ends the master's part in rounds, until a probe admits it again.
func (m *master) setAside(cause error) {
	p, s := m.p, m.session
	p.mu.Lock()
	m.up, m.cause, m.resting = false, cause, m.endedIdleLocked(cause)
	if !m.resting {
		m.stats.SetAside++
	}
	p.up--
	lost := m.flights
	for _, w := range m.unsent { // a flight that was never sent
		lost = append(lost, flight{part: w, first: w.next, end: len(w.Commands), last: true})
	}
	m.inFlight, m.outbox, m.out = inFlight{}, outbox{}, nil
	m.member.busy = false
	m.hearing = hearing{}
	m.setHearingLocked(false, nil)
	now := time.Now()
	m.noteInDoubtLocked(lost)
	for i := range lost {
		switch f := &lost[i]; {
		case f.maintenance == nil:
			f.part.releases(f.first, f.end, func(q *Request) {
				if !f.sent.IsZero() || m.pending.MustRelease(q.Origin) {
					m.pending.Add(q, now)
				}
			})
		case f.maintenance.lostLocked != nil:
			f.maintenance.lostLocked()
		}
	}
	m.behind = false
	p.formLocked()
	p.unlockAndWrite()

	for i := range lost {
		if f := &lost[i]; f.maintenance == nil {
			f.part.fail(m, f.first, f.end, cause)
		}
	}
	s.Close()
	p.mu.Lock()
	for m.writing { // the bytes being written belong to the rounds, although the connection has ended
		m.written.Wait()
	}
	m.session = nil
	for i := range lost {
		if f := &lost[i]; f.last {
			f.part.r.leave()
		}
	}
	p.mu.Unlock()
}

// noteInDoubtLocked notes the acquires that the end of the connection leaves in doubt, and the
// first round without the master.
func (m *master) noteInDoubtLocked(lost []flight) {
	var from, to uint64
	m.pending.LeaveOut(m.p.seq + 1)
	for i := range lost {
		f := &lost[i]
		if f.maintenance != nil {
			continue
		}
		switch seq := f.part.r.seq; {
		case !f.sent.IsZero(), f.first > 0: // f.first > 0: earlier commands of the part were sent
			if from == 0 || seq < from {
				from = seq
			}
			to = max(to, seq)
		case f.part.untouched():
			m.pending.LeaveOut(seq)
		}
	}
	if to != 0 {
		m.pending.Died(from, to)
	}
}

// whyNotAskedLocked returns why the master is not asked in a round, and notes its pending releases;
// nil: it is asked.
func (m *master) whyNotAskedLocked(r *round, now time.Time) error {
	if m.up && !m.behind && m.backlog > maxBacklog {
		m.behind = true
		m.pending.LeaveOut(r.seq)
		m.stats.Behind++
	}
	switch {
	case !m.up:
		m.wakeLocked()
		m.skipRoundLocked(r, now)
		return m.cause
	case m.behind:
		m.skipRoundLocked(r, now)
		return errBehind
	}
	return nil
}

// skipRoundLocked notes the pending releases of a round that skips the master: releases of locks
// that the master may have. It has no lock that was acquired while rounds skipped it.
func (m *master) skipRoundLocked(r *round, now time.Time) {
	for i := range r.entries {
		if q := r.entries[i]; q.Op.Ends() && m.pending.MustRelease(q.Origin) {
			if m.behind {
				q.Origin = conn.OriginUnknown // the acquire may still be executed, however late
			}
			m.pending.Add(&q, now)
		}
	}
}
