package model

// This file has what masters do, what is under way to masters, and their restarts.

// deliver takes the steps in which a message from an attempt reaches a master.
func (x *severalSearch) deliver(a, i int) {
	switch x.state.columns[i].asks[a].acquire {
	case unsent:
		x.send(a, i)
		return // extends and releases wait behind the acquire
	case sent, astray:
		x.acquire(a, i)
	}
	x.extend(a, i)
	x.heal(a, i)
	x.release(a, i)
}

// send sends a waiting acquire, or drops it. An acquire may be dropped when the release of any of its keys waits behind it.
// It does not matter which releases wait: the others find nothing to release.
func (x *severalSearch) send(a, i int) {
	m, s, by, on := x.m, &x.state, int8(a), int8(i)
	t := *s
	q := &t.columns[i].asks[a]
	if m.votes(s, &s.columns[i]) {
		q.acquire = sent
		x.goes(&t, step{"is sent", by, on, 0})
	}
	if s.attempts[a].phase != ended {
		return
	}
	q.acquire = nowhere
	x.goes(&t, step{"is dropped unsent, with its releases", by, on, 0})
	if m.Fault != dropsReleaseOnly {
		return
	}
	for key := range m.Sets[a].all {
		t := *s
		t.columns[i].asks[a].released |= 1 << key
		x.goes(&t, step{"drops the release of " + string(rune('a'+key)), by, on, 0})
	}
}

// acquire has a master set the keys that it grants.
func (x *severalSearch) acquire(a, i int) {
	m, t := x.m, x.state
	c, at := &t.columns[i], &t.attempts[a]
	q := &c.asks[a]
	if q.acquire == astray {
		q.released = 0 // their owner may repeat the releases
	}
	what := "is refused"
	if granted := m.grants(at, c.of(0)); granted != 0 {
		what = "is granted"
		for key := range granted.all {
			c.locks[key] = lock{m.owner(a), m.after(t.now, m.TTL)}
			what += " " + string(rune('a'+key))
		}
		if q.granted = granted; m.Fault == anyNameVotes {
			q.granted = at.asked
		}
	}
	if at.phase == held && m.Fault == surplusStays {
		q.released |= c.of(m.owner(a)) &^ at.has
	}
	q.acquire = nowhere
	x.goes(&t, step{what, int8(a), int8(i), 0})
}

// grants returns which of the free keys a master grants to an attempt: all of a set or none, or the first of a choice.
func (m *severalModel) grants(at *severalAttempt, free keySet) (granted keySet) {
	if m.Orders == nil {
		if at.asked&^free != 0 && m.Fault != anyNameVotes {
			return 0
		}
		return at.asked & free
	}
	order := m.Orders[at.order]
	if m.Fault == countsUnits {
		order = m.Orders[0]
	}
	for _, slot := range order {
		if free&(1<<slot) != 0 && (granted == 0 || m.Fault == grantsEach) {
			granted |= 1 << slot
		}
	}
	return granted
}

// extend executes the extends that are under way.
func (x *severalSearch) extend(a, i int) {
	m, s := x.m, &x.state
	for key, e := range s.columns[i].asks[a].extends {
		t := *s
		c := &t.columns[i]
		q, l := &c.asks[a], &c.locks[key]
		if e != underWay || !q.acquire.isOvertaken(m.Cuts) {
			continue
		}
		if q.extends[key] = notSent; l.owner == m.owner(a) {
			q.extends[key] = acknowledged
			l.until = max(l.until, m.after(s.now, m.TTL))
		}
		x.goes(&t, step{"extends " + string(rune('a'+key)), int8(a), int8(i), 0})
	}
}

// release executes the releases of an attempt, each by itself. A holder releases the keys that it does not hold.
func (x *severalSearch) release(a, i int) {
	m, s := x.m, &x.state
	at := &s.attempts[a]
	if at.phase != ended && at.phase != held {
		return
	}
	for key := range (m.Sets[a] &^ at.has &^ s.columns[i].asks[a].released).all {
		t := *s
		c := &t.columns[i]
		q, l := &c.asks[a], &c.locks[key]
		if m.isGone(c, a, key) || !q.acquire.isOvertaken(m.Cuts) || q.heals[key] == sent && !q.heals[key].isOvertaken(m.Cuts) {
			continue
		}
		if l.owner == m.owner(a) {
			*l = lock{}
		}
		q.released |= 1 << key
		x.goes(&t, step{"releases " + string(rune('a'+key)), int8(a), int8(i), 0})
	}
}

// restarts has masters restart empty. That ends all connections.
func (x *severalSearch) restarts() {
	for i := range masters {
		x.happens("restarts", i, &x.state.crashes, x.m.Crashes, func(t *severalState) {
			c := &t.columns[i]
			c.locks, c.votesFrom = [severalKeys]lock{}, x.m.after(t.now, x.m.Wait)
			for a := range c.asks {
				q := &c.asks[a]
				if q.acquire == unsent {
					continue
				}
				q.acquire = nowhere
				for key := range q.extends {
					q.extends[key].isCut()
					q.heals[key].isCut()
				}
			}
		})
	}
}
