package model

import "math/bits"

// steps finds all possible next steps.
func (x *severalSearch) steps() {
	m, s := x.m, &x.state
	for a := range m.Sets {
		x.attempt(a)
		for i := range m.Masters {
			x.deliver(a, i)
		}
	}
	x.restarts()
	if s.now < m.Horizon {
		t := *s
		t.now++
		for i := range m.Masters {
			for name := range t.columns[i].locks {
				if l := &t.columns[i].locks[name]; l.until <= t.now {
					*l = lock{}
				}
			}
		}
		x.goes(&t, step{"time passes", -1, -1, 0})
	}
}

// attempt takes the steps of a client.
func (x *severalSearch) attempt(a int) {
	m, s, by := x.m, &x.state, int8(a)
	at := &s.attempts[a]
	switch at.phase {
	case idle:
		if !m.mayBegin(s, a) {
			return
		}
		t := *s
		t.attempts[a].phase = asking
		m.asks(&t, a, m.Sets[a])
		x.goes(&t, step{"asks", by, -1, 0})
		return
	case asking:
		x.decide(a)
	case held:
		x.hold(a)
	case ended:
		return
	}
	t := *s
	t.attempts[a].ends()
	x.goes(&t, step{"releases, or gives up", by, -1, 0})
}

// mayBegin reports whether an attempt may begin. Attempts that are alike begin in order, which saves states.
func (m *severalModel) mayBegin(s *severalState, a int) bool {
	if m.Fault == tokensAreReused && a == 1 {
		return s.attempts[0].phase == ended
	}
	for b := range a {
		if m.Sets[b] == m.Sets[a] && s.attempts[b].phase == idle {
			return false
		}
	}
	return true
}

// votes reports whether clients ask a master for locks.
func (m *severalModel) votes(s *severalState, c *severalColumn) bool {
	return s.now >= c.votesFrom || m.Fault == restartedVotes
}

// asks asks the masters that vote for some names: those of a set.
func (m *severalModel) asks(t *severalState, a int, some nameSet) {
	if m.Fault == oneByOne {
		some &= -some
	}
	t.attempts[a].asked, t.attempts[a].since = some, t.now
	for i := range m.Masters {
		c := &t.columns[i]
		q := &c.asks[a]
		*q = severalAsk{}
		switch {
		case !m.votes(t, c):
		case m.Unsent:
			q.acquire = unsent
		default:
			q.acquire = sent
		}
	}
}

// decide has an attempt take its set if a quorum has granted it.
func (x *severalSearch) decide(a int) {
	m, s := x.m, &x.state
	granted := where(s.columns[:m.Masters], func(c *severalColumn) bool { return c.asks[a].granted })
	if bits.OnesCount8(granted) < m.quorum() {
		return
	}
	t := *s
	at := &t.attempts[a]
	if rest := m.Sets[a] >> bits.Len8(uint8(at.asked)) << bits.Len8(uint8(at.asked)); rest != 0 { // with oneByOne
		m.asks(&t, a, rest)
		x.goes(&t, step{"asks for the next name", int8(a), -1, granted})
		return
	}
	at.phase = held
	t.held |= 1 << a
	for name := range m.Sets[a].all {
		at.until[name] = m.after(at.since, m.TTL)
	}
	at.since = 0
	t.broken.notes(m.Only, half, m.standing(&t, a, m.Sets[a]) < m.quorum())
	x.goes(&t, step{"has all by", int8(a), -1, granted})
}

// hold takes the steps of a holder that extends.
func (x *severalSearch) hold(a int) {
	m, s, by := x.m, &x.state, int8(a)
	at := &s.attempts[a]
	if m.Extends && at.extended == 0 {
		t := *s
		t.attempts[a].extended = 1 + s.now
		for i := range m.Masters {
			for name := range m.Sets[a].all {
				t.columns[i].asks[a].extends[name] = underWay
			}
		}
		x.goes(&t, step{"extends", by, -1, 0})
	}
	for name := range m.Sets[a].all {
		acks := where(s.columns[:m.Masters], func(c *severalColumn) bool { return c.asks[a].extends[name] == acknowledged })
		if bits.OnesCount8(acks) >= m.quorum() {
			t := *s
			t.attempts[a].until[name] = m.after(at.extended-1, m.TTL)
			x.goes(&t, step{"is extended for " + string(rune('a'+name)), by, -1, 0})
		}
	}
}
