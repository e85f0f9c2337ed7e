package model

import "strconv"

// This file is what masters do, what is under way to them, and what happens to them.

// deliver takes the steps of what an attempt has for a master.
func (x *permitsSearch) deliver(a, i int) {
	switch x.state.columns[i].asks[a].acquire {
	case unsent:
		x.send(a, i)
		return // what follows waits behind it
	case sent, astray:
		x.acquire(a, i)
	}
	x.release(a, i)
}

// send sends an acquire that waits, or drops it with its releases.
func (x *permitsSearch) send(a, i int) {
	m, s, by, on := x.m, &x.state, int8(a), int8(i)
	t := *s
	q := &t.columns[i].asks[a]
	if m.votes(s, &s.columns[i]) {
		q.acquire = sent
		x.goes(&t, step{"is sent", by, on, 0})
	}
	if s.attempts[a].phase == ended {
		q.acquire = nowhere
		x.goes(&t, step{"is dropped unsent, with its releases", by, on, 0})
	}
}

// acquire has a master set the key of the first slot that is free.
func (x *permitsSearch) acquire(a, i int) {
	m, t := x.m, x.state
	c := &t.columns[i]
	q := &c.asks[a]
	if q.acquire == astray {
		q.released = 0 // their owner may repeat the releases
	}
	order := m.Orders[t.attempts[a].order]
	if m.Fault == countsUnits {
		order = m.Orders[0]
	}
	what := "is refused"
	for _, slot := range order {
		if c.locks[slot].owner != 0 {
			continue
		}
		c.locks[slot] = lock{uint8(a + 1), m.after(t.now, m.TTL)}
		if t.attempts[a].phase == asking {
			q.granted |= 1 << slot
		}
		if what = "is granted slot " + strconv.Itoa(slot); m.Fault != grantsEach {
			break
		}
	}
	if at := &t.attempts[a]; at.phase == held && m.Fault == surplusStays {
		q.released |= c.of(a) &^ (1 << at.slot)
	}
	q.acquire = nowhere
	x.goes(&t, step{what, int8(a), int8(i), 0})
}

// release executes the releases of an attempt, each by itself: of all slots, or of those beside the one that it holds.
func (x *permitsSearch) release(a, i int) {
	m, s := x.m, &x.state
	at := &s.attempts[a]
	if at.phase != ended && at.phase != held {
		return
	}
	for slot := range m.Slots {
		t := *s
		c := &t.columns[i]
		q, l := &c.asks[a], &c.locks[slot]
		switch {
		case at.phase == held && at.slot == uint8(slot), q.released&(1<<slot) != 0:
			continue
		case l.owner != uint8(a+1) && q.acquire == nowhere, !q.acquire.isOvertaken(m.Cuts):
			continue
		}
		if l.owner == uint8(a+1) {
			*l = lock{}
		}
		q.released |= 1 << slot
		x.goes(&t, step{"releases slot " + strconv.Itoa(slot), int8(a), int8(i), 0})
	}
}

// restarts has masters restart empty. That ends all connections.
func (x *permitsSearch) restarts() {
	m, s := x.m, &x.state
	for i := range m.Masters {
		if s.crashes == m.Crashes {
			return
		}
		t := *s
		t.crashes++
		c := &t.columns[i]
		c.locks, c.votesFrom = [permitsSlots]lock{}, m.after(s.now, m.Wait)
		for a := range c.asks {
			if q := &c.asks[a]; q.acquire != unsent {
				q.acquire = nowhere
			}
		}
		x.goes(&t, step{"restarts", -1, int8(i), 0})
	}
}
