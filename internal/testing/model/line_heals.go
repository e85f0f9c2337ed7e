package model

// This file has how holders of lineModel heal: they acquire again where they lack the key.

// heals has a holder heal at any master that votes and lacks the key, at any time, whatever its extends were answered.
func (x *lineSearch) heals(a int) {
	m, s := x.m, &x.state
	if !m.Heals {
		return
	}
	for i := range masters {
		c := &s.columns[i]
		if c.asks[a].heal || c.lock.owner == m.owner(a) || !m.votes(s, c) && m.Fault != healsInTheWait {
			continue
		}
		t := *s
		t.columns[i].asks[a].heal = true
		x.goes(&t, step{"heals", int8(a), int8(i), 0})
	}
}

// heal executes a heal, which proposes the token of its lease. It is no vote, and takes a free key whoever is in line.
func (x *lineSearch) heal(a, i int) {
	m, t := x.m, x.state
	c := &t.columns[i]
	c.asks[a].heal = false
	if c.lock.owner == 0 && (!m.Fencing || c.mark != 0) {
		c.lock = lock{m.owner(a), t.now + m.TTL}
		if m.Fencing {
			c.register = max(c.register+1, t.attempts[a].token)
		}
	}
	x.goes(&t, step{"is healed, if it is free", int8(a), int8(i), 0})
}
