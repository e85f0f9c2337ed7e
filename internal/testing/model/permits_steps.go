package model

import (
	"math/bits"
	"strconv"
)

// steps finds all possible next steps.
func (x *permitsSearch) steps() {
	m, s := x.m, &x.state
	for a := range m.Attempts {
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
			for slot := range t.columns[i].locks {
				if l := &t.columns[i].locks[slot]; l.until <= t.now {
					*l = lock{}
				}
			}
		}
		x.goes(&t, step{"time passes", -1, -1, 0})
	}
}

// attempt takes the steps of a client. Attempts begin in order, which saves states: they are alike.
func (x *permitsSearch) attempt(a int) {
	s := &x.state
	at := &s.attempts[a]
	switch at.phase {
	case idle:
		if a == 0 || s.attempts[a-1].phase != idle {
			x.asks(a)
		}
		return
	case asking:
		x.decide(a)
	case ended:
		return
	}
	t := *s
	t.attempts[a] = permitsAttempt{phase: ended, order: at.order}
	x.goes(&t, step{"releases, or gives up", int8(a), -1, 0})
}

// votes reports whether clients ask a master for locks.
func (m *permitsModel) votes(s *permitsState, c *permitsColumn) bool {
	return s.now >= c.votesFrom || m.Fault == restartGrants
}

// asks asks the masters that vote, in one of the orders.
func (x *permitsSearch) asks(a int) {
	m := x.m
	for order := range m.Orders {
		t := x.state
		t.attempts[a] = permitsAttempt{phase: asking, order: uint8(order), since: t.now}
		for i := range m.Masters {
			c := &t.columns[i]
			switch q := &c.asks[a]; {
			case !m.votes(&t, c):
			case m.Unsent:
				q.acquire = unsent
			default:
				q.acquire = sent
			}
		}
		x.goes(&t, step{"asks", int8(a), -1, 0})
	}
}

// decide has an attempt take a slot that a quorum has granted.
func (x *permitsSearch) decide(a int) {
	m, s := x.m, &x.state
	var won slotSet
	for slot := range m.Slots {
		granted := where(s.columns[:m.Masters], func(c *permitsColumn) bool {
			some := c.asks[a].granted
			return some&(1<<slot) != 0 || some != 0 && (m.Fault == anySlotVotes || m.Fault == countsUnits)
		})
		if bits.OnesCount8(granted) < m.quorum() {
			continue
		}
		won |= 1 << slot
		t := *s
		at := &t.attempts[a]
		*at = permitsAttempt{phase: held, order: at.order, slot: uint8(slot), until: m.after(at.since, m.TTL)}
		if m.Fault == fromCompletion {
			at.until = m.after(s.now, m.TTL)
		}
		t.held |= 1 << a
		for i := range m.Masters {
			if c := &t.columns[i]; m.Fault == surplusStays {
				c.asks[a].released |= c.of(a) &^ (1 << slot)
			}
		}
		t.broken.notes(m.Only, half, m.standing(&t, a) < m.quorum())
		t.broken.notes(m.Only, wonTwice, won&(won-1) != 0 && m.Fault != anySlotVotes && m.Fault != countsUnits)
		x.goes(&t, step{"wins slot " + strconv.Itoa(slot), int8(a), -1, granted})
	}
}
