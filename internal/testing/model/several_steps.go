package model

import "math/bits"

// steps finds all possible next steps.
func (x *severalSearch) steps() {
	m, s := x.m, &x.state
	for a := range m.Sets {
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
			for key := range t.columns[i].locks {
				t.columns[i].locks[key].expire(t.now)
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
		for order := range max(len(m.Orders), 1) {
			t := *s
			t.attempts[a].phase, t.attempts[a].order = asking, uint8(order)
			m.asks(&t, a, m.Sets[a])
			x.goes(&t, step{"asks", by, -1, 0})
		}
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
	return s.now >= c.votesFrom || m.Fault == restartVotesAtOnce
}

// asks asks the masters that vote for some keys.
func (m *severalModel) asks(t *severalState, a int, some keySet) {
	if m.Fault == oneByOne {
		some &= -some
	}
	t.attempts[a].asked, t.attempts[a].since = some, t.now
	for i := range masters {
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

// decide has an attempt take its set, or a slot, if a quorum has granted it.
func (x *severalSearch) decide(a int) {
	m, s := x.m, &x.state
	granted := where(s.columns[:], func(c *severalColumn) bool { return c.asks[a].granted != 0 })
	if bits.OnesCount8(granted) < m.quorum() {
		return
	}
	asked := uint8(s.attempts[a].asked)
	rest := m.Sets[a] >> bits.Len8(asked) << bits.Len8(asked) // nothing but with oneByOne
	switch {
	case m.Orders != nil:
		x.choose(a, granted)
	case rest != 0:
		t := *s
		m.asks(&t, a, rest)
		x.goes(&t, step{"asks for the next name", int8(a), -1, granted})
	default:
		x.takes(a, m.Sets[a], granted, false)
	}
}

// choose has an attempt take a slot that a quorum has granted. granted are the masters that have granted any slot.
func (x *severalSearch) choose(a int, granted uint8) {
	m := x.m
	anySlot := m.Fault == anySlotVotes || m.Fault == countsUnits
	won := 0
	for slot := range m.Sets[a].all {
		votes := granted
		if !anySlot {
			votes = where(x.state.columns[:], func(c *severalColumn) bool { return c.asks[a].granted&(1<<slot) != 0 })
		}
		if bits.OnesCount8(votes) >= m.quorum() {
			won++
			x.takes(a, 1<<slot, votes, won > 1 && !anySlot)
		}
	}
}

// takes has an attempt hold some keys. twice says that the attempt has won other keys, too.
func (x *severalSearch) takes(a int, some keySet, votes uint8, twice bool) {
	m, t := x.m, x.state
	at := &t.attempts[a]
	from := at.since
	if m.Fault == fromCompletion {
		from = t.now
	}
	at.phase, at.has, at.since = held, some, 0
	t.held |= 1 << a
	for key := range some.all {
		at.until[key] = m.after(from, m.TTL)
	}
	for i := range masters {
		if c := &t.columns[i]; m.Fault == surplusStays {
			c.asks[a].released |= c.of(m.owner(a)) &^ some
		}
	}
	t.broken.notes(m.Only, half, m.standing(&t, a, some) < m.quorum())
	t.broken.notes(m.Only, wonTwice, twice)
	x.goes(&t, step{"wins by", int8(a), -1, votes})
}

// hold takes the steps of a holder that extends.
func (x *severalSearch) hold(a int) {
	m, s, by := x.m, &x.state, int8(a)
	at := &s.attempts[a]
	if m.Extends && at.extended == 0 {
		t := *s
		t.attempts[a].extended = 1 + s.now
		for i := range masters {
			for key := range at.has.all {
				t.columns[i].asks[a].extends[key] = underWay
			}
		}
		x.goes(&t, step{"extends", by, -1, 0})
	}
	x.heals(a)
	for key := range at.has.all {
		acks := where(s.columns[:], func(c *severalColumn) bool { return c.asks[a].extends[key] == acknowledged })
		if bits.OnesCount8(acks) >= m.quorum() {
			t := *s
			t.attempts[a].until[key] = m.after(at.extended-1, m.TTL)
			x.goes(&t, step{"is extended for " + string(rune('a'+key)), by, -1, 0})
		}
	}
}
