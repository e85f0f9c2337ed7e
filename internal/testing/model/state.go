package model

import (
	"fmt"
	"math/bits"
	"slices"
)

// A state is everything: the masters, the messages under way, and what each client and operator knows.
//
// Everything about one master is in its column, and no column names another. So two states are alike if they have the
// same columns in any order.
type state struct {
	core
	columns [maxMasters]column
}

type core struct {
	counted   [maxNames]uint32 // tokens that counted, one bit each
	now       uint8
	broken    property // the property that does not hold; 0: all hold
	repeated  bool     // a message was delivered twice
	attempts  [maxAttempts]attempt
	clients   [maxClients]uint8                          // the set that each client adopted
	last      [maxNames]struct{ token, handOvers uint8 } // fence of each name's last holder
	operators [maxOperators]operator

	crashes, flushes, saves, rollbacks, copies, swaps, deletions, jumps, begins uint8 // counts so far
}

// A phase of an attempt.
type phase uint8

const (
	idle phase = iota
	asking
	raising
	held
	ended
)

func (p phase) String() string { return [...]string{"", "asks", "raises", "holds", "ended"}[p] }

type attempt struct {
	phase                   phase
	hint, token             uint8
	floor                   uint8 // the largest token that had counted when the attempt began
	since, until            uint8
	extending               bool
	extendedSince, extended uint8
	handOvers               uint8
	adopted                 bool // by the second client
}

// client returns the client that sends an attempt's messages.
func (at *attempt) client(m *Model, a int) int {
	if at.adopted {
		return 1
	}
	return m.client(a)
}

// A column is a master, and what attempts, clients and operators know of the master.
type column struct {
	kind uint8 // its role in the configuration
	master
	saved  data  // its snapshot
	other  data  // its other database
	nonces uint8 // number of nonces used there
	copied bool  // it has another master's data
	asks   [maxAttempts]ask
	views  [maxClients]view
	visits [maxOperators]visit
}

// The kinds of masters.
const (
	stays uint8 = iota
	goes
	comes
	lost
)

// An ask is what an attempt has asked a master, and the answers.
type ask struct {
	sent    bool  // the acquire is under way
	grant   uint8 // 0: none
	extend  delivery
	heal    bool // under way
	granted bool // the grant was seen when the token was decided
	stored  bool // the grant was the token
}

type delivery uint8

const (
	notSent delivery = iota
	underWay
	acknowledged
)

// isCut loses what is under way.
func (d *delivery) isCut() {
	if *d == underWay {
		*d = notSent
	}
}

// A view is what a client knows of a master.
type view struct {
	admission uint16 // index into search.admissions
	session   uint8  // run_id behind the client's connection; 0: no connection
	shown     uint8  // description seen at the last look
	mark      mark   // mark seen at the last look
	told      bool   // the client knows that the master was a replica
	target    bool   // the client gathers registers for the master
	read      bool   // the client has read the master's register for the target
	gathered  uint16 // of a target: the largest register read
}

// takes notes that an attempt has a new holder, and checks that the fence has grown.
func (m *Model) takes(s *state, a int) {
	if !m.timed() || !m.Only.has(fenceNotLarger) {
		return
	}
	at, last := &s.attempts[a], &s.last[m.name(a)]
	s.broken.notes(m.Only, fenceNotLarger, m.fence(at.token, at.handOvers) <= m.fence(last.token, last.handOvers))
	last.token, last.handOvers = at.token, at.handOvers
}

// counts notes that an attempt's token counts, and checks the order of tokens.
func (m *Model) counts(s *state, a int) {
	at, name := &s.attempts[a], m.name(a)
	m.takes(s, a)
	s.broken.notes(m.Only, tokenTooSmall, at.token <= at.floor)
	s.broken.notes(m.Only, tokenTwice, s.counted[name]&(1<<at.token) != 0)
	s.counted[name] |= 1 << at.token
	at.phase, at.until = held, at.since+m.TTL
	if m.Fault == ValidFromLastReply {
		at.until = s.now + m.TTL
	}
}

