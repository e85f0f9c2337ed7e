package model

import (
	"fmt"
	"math/bits"
	"slices"

	"muxlock/internal/quorum"
)

// A readersModel is a configuration of readers and writers of one name, small enough to be searched completely.
//
// A master has one key for the name. A writer's key is a string, its token. The readers' key is a set of tokens. Each
// token has an expiry by the master's clock, and the key expires with the last token. A writer is granted if there is no key.
// A reader is granted, in one step, unless a writer has the key or an intent lives. An intent is a key of its own. A refused
// writer sets the intent, which then refuses new readers for a while.
//
// Messages arrive late or never, and nobody knows which. A process may hand over a writer's lease to its next writer.
// That would lead to the same state, so there is no such step.
type readersModel struct {
	Claims []claim // of each attempt

	Horizon uint8 // in ticks
	Intent  uint8 // how long an intent lives; 0: writers set none
	Wait    uint8 // of a master before it votes again
	Cuts    bool  // a connection may break, and an acquire from before then arrives behind what was sent later
	Extends bool  // holders extend their leases, once
	Heals   bool  // holders heal
	Queue   bool  // a heal waits before it is sent, and a release does not wait for it
	Short   bool  // a heal asks for one tick
	Reveals bool  // another process knows the first attempt's token, and may release it; such a lease does not heal
	Joins   bool  // another reader of the process joins a reader's lease
	Fencing bool  // writers have fences
	Apart   bool  // at the start the first master's register is 1
	Crashes uint8 // how often a master restarts empty

	Only  property // to check; 0: all
	Fault readersFault
	Most  int // number of states after which a search ends early; 0: no limit
}

// A claim is what an attempt asks for: to read or to write, and for how many ticks.
type claim struct {
	reads bool
	ttl   uint8
}

// A readersFault leaves out one rule.
type readersFault uint8

const (
	_                   readersFault = iota
	countsReaders                    // the key has a counter, no tokens
	looksFirst                       // a reader's acquire looks whether it may, and adds its token in a second step
	ownKey                           // as looksFirst, and readers have a key of their own
	latestCame                       // the key expires with the reader that came last
	latestExtended                   // the key expires with the reader that extended last
	expiryStays                      // a release leaves the expiry of the key
	extendAdds                       // an extend adds the token, or sets the key, if it is gone
	intentVotes                      // a master that has an intent votes for its writer
	callersClock                     // the caller's clock removes readers, and is a tick ahead
	oneReads                         // one grant is enough to read
	releasesAny                      // a writer's release does not compare
	restartVotes                     // a restarted master votes at once
	restartReads                     // a restarted master votes at once, but only for readers
	readerHandsOver                  // a reader hands its lease over to a writer of its process
	readersHaveFences                // readers have fences, and raise no register to them
	readersOnlyIncrease              // readers increase the registers, and have no fence

	// Of heals:
	healsWhereNoVote  // a heal goes to masters that wait
	healOverwrites    // a heal sets the key whatever is there
	healVotes         // a heal's answer is a vote of the extend, and validity counts from the answer
	healMovesIn       // a reader's heal sets its expiry, even to an earlier time
	healsWhenOver     // a lease heals and extends when its validity is over
	healIsRepeated    // a heal is sent again behind the release
	healStaysQueued   // a heal that waits is not dropped when the lease ends
	healIsSentBlindly // a heal that waits is sent though the master no longer votes
	healIsForgotten   // a release is not repeated though a heal may arrive behind it
	healsRevealed     // a lease heals whose token another process knows
)

const readersAttempts = 4

// A readersState is the masters, the messages under way, and what each attempt knows.
type readersState struct {
	readersCore
	columns [masters]readersColumn
}

type readersCore struct {
	now      uint8
	broken   property
	attempts [readersAttempts]readersAttempt
	held     uint8 // attempts that have held, one bit each
	last     uint8 // the last holder's fence
	crashes  uint8 // so far
}

type readersAttempt struct {
	phase            phase
	readers, writers uint8 // how many of its process hold by its lease
	token            uint8 // its fence
	since, until     uint8
	extended         uint8 // 1 plus the time of its extension; 0: not yet
	over             bool  // with healsWhenOver: its validity has ended
}

// A readersColumn is a master, and what attempts have asked the master.
type readersColumn struct {
	writer    lock
	readers   [readersAttempts]uint8 // expiry of each token; 0: it is not in the set
	until     uint8                  // expiry of the set; 0: there is none
	count     uint8                  // with countsReaders
	intent    uint8                  // its expiry; 0: there is none
	register  uint8
	votesFrom uint8
	asks      [readersAttempts]readersAsk
}

type readersAsk struct {
	acquire  passage
	granted  bool
	refused  bool  // the writer may set an intent, as often as it likes
	released bool  // its release was executed
	fence    uint8 // of the grant
	extend   delivery
	heal     passage
	decided  bool // the grant was seen when the fence was decided
	stored   bool // the grant was the fence
}

// has reports whether a master has an attempt's token.
func (c *readersColumn) has(a int) bool { return c.writer.owner == uint8(a+1) || c.readers[a] != 0 }

// quorum returns how many grants an attempt needs.
func (m *readersModel) quorum(a int) int {
	if m.Fault == oneReads && m.Claims[a].reads {
		return 1
	}
	return quorum.Size(masters)
}

