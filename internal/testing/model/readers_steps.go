package model

import (
	"math/bits"

	"muxlock/internal/fencing"
)

// steps finds all possible next steps.
func (x *readersSearch) steps() {
	m, s := x.m, &x.state
	for a := range m.Claims {
		x.attempt(a)
		for i := range masters {
			x.deliver(a, i)
		}
	}
	x.restarts()
	if s.now < m.Horizon {
		t := *s
		t.now++
		for i := range masters {
			t.columns[i].expire(t.now)
		}
		x.goes(&t, step{"time passes", -1, -1, 0})
	}
}

// attempt takes the steps of a client.
func (x *readersSearch) attempt(a int) {
	m, s, by := x.m, &x.state, int8(a)
	at := &s.attempts[a]
	switch at.phase {
	case idle:
		if m.mayBegin(s, a) {
			x.asks(a)
		}
		return
	case asking:
		x.decide(a)
	case raising:
		if x.storedByQuorum(a) {
			t := *s
			m.takes(&t, a)
			x.goes(&t, step{"has it", by, -1, 0})
		}
	case held:
		x.hold(a)
	case ended:
		if m.Fault == healIsRepeated {
			x.heals(a)
		}
		return
	}
	t := *s
	if t.attempts[a].readers > 1 {
		t.attempts[a].readers--
		x.goes(&t, step{"leaves the lease to another reader", by, -1, 0})
		return
	}
	t.attempts[a].ends()
	x.goes(&t, step{"releases, or gives up", by, -1, 0})
}

// mayBegin reports whether an attempt may begin. Attempts that are alike begin in order, which saves states.
func (m *readersModel) mayBegin(s *readersState, a int) bool {
	for b := range a {
		if m.Claims[b] == m.Claims[a] && s.attempts[b].phase == idle {
			return false
		}
	}
	return true
}

// asks asks the masters that vote.
func (x *readersSearch) asks(a int) {
	m, t := x.m, x.state
	t.attempts[a].phase, t.attempts[a].since = asking, t.now
	for i := range masters {
		if m.votes(&t, a, &t.columns[i]) {
			c := &t.columns[i]
			c.asks[a].acquire = sent
		}
	}
	x.goes(&t, step{"asks", int8(a), -1, 0})
}

// decide has an attempt hold, or raise the registers first, if a quorum has granted. With fences it decides once for each
// quorum of the grants: the other grants are lost or too late.
func (x *readersSearch) decide(a int) {
	m, s := x.m, &x.state
	all := where(s.columns[:], func(c *readersColumn) bool { return c.asks[a].granted })
	for seen := all; seen > 0; seen = (seen - 1) & all {
		if bits.OnesCount8(seen) < m.quorum(a) {
			continue
		}
		t := *s
		at := &t.attempts[a]
		at.until, at.since = m.after(at.since, a), 0
		if !m.Fencing || x.fenced(&t, a, seen) {
			m.takes(&t, a)
		}
		x.goes(&t, step{"decides by", int8(a), -1, seen})
		if !m.Fencing {
			return
		}
	}
}

// fenced decides the fence of a writer, and reports whether a quorum has it. If not, it sends raises.
func (x *readersSearch) fenced(t *readersState, a int, seen uint8) (stored bool) {
	m, at := x.m, &t.attempts[a]
	if m.Claims[a].reads && m.Fault != readersHaveFences {
		return true
	}
	var grants [masters]uint64
	for i := range masters {
		if seen&(1<<i) != 0 {
			grants[i] = uint64(t.columns[i].asks[a].fence)
		}
	}
	token, granted, with := fencing.Decide(grants[:])
	at.token = uint8(token)
	if m.Claims[a].reads || fencing.Counts(granted, with, 0, m.quorum(a)) {
		return true
	}
	at.phase = raising
	for i := range masters {
		q := &t.columns[i].asks[a]
		q.decided, q.stored, q.extend = granted&(1<<i) != 0, with&(1<<i) != 0, underWay
	}
	return false
}

// storedByQuorum reports whether the fence of a raising writer counts.
func (x *readersSearch) storedByQuorum(a int) bool {
	columns := x.state.columns[:]
	granted := where(columns, func(c *readersColumn) bool { return c.asks[a].decided })
	stored := where(columns, func(c *readersColumn) bool { return c.asks[a].stored })
	raised := where(columns, func(c *readersColumn) bool { return c.asks[a].extend == acknowledged })
	return fencing.Counts(uint64(granted), uint64(stored), uint64(raised), x.m.quorum(a))
}

// takes notes that an attempt holds, and checks that its fence is larger than the last holder's.
func (m *readersModel) takes(t *readersState, a int) {
	at := &t.attempts[a]
	at.phase = held
	t.held |= 1 << a
	if m.Claims[a].reads {
		at.readers = 1
	} else {
		at.writers = 1
		t.broken.notes(m.Only, fenceNotLarger, m.Fencing && at.token <= t.last)
	}
	t.last = max(t.last, at.token)
}

// hold takes the steps of a holder: extend, let another reader of the process join.
func (x *readersSearch) hold(a int) {
	m, s, by := x.m, &x.state, int8(a)
	at := &s.attempts[a]
	if m.Extends && at.extended == 0 {
		t := *s
		t.attempts[a].extended = 1 + s.now
		for i := range masters {
			t.columns[i].asks[a].extend = underWay
		}
		x.goes(&t, step{"extends", by, -1, 0})
	}
	acks := where(s.columns[:], func(c *readersColumn) bool { return c.asks[a].extend == acknowledged })
	if at.extended != 0 && bits.OnesCount8(acks) >= m.quorum(a) {
		t := *s
		t.attempts[a].until = m.after(at.extended-1, a)
		if at.over {
			t.broken.notes(m.Only, heldAgain, t.attempts[a].until > s.now)
			t.broken.notes(m.Only, fenceNotLarger, t.attempts[a].until > s.now && at.token < t.last)
		}
		x.goes(&t, step{"is extended", by, -1, 0})
	}
	x.heals(a)
	if at.readers != 1 {
		return
	}
	t := *s
	with := &t.attempts[a]
	if with.readers = 2; m.Joins {
		x.goes(&t, step{"is joined by a reader", by, -1, 0})
	}
	if with.readers, with.writers = 0, 1; m.Fault == readerHandsOver {
		x.goes(&t, step{"hands over to a writer", by, -1, 0})
	}
}
