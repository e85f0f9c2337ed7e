package model

import (
	"math/bits"
	"time"

	"muxlock/internal/fencing"
	"muxlock/internal/line"
)

// steps finds all possible next steps.
func (x *lineSearch) steps() {
	m, s := x.m, &x.state
	for a := range m.Attempts {
		x.attempt(a)
		for i := range masters {
			x.deliver(a, i)
			x.hear(a, i)
			x.pass(a, i)
		}
	}
	x.faults()
	if s.now < m.Horizon {
		t := *s
		t.now++
		for i := range masters {
			t.columns[i].lock.expire(t.now)
		}
		x.goes(&t, step{"time passes", -1, -1, 0})
	}
}

// votes reports whether clients ask a master for locks.
func (m *lineModel) votes(s *lineState, c *lineColumn) bool {
	return (s.now >= c.votesFrom || m.Fault == votesWithoutWait) && (!m.Fencing || c.mark != 0 || m.Fault == markIgnored)
}

// attempt takes the steps of a client.
func (x *lineSearch) attempt(a int) {
	m, s, by := x.m, &x.state, int8(a)
	at := &s.attempts[a]
	switch at.phase {
	case idle:
		if a > 0 && s.attempts[a-1].phase == idle {
			return // attempts that are alike begin in order
		}
		t := *s
		t.attempts[a].phase, t.attempts[a].floor = asking, largest(t.counted)
		x.asks(&t, a, func(q *lineAsk, version uint8) { q.join = version })
		x.goes(&t, step{"joins", by, -1, 0})
		return
	case asking:
		if at.stays < m.Stays && !m.plain(a) {
			t := *s
			t.attempts[a].stays++
			x.asks(&t, a, func(q *lineAsk, version uint8) { q.stay = version })
			x.goes(&t, step{"stays", by, -1, 0})
		}
		x.decide(a)
	case raising:
		if s.now < at.until && x.storedByQuorum(a) {
			t := *s
			m.takes(&t, a, at.until)
			x.goes(&t, step{"has it", by, -1, 0})
		}
	case held:
		x.hold(a)
	case ended:
		if m.Fault == countsGivenUp {
			x.decide(a)
		}
		return
	}
	t := *s
	m.ends(&t.attempts[a])
	x.goes(&t, step{"releases, or gives up", by, -1, 0})
}

// asks sends a request to the masters that vote.
func (x *lineSearch) asks(t *lineState, a int, send func(q *lineAsk, version uint8)) {
	m, w := x.m, x.waiter(t, a)
	r, _ := w.Request(tick(t.now))
	t.attempts[a].place = w.Place
	for i := range masters {
		if c := &t.columns[i]; m.votes(t, c) {
			if m.Fencing {
				c.asks[a].mark = c.mark
			}
			send(&c.asks[a], uint8(r.Version))
		}
	}
}

// waiter returns an attempt as package line knows it, until the next call.
func (x *lineSearch) waiter(s *lineState, a int) line.Waiter[uint8, tick] {
	w := x.blank
	w.Place = s.attempts[a].place
	for i := range masters {
		q := s.columns[i].asks[a].seat
		w.Seats[i] = line.Seat[tick]{Ends: tick(q.ends), Fence: uint64(q.fence)}
	}
	return w
}

// decide has an attempt take the lock if a quorum of its grants lives.
func (x *lineSearch) decide(a int) {
	m, s := x.m, &x.state
	w := x.waiter(s, a)
	won, ok := w.Take(tick(s.now))
	if !ok {
		return
	}
	t := *s
	at := &t.attempts[a]
	if !m.Fencing {
		m.takes(&t, a, uint8(won.Until))
		x.goes(&t, step{"has it", int8(a), -1, uint8(won.Live)})
		return
	}
	for i := range won.Fences {
		if m.Fault == deadGrantCounts {
			won.Fences[i] = w.Seats[i].Fence
		}
	}
	token, granted, stored := fencing.Decide(won.Fences)
	at.token = uint8(token)
	if m.Fault == noRaise || m.Fault == unknownFenceCounts || fencing.Counts(granted, stored, 0, m.quorum()) {
		m.takes(&t, a, uint8(won.Until))
	} else {
		at.phase, at.until, at.place = raising, uint8(won.Until), w.Place
		for i := range masters {
			q := &t.columns[i].asks[a]
			q.decided, q.stored, q.extend = granted&(1<<i) != 0, stored&(1<<i) != 0, underWay
		}
	}
	x.goes(&t, step{"decides by", int8(a), -1, uint8(won.Live)})
}

