package model

import (
	"math/bits"

	"muxlock/internal/fencing"
)

// steps finds all possible next steps.
func (x *search) steps() {
	m, s := x.m, &x.state
	for a := range m.Attempts {
		x.attempt(a)
		for i := range m.masters() {
			x.deliver(a, i)
		}
	}
	for client := range m.Clients {
		x.client(client)
	}
	for operator := range m.Operations {
		x.operator(operator)
	}
	x.faults()
	if s.now < m.Horizon {
		t := *s
		t.now++
		for i := range m.masters() {
			for name := range t.columns[i].locks {
				t.columns[i].locks[name].expire(t.now)
			}
		}
		x.goes(&t, step{"time passes", -1, -1, 0})
	}
}

// mayBegin reports whether an attempt may begin. Attempts that are alike begin in order, which saves states.
func (m *Model) mayBegin(s *state, a int) bool {
	if m.set(s, a) == noSet {
		return false
	}
	if m.Fault == ValueReuse && a == 1 {
		return s.attempts[0].phase == ended
	}
	return a == 0 || m.Replace || m.Names > 1 || s.attempts[a-1].phase != idle
}

// attempt takes the steps of a client.
func (x *search) attempt(a int) {
	m, s, by := x.m, &x.state, int8(a)
	at := &s.attempts[a]
	valid := !m.timed() || s.now < at.since+m.TTL
	switch {
	case at.phase == idle && m.mayBegin(s, a):
		for _, hint := range append(m.Hints, 0) {
			t := *s
			t.attempts[a] = attempt{phase: asking, hint: hint, since: s.now, floor: largest(s.counted[m.name(a)])}
			for i := range m.masters() {
				if c := &t.columns[i]; x.votes(c, m.client(a)) {
					c.asks[a].sent = true
				}
			}
			x.goes(&t, step{"acquires", by, -1, 0})
		}
	case at.phase == asking && valid:
		x.decide(a)
	case at.phase == raising && (m.Fault == HealBeforeCount || m.Fault == HealIsGrant):
		x.heals(a)
	}
	switch {
	case at.phase == raising && valid && x.storedByQuorum(a):
		t := *s
		m.counts(&t, a)
		x.goes(&t, step{"has it", by, -1, 0})
	case at.phase == held && m.timed() && s.now < at.until:
		x.hold(a)
	}
	// With operators, leases only expire: releases would make too many states.
	if m.timed() && len(m.Operations) == 0 && at.phase != idle && at.phase != ended {
		t := *s
		t.attempts[a].phase = ended
		x.goes(&t, step{"releases, or gives up", by, -1, 0})
	}
}

// decide fixes the token, once for each quorum of the grants: the other grants are lost or too late.
func (x *search) decide(a int) {
	m, s := x.m, &x.state
	all := where(s.columns[:m.masters()], func(c *column) bool { return c.asks[a].grant > 0 })
	for seen := all; seen > 0; seen = (seen - 1) & all {
		if bits.OnesCount8(seen) < m.quorum() {
			continue
		}
		var grants [maxMasters]uint64
		for i := range m.masters() {
			if seen&(1<<i) != 0 {
				grants[i] = uint64(s.columns[i].asks[a].grant)
			}
		}
		t := *s
		at := &t.attempts[a]
		token, granted, stored := fencing.Decide(grants[:m.masters()])
		at.token = uint8(token)
		if m.Fault == NoRaise || fencing.Counts(granted, stored, 0, m.quorum()) {
			m.counts(&t, a)
		} else {
			at.phase = raising
		}
		for i := range m.masters() {
			c := &t.columns[i]
			c.asks[a].granted, c.asks[a].stored = granted&(1<<i) != 0, stored&(1<<i) != 0
			if at.phase == raising {
				x.send(&t, a, c)
			}
		}
		x.goes(&t, step{"decides by", int8(a), -1, seen})
	}
}

// send sends a master an extend, which also raises its register.
func (x *search) send(t *state, a int, c *column) {
	client := t.attempts[a].client(x.m, a)
	if x.m.member(client, c) && x.connected(c, client) {
		c.asks[a].extend = underWay
	}
}

// storedByQuorum reports whether the token counts.
func (x *search) storedByQuorum(a int) bool {
	m := x.m
	columns := x.state.columns[:m.masters()]
	late := where(columns, func(c *column) bool { return c.asks[a].grant > 0 && m.Fault == LateGrantCounts })
	granted := where(columns, func(c *column) bool { return c.asks[a].granted })
	stored := where(columns, func(c *column) bool { return c.asks[a].stored }) | late&^granted
	raised := where(columns, func(c *column) bool { return c.asks[a].extend == acknowledged })
	granted |= late
	if m.Fault == AmongIgnored {
		granted = 1<<m.masters() - 1
	}
	return fencing.Counts(uint64(granted), uint64(stored), uint64(raised), m.quorum())
}

