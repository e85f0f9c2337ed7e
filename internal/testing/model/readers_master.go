package model

import "slices"

// This file has what masters do, what is under way to masters, and their restarts.

// deliver takes the steps in which a message from an attempt reaches a master.
func (x *readersSearch) deliver(a, i int) {
	m, q := x.m, &x.state.columns[i].asks[a]
	if q.acquire != nowhere {
		x.acquire(a, i)
	}
	if q.extend == underWay {
		x.extend(a, i)
	}
	if q.heal != nowhere {
		x.heal(a, i)
	}
	if (x.state.attempts[a].phase == ended && !m.isGone(&x.state.columns[i], a) || m.isRevealed(&x.state, a, q)) && !q.released {
		x.release(a, i)
	}
	if q.refused {
		x.intend(a, i)
	}
}

// acquire has a master grant or refuse.
func (x *readersSearch) acquire(a, i int) {
	m, t := x.m, x.state
	c := &t.columns[i]
	q := &c.asks[a]
	if q.acquire == astray {
		q.released = false // its owner may repeat the release
	}
	var may bool
	switch reads := m.Claims[a].reads; {
	case !reads:
		may = c.writer.owner == 0 && c.until == 0
	case q.acquire == looked: // a set cannot be added to a string
		may = c.writer.owner == 0 || m.Fault == ownKey
	default:
		may = c.writer.owner == 0 && c.intent == 0
		if may && (m.Fault == looksFirst || m.Fault == ownKey) {
			q.acquire = looked
			x.goes(&t, step{"looks, and may read", int8(a), int8(i), 0})
			return
		}
	}
	q.acquire = nowhere
	if !may {
		q.refused = m.Intent > 0 && !m.Claims[a].reads
		x.goes(&t, step{"is refused", int8(a), int8(i), 0})
		return
	}
	q.granted = true
	switch until := m.after(t.now, a); {
	case !m.Claims[a].reads:
		c.writer = lock{uint8(a + 1), until}
		m.increases(c, a)
	case m.Fault == countsReaders:
		c.count, c.until = c.count+1, max(c.until, until)
	default:
		c.remove(m, t.now)
		c.add(a, until, m.Fault == latestCame)
		m.increases(c, a)
	}
	x.goes(&t, step{"is granted", int8(a), int8(i), 0})
}

// remove removes the readers whose leases are over.
func (c *readersColumn) remove(m *readersModel, now uint8) {
	if m.Fault == callersClock {
		now++
	}
	for b, until := range c.readers {
		if until <= now {
			c.readers[b] = 0
		}
	}
}

// add adds a reader, or moves its expiry later. The key expires with the reader whose lease is longest, or else with the latest.
func (c *readersColumn) add(a int, until uint8, latest bool) {
	c.readers[a] = max(c.readers[a], until)
	if c.until = slices.Max(c.readers[:]); latest {
		c.until = until
	}
}

// increases increases a master's register for a grant.
func (m *readersModel) increases(c *readersColumn, a int) {
	if m.Fencing && (!m.Claims[a].reads || m.Fault == readersHaveFences || m.Fault == readersOnlyIncrease) {
		c.register++
		c.asks[a].fence = c.register
	}
}

// extend executes an extend, which also raises the register to a writer's fence.
func (x *readersSearch) extend(a, i int) {
	m, t := x.m, x.state
	c, at := &t.columns[i], &t.attempts[a]
	q, until := &c.asks[a], m.after(t.now, a)
	if !q.acquire.isOvertaken(m.Cuts) {
		return
	}
	q.extend = notSent
	switch {
	case c.writer.owner == uint8(a+1):
		if c.register = max(c.register, at.token); at.phase != raising { // a raise moves the expiry, too, but nobody relies on it
			c.writer.until = max(c.writer.until, until)
		}
		q.extend = acknowledged
	case m.Fault == extendAdds && !m.Claims[a].reads && c.writer.owner == 0 && c.until == 0:
		c.writer, q.extend = lock{uint8(a + 1), until}, acknowledged
	case m.Fault == countsReaders && c.count > 0 && m.Claims[a].reads:
		c.until, q.extend = max(c.until, until), acknowledged
	case c.readers[a] > t.now, m.Fault == extendAdds && m.Claims[a].reads && c.writer.owner == 0:
		c.add(a, until, m.Fault == latestExtended)
		q.extend = acknowledged
	}
	x.goes(&t, step{"extends or raises", int8(a), int8(i), 0})
}

// release executes a release.
func (x *readersSearch) release(a, i int) {
	m, t := x.m, x.state
	c, at := &t.columns[i], &t.attempts[a]
	q := &c.asks[a]
	switch {
	case at.phase == held: // another process releases, on its own connection
	case !q.acquire.isOvertaken(m.Cuts), q.heal == sent && !q.heal.isOvertaken(m.Cuts), q.extend == underWay && !m.Cuts:
		return
	}
	q.released = true
	switch {
	case m.Claims[a].reads && m.Fault == countsReaders:
		if c.count = max(c.count, 1) - 1; c.count == 0 {
			c.until = 0
		}
	case m.Claims[a].reads && c.readers[a] != 0:
		c.readers[a] = 0
		longest := slices.Max(c.readers[:])
		if m.Fault != expiryStays || longest == 0 {
			c.until = longest
		}
		c.expire(t.now)
	case !m.Claims[a].reads && (c.writer.owner == uint8(a+1) || m.Fault == releasesAny):
		c.writer, c.readers, c.until = lock{}, [readersAttempts]uint8{}, 0
	}
	x.goes(&t, step{"releases", int8(a), int8(i), 0})
}

// expire ends the writer, the readers and the intent whose time is over.
func (c *readersColumn) expire(now uint8) {
	c.writer.expire(now)
	if c.until <= now {
		c.readers, c.count, c.until = [readersAttempts]uint8{}, 0, 0
	}
	if c.intent <= now {
		c.intent = 0
	}
}

// intend sets a writer's intent.
func (x *readersSearch) intend(a, i int) {
	m, t := x.m, x.state
	c := &t.columns[i]
	c.intent = m.limit(t.now + m.Intent)
	if m.Fault == intentVotes {
		c.asks[a].granted = true
	}
	x.goes(&t, step{"sets an intent", int8(a), int8(i), 0})
}

// restarts has masters restart empty. That ends all connections.
func (x *readersSearch) restarts() {
	for i := range masters {
		x.happens("restarts", i, &x.state.crashes, x.m.Crashes, func(t *readersState) {
			c := &t.columns[i]
			*c = readersColumn{votesFrom: x.m.limit(t.now + x.m.Wait), asks: c.asks}
			for a := range c.asks {
				c.asks[a].acquire = nowhere
				c.asks[a].extend.isCut()
				c.asks[a].heal.isCut()
			}
		})
	}
}
