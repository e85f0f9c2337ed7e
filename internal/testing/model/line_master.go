package model

// This file is what masters do, and what happens to them.

// deliver executes what an attempt has under way to a master: requests, and extends.
func (x *lineSearch) deliver(a, i int) {
	m, s, by, on := x.m, &x.state, int8(a), int8(i)
	q := &s.columns[i].asks[a]
	if q.join != 0 {
		t := *s
		t.columns[i].asks[a].join = 0
		x.wait(&t, a, i, q.join, true)
		if m.Fault == joinsTwice && !s.repeated {
			t := *s
			t.repeated = true
			x.wait(&t, a, i, q.join, true)
		}
	}
	if q.stay != 0 && q.join == 0 { // on one connection
		t := *s
		t.columns[i].asks[a].stay = 0
		x.wait(&t, a, i, q.stay, false)
	}
	if q.heal {
		x.heal(a, i)
	}
	if q.extend != underWay {
		return
	}
	t := *s
	c := &t.columns[i]
	at := &t.attempts[a]
	c.asks[a].extend = notSent
	if c.lock.owner == m.owner(a) && (!m.Fencing || c.mark == q.mark && c.mark != 0) {
		c.asks[a].extend = acknowledged
		c.register = max(c.register, at.token)
		if at.phase != raising { // a raise moves the expiry, too, but nobody relies on it
			c.lock.until = max(c.lock.until, s.now+m.TTL)
		}
	}
	x.goes(&t, step{"extends or raises", by, on, 0})
}

func (m *lineModel) owner(a int) uint8 { return uint8(a + 1) }

// wait is scripts/wait.lua.
func (x *lineSearch) wait(t *lineState, a, i int, version uint8, join bool) {
	m, by, on := x.m, int8(a), int8(i)
	c := &t.columns[i]
	q, e := &c.asks[a], &c.line[a]
	switch {
	case m.Fencing && c.mark == 0 && m.Fault != markIgnored:
		x.goes(t, step{"asks what is no member", by, on, 0})
		return
	case c.lock.owner == m.owner(a):
		if o := (offer{version, c.lock.until - t.now, 0, q.mark}); m.Fencing || t.attempts[a].ends(o) > max(q.seat.ends, t.attempts[a].ends(q.grant)) {
			q.more = o // else the answer tells nothing new
		}
		if m.Fencing {
			q.more.mark = c.mark
		}
		x.goes(t, step{"is told that it has the key", by, on, 0})
		return
	case e.version == 0 && !join:
		x.goes(t, step{"is told that it is not in line", by, on, 0})
		return
	}
	if c.lock.owner == 0 {
		u := *t
		u.columns[i].line[a] = lineEntry{}
		u.columns[i].grant(m, a, offer{version, m.TTL, 0, 0}, t.now)
		x.goes(&u, step{"is granted", by, on, 0})
	}
	if !m.plain(a) {
		*e = lineEntry{version: version, stamp: t.now}
	}
	x.goes(t, step{"stands in line", by, on, 0})
}

// grant sets the key to the token of attempt a. The fencing token is larger than the register.
func (c *lineColumn) grant(m *lineModel, a int, o offer, now uint8) {
	c.lock = lock{m.owner(a), now + o.lease}
	if m.Fencing {
		c.register = max(c.register+1, o.fence)
		o.fence, o.mark = c.register, c.mark
	}
	c.asks[a].grant = o
}