// after returns when a lease of an attempt ends that begins at from. All times beyond the horizon are alike.
func (m *readersModel) after(from uint8, a int) uint8 { return m.limit(from + m.Claims[a].ttl) }

func (m *readersModel) limit(at uint8) uint8 { return min(at, m.Horizon+1) }

// A readersSearch visits every state of a readersModel.
type readersSearch struct {
	explorer[readersState]
	m *readersModel
}

// Search searches a model completely, or until a property does not hold.
func (m *readersModel) Search() Result {
	x := &readersSearch{m: m}
	x.explorer = explorer[readersState]{steps: x.steps, forget: m.forget, enter: x.enter, text: m.text}
	var start readersState
	if m.Apart {
		start.columns[0].register = 1
	}
	return x.search(m.Most, start)
}

func (x *readersSearch) enter(s *readersState) (fingerprint uint64, counted int, broken property) {
	x.m.check(s)
	return fingerprintOf(x.seed, s.readersCore, s.columns[:]), bits.OnesCount8(s.held), s.broken
}

// check looks for a writer beside another holder, for tokens that were released, and for a key that outlives its readers.
func (m *readersModel) check(s *readersState) {
	var readers, writers uint8
	for a := range m.Claims {
		at := &s.attempts[a]
		readers, writers = readers+at.readers, writers+at.writers
		for i := range masters {
			c := &s.columns[i]
			s.broken.notes(m.Only, leaked, c.asks[a].released && c.has(a))
		}
	}
	s.broken.notes(m.Only, twoHolders, writers > 1 || writers == 1 && readers > 0)
	for i := range masters {
		c := &s.columns[i]
		s.broken.notes(m.Only, leaked, c.until > slices.Max(c.readers[:]))
	}
}

// forget clears everything that no later step depends on.
func (m *readersModel) forget(s *readersState) {
	for a := range m.Claims {
		at := &s.attempts[a]
		switch {
		case at.phase == idle:
			continue
		case m.Fault == healsWhenOver && at.phase == held && s.now >= at.until:
			at.over, at.readers, at.writers = true, 0, 0
		case at.phase == asking && s.now >= m.after(at.since, a), at.phase > asking && at.phase < ended && s.now >= at.until:
			at.ends()
		}
		extends := false
		for i := range masters {
			c := &s.columns[i]
			q := &c.asks[a]
			if at.phase != asking {
				q.granted, q.fence = false, 0
			}
			if at.phase != raising {
				q.decided, q.stored = false, false
			}
			if q.extend == acknowledged && (at.phase == ended || at.phase == held && at.extended == 0) {
				q.extend = notSent
			}
			if at.phase == ended && q.heal == unsent && m.Fault != healStaysQueued {
				q.heal = nowhere
			}
			if at.phase == ended && m.isGone(c, a) {
				q.released, q.extend = false, notSent
			}
			extends = extends || q.extend == underWay
		}
		if at.phase == ended && !extends {
			at.token = 0
		}
	}
	for i := range masters {
		if c := &s.columns[i]; !m.awaitsReaders(s, c) {
			c.intent = 0
			for a := range c.asks {
				c.asks[a].refused = c.asks[a].refused && m.Fault == intentVotes
			}
		}
	}
}

// awaitsReaders reports whether a reader will ask a master. An intent would refuse the reader.
func (m *readersModel) awaitsReaders(s *readersState, c *readersColumn) bool {
	for a, claim := range m.Claims {
		if claim.reads && (s.attempts[a].phase == idle || c.asks[a].acquire != nowhere) {
			return true
		}
	}
	return false
}

// isGone reports whether no message from an attempt can change a master any more.
func (m *readersModel) isGone(c *readersColumn, a int) bool {
	switch q := &c.asks[a]; {
	case q.acquire != nowhere || q.heal != nowhere || c.has(a):
		return false
	case m.Fault == countsReaders && m.Claims[a].reads, m.Fault == releasesAny && !m.Claims[a].reads:
		return q.released
	case m.Fault == extendAdds:
		return q.extend != underWay
	case m.Fault == healIsRepeated:
		return false
	}
	return true
}

// ends makes an attempt one that has given up or released.
func (at *readersAttempt) ends() { *at = readersAttempt{phase: ended, token: at.token} }

// text shows the masters and the attempts that have begun. In braces are readers.
func (m *readersModel) text(s *readersState) string {
	text := fmt.Sprintf("t=%d", s.now)
	for i := range masters {
		c := &s.columns[i]
		text += " | key"
		if c.writer.owner != 0 {
			text += fmt.Sprintf(" %c until %d", 'A'+c.writer.owner-1, c.writer.until)
		}
		for a, until := range c.readers {
			if until != 0 {
				text += fmt.Sprintf(" {%c until %d}", 'A'+a, until)
			}
		}
		for _, n := range []struct {
			what string
			n    uint8
		}{{"until", c.until}, {"count", c.count}, {"intent until", c.intent}, {"reg", c.register}} {
			if n.n > 0 {
				text += fmt.Sprintf(" %s %d", n.what, n.n)
			}
		}
	}
	for a := range m.Claims {
		at := &s.attempts[a]
		if at.phase != idle {
			text += fmt.Sprintf(" | %c %v", 'A'+a, at.phase)
		}
		if at.phase == held {
			text += fmt.Sprintf(" until %d: %d read, %d write, fence %d", at.until, at.readers, at.writers, at.token)
		}
	}
	return text
}
