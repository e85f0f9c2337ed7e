package pipeline

import (
	"cmp"
	"slices"
	"time"

	"muxlock/pipeline/internal/conn"
)

// An outbox has the parts that wait for room at the master; guarded by Pipeline.mu.
type outbox struct {
	unsent     []part // oldest first; the first may have been sent in part
	backlog    int    // requests in unsent
	compacting bool   // run has taken unsent to compact it
}

// takeLocked sends a round to the master, now or when there is room. A master that must wait before
// it votes is sent no acquires, but all releases: a release that finds no key does no harm. It may confirm an extend. That it
// has not the key is no refusal: it has lost its data, and learns of no lock before it votes. With
// fencing it is sent nothing else: no answer would count, and one to a reader would end the connection.
// Nor is a master of another set: its answer must not count.
func (m *master) takeLocked(r *round, now time.Time) {
	channel := ""
	if r.lined && m.able {
		channel = m.channel
	}
	cause := m.notVoting(now)
	p := part{r: r, Load: r.in(m.dialectLocked(r), channel, m.p.set.Description()), waits: cause}
	if cause != nil || r.lined && !m.able || r.intends && m.noReaders != nil || r.heals {
		p = p.without(m, func(q *Request) error {
			switch {
			case q.Heal && q.Among&(1<<m.index) == 0:
				return errNotAmong
			case cause != nil && (q.Op.Takes() || (p.r.fenced || m.member.foreign != nil) && !q.Op.Ends()):
				return cause
			case q.Op == Wait && !m.able:
				return cmp.Or(m.why, errNoLine)
			case q.Op == Intend:
				return m.noReaders // nil: they are allowed
			}
			return nil
		})
	}
	m.unsent = append(m.unsent, p)
	m.backlog += len(p.Entries)
	m.sendUnsentLocked(now)
}

// dialectLocked returns the dialect in which the master is sent a round.
func (m *master) dialectLocked(r *round) conn.Dialect {
	if m.dialect&conn.Msetex != 0 && !r.fenced && r.plain >= conn.FoldFrom && !m.optimism.takes() {
		return m.dialect &^ conn.Msetex
	}
	return m.dialect
}

// in returns the round in a dialect, encoded once for all masters that use it. Each channel belongs to one master. The caller
// holds Pipeline.mu.
func (r *round) in(d conn.Dialect, channel, set string) *conn.Load {
	for _, l := range r.loads {
		if l.Dialect == d && l.Channel == channel {
			return l
		}
	}
	n := len(r.loads)
	r.loads = slices.Grow(r.loads, 1)[:n+1]
	if r.loads[n] == nil {
		r.loads[n] = new(conn.Load)
	}
	l := r.loads[n]
	l.Entries, l.Dialect, l.Channel = r.entries, d, channel
	l.Seal(set)
	return l
}

// waitLocked puts a part in front of all waiting parts.
func (m *master) waitLocked(p part) {
	m.unsent = slices.Insert(m.unsent, 0, p)
	m.backlog += len(p.Entries)
}

// compactLocked compacts all waiting parts, without the mutex meanwhile.
func (m *master) compactLocked() {
	unsent := m.unsent
	m.unsent, m.compacting = nil, true
	m.p.mu.Unlock()
	rest, spared := compact(m, unsent)
	m.p.mu.Lock()
	for registers := range slices.Chunk(spared, conn.FoldMax) {
		m.sendLocked(newRaising(m.p.set, registers), time.Now())
	}
	m.unsent, m.compacting = append(rest, m.unsent...), false
	m.backlog = 0
	for i := range m.unsent {
		m.backlog += m.unsent[i].unsent()
	}
}

// hasRoomLocked reports whether a round formed now would be sent at once.
func (m *master) hasRoomLocked() bool {
	return m.up && len(m.unsent) == 0 && !m.compacting && m.writes < m.window && m.onWire < m.budget
}

// sendUnsentLocked sends waiting commands in one write, as many as the pace allows.
func (m *master) sendUnsentLocked(now time.Time) {
	if m.compacting || m.writes >= m.window {
		return
	}
	writes := 1 // for the first flight
	for len(m.unsent) > 0 && m.onWire < m.budget {
		p := &m.unsent[0]
		end, requests := p.fit(m.budget - m.onWire)
		f := flight{part: *p, first: p.next, end: end, last: end == len(p.Commands), requests: requests, sent: now, writes: writes}
		p.next = end
		m.backlog -= requests
		if f.last {
			m.unsent = slices.Delete(m.unsent, 0, 1)
		}
		if f.first == f.end {
			f.part.r.leave() // all of it is obsolete
			continue
		}
		m.checkLocked(now, tickPeriod) // its answer vouches for the requests that follow
		m.writes += writes
		writes = 0
		m.addFlightLocked(f, f.part.BytesOf(f.first, f.end))
	}
	if m.behind && len(m.unsent) == 0 {
		m.behind = false
		m.pending.TakeIn()
		m.sendPendingLocked(now)
	}
}

// sendLocked sends maintenance, behind all flights.
func (m *master) sendLocked(e *maintenance, now time.Time) {
	m.addFlightLocked(flight{maintenance: e, requests: e.requests, sent: now}, e.Bytes())
}

func (m *master) addFlightLocked(f flight, bytes []byte) {
	f.ahead = m.onWire
	m.flights = append(m.flights, f)
	m.onWire += f.requests
	m.out = append(m.out, bytes)
	m.unclaimed++
	m.p.toWrite |= 1 << m.index
}