// pass is scripts/pass.lua, which releases, undoes and leaves.
func (x *lineSearch) pass(a, i int) {
	m, s, by, on := x.m, &x.state, int8(a), int8(i)
	at, c := &s.attempts[a], &s.columns[i]
	if at.phase != ended && !(at.phase == held && m.Fault == passesWhileHeld) && !(at.phase == asking && m.Fault == countsGivenBack) {
		return
	}
	ours := c.lock.owner == m.owner(a) || c.lock.owner != 0 && m.Fault == passIgnoresValue
	t := *s
	if t.columns[i].line[a] = (lineEntry{}); ours {
		t.columns[i].lock = lock{}
	}
	x.goes(&t, step{"is released", by, on, 0})
	if m.Fault == takesBack {
		for b := range m.Attempts {
			if b != a && c.lock.owner == m.owner(b) && c.asks[b].grant.version != 0 {
				t := *s
				t.columns[i].lock = lock{}
				x.goes(&t, step{"takes back what it passed", by, on, 0})
			}
		}
	}
	if !ours && c.lock.owner != 0 || m.Fencing && c.mark == 0 && m.Fault != markIgnored {
		return
	}
	for b := range m.Attempts {
		e := c.line[b]
		if b == a || e.version == 0 || e.version == staleVersion || e.dead && m.Fault != deadChannelsHear {
			continue
		}
		from, to := m.TTL, m.TTL
		if m.AnyLease > 0 {
			from, to = 1, m.AnyLease
		}
		for lease := from; lease <= to; lease++ {
			t := *s
			t.columns[i].line[a] = lineEntry{}
			t.columns[i].passTo(m, b, offer{e.version, lease, at.token + 1, 0}, s.now)
			x.goes(&t, step{"passes to " + string(rune('A'+b)), by, on, 0})
		}
	}
}

// passTo grants the key to a token in line.
func (c *lineColumn) passTo(m *lineModel, b int, o offer, now uint8) {
	c.line[b] = lineEntry{}
	before := *c
	switch c.grant(m, b, o, now); m.Fault {
	case publishesFirst:
		c.lock = lock{}
	case passRaisesNothing:
		c.register = before.register
	case fenceOfPasser:
		c.asks[b].grant.fence, c.register = o.fence, max(before.register, o.fence)
	}
}

// faults takes the steps in which masters fail.
func (x *lineSearch) faults() {
	m, s := x.m, &x.state
	for i := range masters {
		on := int8(i)
		if m.Vanish && s.columns[i].lock.owner != 0 {
			t := *s
			t.columns[i].lock = lock{}
			x.goes(&t, step{"lock vanishes", -1, on, 0})
		}
		happens := func(what string, so *uint8, most uint8, do func(t *lineState, c *lineColumn)) {
			x.happens(what, i, so, most, func(t *lineState) { do(t, &t.columns[i]) })
		}
		happens("restarts", &s.crashes, m.Crashes, func(t *lineState, c *lineColumn) {
			c.lineData = lineData{}
			c.restart(m, t.now)
		})
		happens("is saved", &s.saves, m.Rollbacks, func(_ *lineState, c *lineColumn) { c.saved = c.lineData })
		happens("restarts with what was saved", &s.rollbacks, m.Rollbacks, func(t *lineState, c *lineColumn) {
			c.lineData, c.saved = c.saved, lineData{}
			c.lock.expire(t.now)
			for b := range c.line {
				c.line[b].dead = c.line[b].version != 0
			}
			c.restart(m, t.now)
		})
		happens("is flushed", &s.flushes, m.Flushes, func(t *lineState, c *lineColumn) {
			c.lineData, c.mark, c.votesFrom = lineData{}, 0, t.now+m.Wait
		})
		if c := &s.columns[i]; m.Fencing && c.mark == 0 && s.now >= c.votesFrom {
			t := *s
			m.admit(&t, i)
			x.goes(&t, step{"is admitted", -1, on, 0})
		}
	}
}

// restart ends all connections. Answers of the old process may still arrive.
func (c *lineColumn) restart(m *lineModel, now uint8) {
	c.votesFrom = now + m.Wait
	if m.Fencing {
		c.mark = 0
	}
	for a := range c.asks {
		c.asks[a].join, c.asks[a].stay, c.asks[a].heal = 0, 0, false
		c.asks[a].extend.isCut()
	}
}

// admit gives a master the registers of others and a new mark.
func (m *lineModel) admit(t *lineState, i int) {
	c := &t.columns[i]
	for j := range masters {
		if j != i && t.columns[j].mark == 0 {
			return
		}
	}
	for j := range masters {
		c.register = max(c.register, t.columns[j].register)
	}
	c.mark = 1 + t.crashes + t.rollbacks + t.flushes
}