// forget clears everything that no later step depends on, so that states differ only in what matters.
func (m *Model) forget(s *state) {
	for a := range m.Attempts {
		at := &s.attempts[a]
		switch {
		case at.phase == idle, at.phase == asking && !m.timed(), at.phase == raising && !m.timed():
			continue
		case (at.phase == asking || at.phase == raising) && s.now < at.since+m.TTL:
			continue
		case m.timed() && (at.phase != held || s.now >= at.until):
			*at = attempt{phase: ended, hint: at.hint, token: at.token}
		}
		at.floor, at.since = 0, 0
		sent, extending := false, false
		for i := range m.masters() {
			q := &s.columns[i].asks[a]
			q.grant, q.granted, q.stored = 0, false, false
			if q.extend == acknowledged && !at.extending && m.Duplicate != extends {
				q.extend = notSent
			}
			sent, extending = sent || q.sent, extending || q.extend != notSent || q.heal
		}
		if !sent {
			at.hint = 0
		}
		if !extending && (!m.timed() || at.phase == ended) {
			at.token = 0
		}
	}
}

func largest(tokens uint32) uint8 { return uint8(max(bits.Len32(tokens), 1) - 1) }

// check looks for two holders of one name.
func (m *Model) check(s *state) {
	if !m.timed() {
		return
	}
	var holders [maxNames]int
	for a := range m.Attempts {
		if at := &s.attempts[a]; at.phase == held && s.now < at.until {
			holders[m.name(a)]++
			s.broken.notes(m.Only, twoHolders, holders[m.name(a)] > 1)
		}
	}
}

// starts returns the states in which a search begins.
func (m *Model) starts(x *search) (states []state) {
	for _, registers := range m.Registers {
		var s state
		s.counted[0] = 1 << m.Counted &^ 1
		for i := range m.masters() {
			c := &s.columns[i]
			c.run, c.nonces = 1, 1
			if m.Blank {
				continue
			}
			c.data = data{set: serving, mark: mark{nonce: 1, run: 1}, registers: true, register: registers[i]}
			if m.Replace && i == masters-1 {
				c.kind = goes
			}
			if m.Replace && i == masters {
				c.kind = comes
				c.flush()
				if m.Returns {
					c.ticket, c.since, c.waitsFor = mark{nonce: 1, run: 1}, 1, otherServing
				}
			}
			if i < m.Lost {
				c.kind = lost
				c.flush()
			}
		}
		for client := range max(m.Clients, 1) {
			if !m.Blank && m.mayAdopt(client, serving) && !slices.Contains(m.Operations, recovers) { // else the client starts later
				s.clients[client] = serving
			}
			for i := range m.Clients * m.masters() {
				if c := &s.columns[i/m.Clients]; m.member(client, c) {
					m.look(x, &s, c, client)
				}
			}
		}
		states = append(states, s)
	}
	return states
}

// A step leads from one state to the next.
type step struct {
	what    string
	by      int8  // attempt, client or operator; -1: none
	master  int8  // -1: none
	decided uint8 // masters whose grants a decision saw, one bit each
}

func (t step) String() string {
	text := t.what
	if t.by >= 0 {
		text = fmt.Sprintf("%c %s", 'A'+t.by, text)
	}
	if t.master >= 0 {
		text += fmt.Sprintf(", master %d", t.master)
	}
	if t.decided > 0 {
		text += fmt.Sprintf(" %03b", t.decided)
	}
	return text
}

// String shows the masters and the attempts that have begun.
func (s *state) String() string {
	text := fmt.Sprintf("t=%d", s.now)
	for i := range s.columns {
		if c := &s.columns[i]; c.run != 0 {
			text += fmt.Sprintf(" | set %d mark %s reg %d lock %c", c.set, c.mark.text(), c.register, ".ABC"[c.locks[0].owner])
		}
	}
	for i := range s.attempts {
		if a := &s.attempts[i]; a.phase != idle {
			text += fmt.Sprintf(" | %c %v", 'A'+i, a.phase)
			if a.token > 0 {
				text += fmt.Sprintf(" T=%d", a.token)
			}
		}
	}
	return text
}
