package model

// This file has how holders of Model heal: they acquire again where they lack the key. Package comment: Heals.

// heals has a holder heal at any master that votes and lacks the key, at any time, whatever its extends were answered.
func (x *search) heals(a int) {
	m, s := x.m, &x.state
	if !m.Heals {
		return
	}
	for i := range m.masters() {
		c := &s.columns[i]
		if c.asks[a].heal || c.locks[m.name(a)].owner == m.owner(a) || !x.votes(c, s.attempts[a].client(m, a)) {
			continue
		}
		t := *s
		t.columns[i].asks[a].heal = true
		x.goes(&t, step{"heals", int8(a), int8(i), 0})
	}
}

// heal executes a heal, which proposes the token of its lease. Its grant is no vote.
func (x *search) heal(a, i int, set uint8) {
	m, t := x.m, x.state
	c, at := &t.columns[i], &t.attempts[a]
	q, there := &c.asks[a], c.data
	if m.Fault == HealWithoutMark {
		set, c.mark, c.registers = c.set, mark{nonce: 1}, true
	}
	token, granted, _ := c.acquire(set, m.name(a), m.owner(a), max(at.token, 1)-1, t.now+m.TTL)
	c.mark, c.registers = there.mark, there.registers
	if q.heal = false; granted && m.Fault == HealIsGrant && at.phase == raising {
		q.granted, q.stored = true, token == at.token
	}
	x.goes(&t, step{"is healed, if it is free", int8(a), int8(i), 0})
}
