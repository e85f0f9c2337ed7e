package model

import (
	"strconv"

	"muxlock/internal/fencing"
)

// This file has how an engine finds out which masters may vote, as in pipeline/member.go.

// names are the run_ids as text.
var names = func() (names [256]string) {
	for i := 1; i < len(names); i++ {
		names[i] = strconv.Itoa(i)
	}
	return names
}()

// textOf returns a master's mark as a client reads it.
func (x *search) textOf(c *column, k mark) string {
	switch {
	case x.m.Fault == AnyMember:
		k.copied = false
	case x.m.Fault == OldSnapshotCounts && k.nonce != 0:
		k.run = c.run
	}
	return k.text()
}

// connected reports whether a client's connection leads to the master's present process.
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

// look has a client look at a master, over a new connection or the old one.
func (m *Model) look(x *search, s *state, c *column, client int) {
	v := &c.views[client]
	a := x.admissions[v.admission]
	text := ""
	if c.set == s.clients[client] && c.set != noSet {
		text = x.textOf(c, c.mark)
	}
	if m.Fault == GoneMarkCounts && text != "" {
		a = fencing.Admission[tick]{} // an admission that remembers no mark
	}
	v.session, v.shown, v.mark = c.run, c.set, c.mark
	a.Met("m", names[c.run], text, m.Durable)
	v.admission = x.admission(a)
}

// client takes the steps of a client's admissions.
func (x *search) client(client int) {
	m, s := x.m, &x.state
	if s.clients[client] == noSet {
		x.adopt(client)
		return
	}
	for i := range m.masters() {
		if m.member(client, &s.columns[i]) {
			x.admit(client, i)
		}
	}
}

// adopt has a client begin to use a set that a quorum of masters shows.
func (x *search) adopt(client int) {
	m, s := x.m, &x.state
	var shown [numberOfSets]int
	for i := range m.masters() {
		if c := &s.columns[i]; m.member(client, c) {
			shown[c.set]++
		}
	}
	for set, n := range shown {
		if !m.mayAdopt(client, uint8(set)) || n < m.quorum() && (m.Fault != AdoptWithoutQuorum || n == 0) {
			continue
		}
		t := *s
		t.clients[client] = uint8(set)
		for i := range m.masters() {
			if c := &t.columns[i]; m.member(client, c) {
				m.look(x, &t, c, client)
			}
		}
		x.goes(&t, step{"adopts the set", int8(client), -1, 0})
	}
}

// admit looks at a master and takes the next step of its admission.
func (x *search) admit(client, i int) {
	m, s, by, on := x.m, &x.state, int8(client), int8(i)
	v := &s.columns[i].views[client]
	if v.target {
		x.gather(client, i)
		return
	}
	if s.columns[i].copied && !v.told {
		t := *s
		v := &t.columns[i].views[client]
		a := x.admissions[v.admission]
		a.Lost()
		v.admission, v.told = x.admission(a), true
		x.goes(&t, step{"sees that it was a replica", by, on, 0})
	}
	if c := &s.columns[i]; x.votes(c, client) && c.set == s.clients[client] && x.counts(c, client, c.mark) {
		return // the master votes, so the client need not look again
	}
	t := *s
	c := &t.columns[i]
	v = &c.views[client]
	m.look(x, &t, c, client)
	a := x.admissions[v.admission]
	what := "looks"
	if !foreign(c.set, s.clients[client]) {
		switch next := a.Next(tick(s.now)); {
		case next == fencing.Keep, m.Fault == KeepsAnyMark && m.Durable && next == fencing.Open && c.set == s.clients[client]:
			what = "keeps"
			c.nonces++
			renewed := mark{nonce: c.nonces, run: c.run}
			a.Renewed(renewed.text(), c.change(c.set, c.mark, c.set, renewed) || m.Fault == KeepsAnyMark)
		case next == fencing.Open:
			what = "opens"
			x.open(&t, c, client, &a)
		case next == fencing.Seed || m.Fault == ReadBeforeWait && next == fencing.Wait:
			what = "begins to gather"
			for j := range m.masters() {
				other := &t.columns[j].views[client]
				other.target, other.read, other.gathered = false, false, 0
			}
			v.target = true
		}
	}
	v.admission = x.admission(a)
	x.goes(&t, step{what, by, on, 0})
}

// open opens a master, and notes since when the master waits.
func (x *search) open(t *state, c *column, client int, a *fencing.Admission[tick]) {
	m := x.m
	if m.Fault == TicketNamesNobody && c.ticket.nonce != 0 {
		c.ticket.run, c.ticket.copied = c.run, false
	}
	opened := c.open(c.set, c.mark, mark{nonce: c.nonces + 1, run: c.run})
	if opened.nonce == 0 {
		return
	}
	c.nonces = max(c.nonces, opened.nonce)
	if c.since == 0 || c.waitsFor != t.clients[client] && m.Fault != AgeOfAnySet {
		c.since, c.waitsFor = t.now+1, t.clients[client]
	}
	from := c.since - 1 + m.Wait
	switch {
	case m.Fault == WaitFromFirstSight:
		from = m.Wait
	case m.Fault == JoinsWithoutWait && c.kind == comes:
		from = t.now
	}
	a.Opened(opened.text(), tick(from))
}

// gather reads the register of another master for master i, or seeds master i with the registers read.
func (x *search) gather(client, i int) {
	m, s, by := x.m, &x.state, int8(client)
	var read, open uint64
	t := *s
	into := &t.columns[i].views[client]
	for j := range m.masters() {
		other := &t.columns[j]
		if other.views[client].read {
			read |= 1 << j
			continue
		}
		expected := markOf(x.admissions[other.views[client].admission].Mark())
		register, admitted := other.read(s.clients[client], expected)
		if j == i || !admitted || !other.registers || !x.votes(other, client) {
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
	enough := fencing.Enough(read, masters, m.quorum()) || m.Fault == NoPeers ||
		m.Fault == OnePeerTooFew && fencing.Enough(read<<1|1, masters, m.quorum())
	if a.Next(tick(s.now)) != fencing.Seed || !enough {
		return
	}
	t = *s
	c := &t.columns[i]
	v := &c.views[client]
	text, _ := a.Ticket()
	ticket := markOf(text)
	if m.Fault == NoTicket {
		c.ticket = ticket
	}
	ok := v.session == c.run && c.seed(s.clients[client], ticket, v.shown, uint8(v.gathered))
	a.Seeded(text, ok)
	v.admission, v.target, v.gathered = x.admission(a), false, 0
	for j := range m.masters() {
		t.columns[j].views[client].read = false
	}
	x.goes(&t, step{"seeds", by, int8(i), 0})
}
