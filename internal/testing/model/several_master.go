package model

// This file is what masters do, what is under way to them, and what happens to them.

// deliver takes the steps of what an attempt has for a master.
func (x *severalSearch) deliver(a, i int) {
	switch x.state.columns[i].asks[a].acquire {
	case unsent:
		x.send(a, i)
		return // what follows waits behind it
	case sent, astray:
		x.acquire(a, i)
	}
	x.extend(a, i)
	x.release(a, i)
}

// send sends an acquire that waits, or drops it. It may be dropped when the release of any of its names waits behind it.
// Which of them wait does not matter: the others find nothing to release.
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
	for name := range m.Sets[a].all {
		t := *s
		t.columns[i].asks[a].released |= 1 << name
		x.goes(&t, step{"drops the release of " + string(rune('a'+name)), by, on, 0})
	}
}

// acquire has a master set all keys of a set, or none.
func (x *severalSearch) acquire(a, i int) {
	m, t := x.m, x.state
	c := &t.columns[i]
	q, want := &c.asks[a], t.attempts[a].asked
	if q.acquire == astray {
		q.released = 0 // their owner may repeat the releases
	}
	free := want & c.of(0)
	if free != want && m.Fault != anyNameVotes {
		free = 0
	}
	for name := range free.all {
		c.locks[name] = lock{m.owner(a), m.after(t.now, m.TTL)}
	}
	what := "is refused"
	if free != 0 {
		what, q.granted = "is granted", true
	}
	q.acquire = nowhere
	x.goes(&t, step{what, int8(a), int8(i), 0})
}

// extend executes the extends that are under way.
func (x *severalSearch) extend(a, i int) {
	m, s := x.m, &x.state
	for name, e := range s.columns[i].asks[a].extends {
		t := *s
		c := &t.columns[i]
		q, l := &c.asks[a], &c.locks[name]
		if e != underWay || !q.acquire.isOvertaken(m.Cuts) {
			continue
		}
		if q.extends[name] = notSent; l.owner == m.owner(a) {
			q.extends[name] = acknowledged
			l.until = max(l.until, m.after(s.now, m.TTL))
		}
		x.goes(&t, step{"extends " + string(rune('a'+name)), int8(a), int8(i), 0})
	}
}

// release executes the releases of an attempt, each by itself.
func (x *severalSearch) release(a, i int) {
	m, s := x.m, &x.state
	if s.attempts[a].phase != ended {
		return
	}
	for name := range (m.Sets[a] &^ s.columns[i].asks[a].released).all {
		t := *s
		c := &t.columns[i]
		q, l := &c.asks[a], &c.locks[name]
		if m.isGone(c, a, name) || !q.acquire.isOvertaken(m.Cuts) {
			continue
		}
		if l.owner == m.owner(a) {
			*l = lock{}
		}
		q.released |= 1 << name
		x.goes(&t, step{"releases " + string(rune('a'+name)), int8(a), int8(i), 0})
	}
}

// restarts has masters restart empty. That ends all connections.
func (x *severalSearch) restarts() {
	m, s := x.m, &x.state
	for i := range m.Masters {
		if s.crashes == m.Crashes {
			return
		}
		t := *s
		t.crashes++
		c := &t.columns[i]
		c.locks, c.votesFrom = [severalNames]lock{}, m.after(s.now, m.Wait)
		for a := range c.asks {
			q := &c.asks[a]
			if q.acquire == unsent {
				continue
			}
			q.acquire = nowhere
			for name := range q.extends {
				if q.extends[name] == underWay {
					q.extends[name] = notSent
				}
			}
		}
		x.goes(&t, step{"restarts", -1, int8(i), 0})
	}
}
