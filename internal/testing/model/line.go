package model

import (
	"fmt"
	"math/bits"
	"time"

	"muxlock/internal/line"
	"muxlock/internal/quorum"
)

// A lineModel is a configuration of the line (package line), small enough to be searched completely. Its masters do what
// scripts/wait.lua and scripts/pass.lua do, but are freer. A pass grants any fresh entry, whoever was named. A request
// grants a free name to any token in line. This covers every order of a line, every choice of the next holder, every
// channel that somebody hears or does not, and everything that a holder may know.
//
// Requests, answers and pushes arrive late, never, and in any order. The owner of a token that it gave up may pass
// at each master at any time, and as often as it likes. This covers late, lost and repeated passes.
type lineModel struct {
	Attempts int
	Plain    uint8 // attempts that ask without joining the line, one bit each
	InLine   int   // at the start the first attempt holds the lock at a quorum, its other requests are under way, and the next so many are in line; 0: none has begun

	TTL, Horizon uint8 // in ticks
	Stale        uint8 // age up to which a holder passes to an entry
	AnyLease     uint8 // masters of an earlier version, whose clocks step: a lease that is passed on has any length up to this; 0: it has TTL
	Wait         uint8 // of a master before it votes again
	Stays        uint8 // requests of a place after the first
	Extensions   uint8 // of a lease
	Heals        bool  // holders heal
	Fencing      bool
	Apart        bool // at the start the first master's register is 1
	Vanish       bool // clocks are wrong, and a lock may vanish at any time; only with Fencing

	// How often each fault may occur:
	Crashes   uint8 // a master restarts empty
	Rollbacks uint8 // a master restarts with an old snapshot
	Flushes   uint8 // a master loses its data and keeps its connections; only with Fencing

	Only  property // to check; 0: all
	Fault lineFault
	Most  int // number of states after which a search ends early; 0: no limit
}

// A lineFault leaves out one rule.
type lineFault uint8

const (
	_ lineFault = iota
	countsFromArrival
	passesWhileHeld
	countsGivenUp
	votesWithoutWait
	passIgnoresValue
	deadChannelsHear
	takesBack      // the passer deletes the key again while nobody has answered
	publishesFirst // the push is sent before the SET, which is then refused
	quorumTooSmall
	foreignTokenCounts
	passRaisesNothing
	fenceOfPasser // a pass grants the passer's token plus one, whatever the register has
	noRaise
	lateGrantIsRaised // a raise counts at a master whose grant came after the decision
	deadGrantCounts
	unknownFenceCounts
	markIgnored
	joinsTwice // a master executes the first request of a place twice

	// Of heals:
	healsInTheWait  // a heal goes to masters that wait
	countsGivenBack // a waiter passes a stray, keeps its token, and counts the stray
)

const maxPlaces = 3

// A lineState is the masters, the messages under way, and what each attempt knows.
type lineState struct {
	lineCore
	columns [masters]lineColumn
}

type lineCore struct {
	now      uint8
	broken   property
	attempts [maxPlaces]lineAttempt
	last     uint8  // fencing token of the last holder
	counted  uint32 // with Vanish: tokens that counted, one bit each
	held     uint8  // attempts that have held, one bit each

	repeated bool // a request was executed twice

	crashes, saves, rollbacks, flushes uint8 // counts so far
}

type lineAttempt struct {
	phase                   phase
	token                   uint8 // its fencing token
	floor                   uint8 // with Vanish: the largest token that had counted when the attempt began
	place                   line.Place[tick]
	stays                   uint8
	until                   uint8
	extending               bool
	extendedSince, extended uint8
}

// A lineColumn is a master, and what attempts know of the master.
type lineColumn struct {
	lineData
	saved     lineData
	mark      uint8 // with Fencing; 0: none
	votesFrom uint8
	asks      [maxPlaces]lineAsk
}

// lineData is what a snapshot contains.
type lineData struct {
	lock     lock
	register uint8
	line     [maxPlaces]lineEntry
}

// staleVersion replaces the version of an entry once the entry is stale.
const staleVersion = 255

// A lineEntry is a token in line.
type lineEntry struct {
	version uint8 // 0: it is not in line
	stamp   uint8 // by the master's clock
	dead    bool  // its channel ended with an earlier process of the master
}

// A lineAsk is what an attempt has asked a master, and the answers.
type lineAsk struct {
	join, stay uint8 // version of a request that is under way; 0: none
	grant      offer // an answer or push under way about the grant
	more       offer // an answer under way: the key has the token already
	seat       struct{ ends, fence uint8 }
	mark       uint8 // the master's mark, as the client knows it
	extend     delivery
	heal       bool // under way
	decided    bool // the grant was seen when the token was decided
	stored     bool // the grant was the token
}

// An offer tells a waiter of a grant. Version 0: there is none.
type offer struct{ version, lease, fence, mark uint8 }

func (t tick) Reached(now tick) bool       { return now >= t }
func (t tick) Left(now tick) time.Duration { return time.Duration(t) - time.Duration(now) }
func (t tick) Add(d time.Duration) tick    { return t + tick(d) }

func (m *lineModel) quorum() int {
	if m.Fault == quorumTooSmall {
		return 1
	}
	return quorum.Size(masters)
}

func (m *lineModel) plain(a int) bool { return m.Plain&(1<<a) != 0 }

