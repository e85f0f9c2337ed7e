package model

// This file has how holders of severalModel heal: they acquire each key by itself again where they may lack it.

// heals has a holder heal at any master that votes and lacks a key, at any time, whatever its extends were answered.
func (x *severalSearch) heals(a int) {
	m, s := x.m, &x.state
	if !m.Heals {
		return
	}
	for i := range masters {
		c := &s.columns[i]
		for key := range s.attempts[a].has.all {
			if c.asks[a].heals[key] != nowhere || c.locks[key].owner == m.owner(a) || !m.votes(s, c) && m.Fault != keyHealsWhereNoVote {
				continue
			}
			t := *s
			p := &t.columns[i].asks[a].heals[key]
			if *p = sent; m.Unsent {
				*p = unsent
			}
			x.goes(&t, step{"heals " + string(rune('a'+key)), int8(a), int8(i), 0})
		}
	}
}

// heal executes the heals of an attempt, or sends those that wait. A heal is no vote.
func (x *severalSearch) heal(a, i int) {
	m, s := x.m, &x.state
	for key, p := range s.columns[i].asks[a].heals {
		t := *s
		c := &t.columns[i]
		q := &c.asks[a]
		switch {
		case p == nowhere, !q.acquire.isOvertaken(m.Cuts), p == unsent && !m.votes(s, c):
			continue
		case p == unsent:
			q.heals[key] = sent
			x.goes(&t, step{"sends the heal of " + string(rune('a'+key)), int8(a), int8(i), 0})
			continue
		case p == astray:
			q.released &^= 1 << key // its owner repeats the release
		}
		q.heals[key] = nowhere
		free := c.of(0) & (1 << key)
		if m.Fault == slotHealsAsAsked {
			free = m.grants(&t.attempts[a], c.of(0))
		}
		for key := range free.all {
			c.locks[key] = lock{m.owner(a), m.after(s.now, m.TTL)}
		}
		x.goes(&t, step{"is healed, if it is free: " + string(rune('a'+key)), int8(a), int8(i), 0})
	}
}