// hold takes the steps of a holder: extend, adopt, hand over.
func (x *search) hold(a int) {
	m, s, by := x.m, &x.state, int8(a)
	at := &s.attempts[a]
	x.heals(a)
	if !at.extending && at.extended < m.Extensions {
		t := *s
		t.attempts[a].extending, t.attempts[a].extendedSince = true, s.now
		for i := range m.masters() {
			t.columns[i].asks[a].extend = notSent
			x.send(&t, a, &t.columns[i])
		}
		x.goes(&t, step{"extends", by, -1, 0})
	}
	if at.extending {
		acks := where(s.columns[:m.masters()], func(c *column) bool { return c.asks[a].extend == acknowledged })
		if bits.OnesCount8(acks) >= m.quorum() {
			t := *s
			with := &t.attempts[a]
			with.until, with.extending, with.extended = max(with.until, with.extendedSince+m.TTL), false, at.extended+1
			x.goes(&t, step{"is extended", by, -1, 0})
		}
	}
	if m.Adopts && !at.adopted && !at.extending && a == 0 {
		t := *s
		t.attempts[a].adopted = true
		for i := range m.masters() {
			t.columns[i].asks[a].extend = notSent
		}
		x.goes(&t, step{"is adopted", by, -1, 0})
	}
	if at.handOvers < m.HandOvers {
		t := *s
		t.attempts[a].handOvers++
		m.takes(&t, a)
		x.goes(&t, step{"hands over", by, -1, 0})
	}
}

// deliver executes the messages that an attempt has under way to a master.
func (x *search) deliver(a, i int) {
	m, s, by, on := x.m, &x.state, int8(a), int8(i)
	at, c := &s.attempts[a], &s.columns[i]
	set, client, name, owner, until := m.set(s, a), at.client(m, a), m.name(a), m.owner(a), s.now+m.TTL
	if c.asks[a].sent {
		t := *s
		c := &t.columns[i]
		q := &c.asks[a]
		q.sent = false
		if m.Fault == AcquireIgnoresSet {
			set = c.set
		}
		there := c.mark
		what := "is refused"
		if token, granted, _ := x.acquire(c, set, name, owner, at.hint, until); granted {
			what = "is granted, and does not count"
			if x.counts(c, client, there) {
				what = "is granted"
				if q.grant == 0 {
					q.grant = token
				}
			}
		}
		x.goes(&t, step{what, by, on, 0})
		if m.Duplicate == acquires && !s.repeated {
			q.sent, t.repeated = true, true
			x.goes(&t, step{what + ", and will be asked again", by, on, 0})
		}
	}
	if c.asks[a].heal {
		x.heal(a, i, set)
	}
	if e := c.asks[a].extend; e == underWay || e == acknowledged && m.Duplicate == extends && !s.repeated {
		t := *s
		t.repeated = e == acknowledged
		c := &t.columns[i]
		token := at.token
		if at.adopted {
			token = 0
		}
		there := c.mark
		ours, counts := x.extend(c, set, name, owner, token, until), x.counts(c, client, there) || m.Fault == PlainExtend || m.Fault == HealWithoutMark
		if !ours && m.Fault == UnconditionalRaise {
			c.register, ours = max(c.register, at.token), true
		}
		if ours && counts {
			c.asks[a].extend = acknowledged
		} else if e == underWay {
			c.asks[a].extend = notSent
		}
		x.goes(&t, step{"extends or raises", by, on, 0})
	}
	if at.phase == ended && (c.locks[name].owner == owner || m.Fault == ReleaseAnothers && c.locks[name].owner != 0) {
		t := *s
		t.columns[i].release(name, c.locks[name].owner)
		x.goes(&t, step{"is released", by, on, 0})
	}
}

// acquire is the master's acquire, without the rule that Fault leaves out.
func (x *search) acquire(c *column, set uint8, name int, owner, hint, until uint8) (token uint8, granted, member bool) {
	there := c.mark
	switch {
	case x.m.Fault == MissingIsZero && !c.registers, x.m.Fault == AcquireIgnoresAll:
		c.registers = true
	}
	if x.m.Fault == AcquireIgnoresAll {
		set, c.mark = c.set, mark{nonce: 1}
	}
	token, granted, member = c.acquire(set, name, owner, hint, until)
	c.mark = there
	return token, granted, member
}

func (x *search) extend(c *column, set uint8, name int, owner, token, until uint8) (ours bool) {
	there := c.data
	switch x.m.Fault {
	case ExtendIgnoresSet:
		set = c.set
	case PlainExtend, HealWithoutMark:
		set, token, c.mark = c.set, 0, mark{nonce: 1}
	}
	ours, _ = c.extend(set, name, owner, token, until)
	c.mark = there.mark
	return ours
}

// counts reports whether a client believes an answer with a mark.
func (x *search) counts(c *column, client int, with mark) bool {
	if x.m.Clients == 0 || x.m.Fault == AcquireIgnoresAll {
		return true
	}
	a := &x.admissions[c.views[client].admission]
	if x.m.Fault == AnyAdmission {
		return a.Admitted() && with.nonce != 0
	}
	return a.Counts(x.textOf(c, with))
}