// A lineSearch visits every state of a lineModel.
type lineSearch struct {
	explorer[lineState]
	m     *lineModel
	blank line.Waiter[uint8, tick] // see waiter
}

// Search searches a model completely, or until a property does not hold.
func (m *lineModel) Search() Result {
	x := &lineSearch{m: m}
	x.blank.Terms = line.Terms[tick]{Masters: masters, Quorum: m.quorum(), Fenced: m.Fencing && m.Fault != unknownFenceCounts}
	x.blank = x.blank.Join(0)
	x.explorer = explorer[lineState]{steps: x.steps, forget: m.forget, enter: x.enter, text: (*lineState).String}
	return x.search(m.Most, x.start())
}

// start returns the state in which a search begins.
func (x *lineSearch) start() (s lineState) {
	m := x.m
	for i := range masters {
		s.columns[i].mark = 1
	}
	if m.Apart {
		s.columns[0].register = 1
	}
	if m.InLine == 0 {
		return s
	}
	for a := range 1 + m.InLine {
		s.attempts[a].phase = asking
		x.asks(&s, a, func(q *lineAsk, version uint8) { q.join = version })
		for i := range masters {
			if a > 0 {
				s.columns[i].asks[a].join, s.columns[i].line[a] = 0, lineEntry{version: 1}
			}
		}
	}
	for i := range m.quorum() {
		c := &s.columns[i]
		c.asks[0].join, c.lock = 0, lock{m.owner(0), m.TTL}
		if m.Fencing {
			c.register = 1
		}
	}
	if m.Fencing {
		s.attempts[0].token = 1
	}
	m.takes(&s, 0, m.TTL)
	return s
}

func (x *lineSearch) enter(s *lineState) (fingerprint uint64, counted int, broken property) {
	m := x.m
	holders := 0
	for a := range m.Attempts {
		if at := &s.attempts[a]; at.phase == held && s.now < at.until {
			holders++
		}
	}
	s.broken.notes(m.Only, twoHolders, holders > 1 && !m.Vanish)
	return fingerprintOf(x.seed, s.lineCore, s.columns[:]), bits.OnesCount8(s.held), s.broken
}

// forget clears everything that no later step depends on.
func (m *lineModel) forget(s *lineState) {
	for a := range m.Attempts {
		at := &s.attempts[a]
		switch at.phase {
		case idle:
			continue
		case held:
			if s.now >= at.until {
				m.ends(at)
			}
		}
		for i := range masters {
			c := &s.columns[i]
			q, e := &c.asks[a], &c.line[a]
			if e.version > 0 && s.now > e.stamp+m.Stale {
				*e = lineEntry{version: staleVersion}
				if q.stay == 0 && (at.phase != asking || at.stays == m.Stays) {
					*e = lineEntry{}
				}
			}
			if at.phase == ended && q.extend == underWay && c.lock.owner != m.owner(a) {
				q.extend = notSent
			}
			if m.Fault != countsFromArrival {
				q.grant.dropIfOver(at, s.now)
				q.more.dropIfOver(at, s.now)
			}
			if q.seat.ends <= s.now && m.Fault != deadGrantCounts {
				q.seat.ends, q.seat.fence = 0, 0
			}
			if at.phase == held || at.phase == ended && m.Fault != countsGivenUp {
				q.grant, q.more = offer{}, offer{}
				q.seat.ends, q.seat.fence = 0, 0
				q.decided, q.stored = false, false
				if !at.extending && (at.phase == ended || q.extend == acknowledged) {
					q.extend = notSent
				}
			}
		}
	}
}

// ends makes an attempt one that has given up.
func (m *lineModel) ends(at *lineAttempt) {
	place := at.place
	*at = lineAttempt{phase: ended, token: at.token}
	if at.place.Ended = true; m.Fault == countsGivenUp {
		at.place = place
	}
}

// dropIfOver drops an offer whose lease is over.
func (o *offer) dropIfOver(at *lineAttempt, now uint8) {
	if !at.place.Ended && at.ends(*o) <= now {
		*o = offer{}
	}
}

// ends returns when the lease of an offer ends, as a waiting attempt reckons; 0: the offer does not count.
func (at *lineAttempt) ends(o offer) uint8 {
	var seat line.Seat[tick]
	place := at.place
	place.Grant(&seat, uint32(o.version), time.Duration(o.lease), 0)
	return uint8(seat.Ends)
}

// String shows the masters and the attempts that have begun.
func (s *lineState) String() string {
	text := fmt.Sprintf("t=%d", s.now)
	for i := range s.columns {
		c := &s.columns[i]
		text += fmt.Sprintf(" | lock %c until %d line ", ".ABC"[c.lock.owner], c.lock.until)
		for a, e := range c.line {
			if e.version > 0 {
				text += fmt.Sprintf("%c%d", 'A'+a, e.version)
			}
		}
		if c.register > 0 {
			text += fmt.Sprintf(" reg %d", c.register)
		}
	}
	for i := range s.attempts {
		if a := &s.attempts[i]; a.phase != idle {
			text += fmt.Sprintf(" | %c %v", 'A'+i, a.phase)
			if a.token > 0 {
				text += fmt.Sprintf(" T=%d", a.token)
			}
			if a.phase == held {
				text += fmt.Sprintf(" until %d", a.until)
			}
		}
	}
	return text
}
