package model

import (
	"strconv"

	"muxlock/internal/fencing"
)

// What an engine does to find out which masters may vote, as in pipeline/membership.go.

// names are those of run_ids and tickets.
var names = func() (names [256]string) {
	for i := 1; i < len(names); i++ {
		names[i] = strconv.Itoa(i)
	}
	return names
}()

// connected reports whether a client can send something to a master.
func (x *search) connected(c *column, client int) bool {
	return x.m.Clients == 0 || c.views[client].session == c.run
}

// votes reports whether a client asks a master for locks.
func (x *search) votes(c *column, client int) bool {
	if !x.m.member(client, c) || !x.connected(c, client) {
		return false
	}
	a := &x.admissions[c.views[client].admission]
	return x.m.Clients == 0 || a.Admitted()
}

// look is a new connection, or a look over the old one.
func (m *Model) look(x *search, s *state, c *column, client int) {
	v := &c.views[client]
	a := x.admissions[v.admission]
	mark := ""
	if c.set == s.clients[client] && c.set != noSet {
		if mark = names[c.mark]; m.Fault == OldSnapshotCounts {
			mark = names[c.run]
		}
	}
	v.session, v.shown = c.run, c.set
	a.Met(names[c.run], mark)
	v.admission = x.admission(a)
}

// client takes the steps of a client's admissions.
func (x *search) client(client int) {
	m, s := x.m, &x.state
	if s.clients[client] == noSet {
		x.adopt(client)
		return
	}
	for i := range m.Masters {
		if m.member(client, &s.columns[i]) {
			x.admit(client, i)
		}
	}
}

// adopt has a client begin to use the set that a quorum shows.
func (x *search) adopt(client int) {
	m, s := x.m, &x.state
	aim, n := m.aim(client), 0
	for i := range m.Masters {
		if c := &s.columns[i]; m.member(client, c) && c.set == aim {
			n++
		}
	}
	if n < m.quorum() && (m.Fault != AdoptWithoutQuorum || n == 0) {
		return
	}
	t := *s
	t.clients[client] = aim
	for i := range m.Masters {
		if c := &t.columns[i]; m.member(client, c) {
			m.look(x, &t, c, client)
		}
	}
	x.goes(&t, step{"adopts the set", int8(client), -1, 0})
}

// admit looks at a master and takes the next step of its admission.
func (x *search) admit(client, i int) {
	m, s, by, on := x.m, &x.state, int8(client), int8(i)
	if v := &s.columns[i].views[client]; v.target {
		x.gather(client, i)
		return
	}
	if c := &s.columns[i]; x.votes(c, client) && c.set == s.clients[client] {
		return // it looks no more
	}
	t := *s
	c := &t.columns[i]
	v := &c.views[client]
	m.look(x, &t, c, client)
	a := x.admissions[v.admission]
	ticket, due := a.Due(tick(s.now))
	what := "looks"
	switch {
	case a.Admitted(), c.set > s.clients[client]:
	case ticket == "":
		what = "opens"
		opened := c.open(v.shown, c.run, c.opened+1, v.shown != s.clients[client])
		if opened == 0 {
			break
		}
		c.opened = max(c.opened, opened)
		from := s.now + m.Wait
		switch {
		case m.Fault == WaitFromFirstSight:
			from = m.Wait
		case m.Fault == JoinsWithoutWait && c.kind == comes:
			from = s.now
		}
		a.Opened(names[opened], tick(from))
	case due || m.Fault == ReadBeforeWait:
		what = "begins to gather"
		for j := range m.Masters {
			other := &t.columns[j].views[client]
			other.target, other.read, other.gathered = false, false, 0
		}
		v.target = true
	}
	v.admission = x.admission(a)
	x.goes(&t, step{what, by, on, 0})
}

// gather reads the register of another master for master i, or seeds that with what was read.
func (x *search) gather(client, i int) {
	m, s, by := x.m, &x.state, int8(client)
	var read, open uint64
	t := *s
	into := &t.columns[i].views[client]
	for j := range m.Masters {
		other := &t.columns[j]
		if other.views[client].read {
			read |= 1 << j
			continue
		}
		register, admitted := other.read(s.clients[client], other.run)
		if j == i || !admitted || !x.votes(other, client) {
			continue
		}
		open |= 1 << j
		other.views[client].read = true
		merged := []uint64{uint64(into.gathered)}
		fencing.Merge(merged, []uint64{uint64(register)})
		into.gathered = uint16(merged[0])
		if !m.ReadAtOnce {
			x.goes(&t, step{"reads a register", by, int8(j), 0})
			t = *s
		}
	}
	if m.ReadAtOnce && open != 0 {
		x.goes(&t, step{"reads the registers", by, -1, 0})
		return
	}
	a := x.admissions[s.columns[i].views[client].admission]
	ticket, due := a.Due(tick(s.now))
	enough := fencing.Enough(read, m.size(), m.quorum()) || m.Fault == NoPeers ||
		m.Fault == OnePeerTooFew && fencing.Enough(read<<1|1, m.size(), m.quorum())
	if !due || !enough {
		return
	}
	t = *s
	c := &t.columns[i]
	v := &c.views[client]
	with, _ := strconv.Atoi(ticket)
	if m.Fault == NoTicket {
		with = int(max(c.ticket, 1))
		c.ticket = uint8(with)
	}
	ok := c.seed(s.clients[client], v.session, uint8(with), v.shown, uint8(v.gathered))
	a.Seeded(ticket, ok)
	v.admission, v.target, v.gathered = x.admission(a), false, 0
	for j := range m.Masters {
		t.columns[j].views[client].read = false
	}
	x.goes(&t, step{"seeds", by, int8(i), 0})
}