// takes notes that an attempt has the lock, and checks that its fence is larger than the last holder's.
func (m *lineModel) takes(t *lineState, a int, until uint8) {
	at := &t.attempts[a]
	at.phase, at.until, at.place = held, until, line.Place[tick]{}
	at.place.Ended = true
	t.held |= 1 << a
	switch {
	case m.Vanish:
		t.broken.notes(m.Only, tokenTooSmall, at.token <= at.floor)
		t.broken.notes(m.Only, tokenTwice, t.counted&(1<<at.token) != 0)
		t.counted |= 1 << at.token
	case m.Fencing:
		t.broken.notes(m.Only, fenceNotLarger, at.token <= t.last)
		t.last = at.token
	}
	at.floor = 0
}

func (x *lineSearch) storedByQuorum(a int) bool {
	columns := x.state.columns[:]
	granted := where(columns, func(c *lineColumn) bool { return c.asks[a].decided || x.m.Fault == lateGrantIsRaised })
	stored := where(columns, func(c *lineColumn) bool { return c.asks[a].stored })
	raised := where(columns, func(c *lineColumn) bool { return c.asks[a].extend == acknowledged })
	return fencing.Counts(uint64(granted), uint64(stored), uint64(raised), x.m.quorum())
}

// hold takes the steps of a holder that extends.
func (x *lineSearch) hold(a int) {
	m, s, by := x.m, &x.state, int8(a)
	at := &s.attempts[a]
	x.heals(a)
	if !at.extending && at.extended < m.Extensions {
		t := *s
		t.attempts[a].extending, t.attempts[a].extendedSince = true, s.now
		for i := range masters {
			t.columns[i].asks[a].extend = underWay
		}
		x.goes(&t, step{"extends", by, -1, 0})
	}
	if !at.extending {
		return
	}
	acks := where(s.columns[:], func(c *lineColumn) bool { return c.asks[a].extend == acknowledged })
	if bits.OnesCount8(acks) >= m.quorum() {
		t := *s
		with := &t.attempts[a]
		with.until, with.extending, with.extended = max(with.until, with.extendedSince+m.TTL), false, at.extended+1
		x.goes(&t, step{"is extended", by, -1, 0})
	}
}

// hear has an attempt take in an answer or a push.
func (x *lineSearch) hear(a, i int) {
	m, s := x.m, &x.state
	for _, which := range []func(*lineAsk) *offer{
		func(q *lineAsk) *offer { return &q.grant },
		func(q *lineAsk) *offer { return &q.more },
	} {
		o := *which(&s.columns[i].asks[a])
		if o.version == 0 {
			continue
		}
		for b := range m.Attempts {
			if b != a && m.Fault != foreignTokenCounts {
				continue
			}
			t := *s
			if b == a {
				*which(&t.columns[i].asks[a]) = offer{}
			}
			at, q := &t.attempts[b], &t.columns[i].asks[b]
			if o.mark != q.mark && m.Fault != markIgnored {
				continue
			}
			if at.phase == idle || at.place.Ended {
				continue
			}
			w := x.waiter(s, b)
			if m.Fault == countsFromArrival {
				r, _ := w.Request(tick(s.now))
				o.version = uint8(r.Version)
			}
			w.Hear(i, line.Answer[uint8]{Kind: line.Granted, Version: uint32(o.version), Lease: time.Duration(o.lease), Fence: uint64(o.fence)}, 0, tick(s.now))
			seat := w.Seats[i]
			q.seat.ends, q.seat.fence = uint8(seat.Ends), uint8(seat.Fence)
			x.goes(&t, step{"hears that it is granted", int8(b), int8(i), 0})
		}
	}
}
