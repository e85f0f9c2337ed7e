package model

import (
	"fmt"
	"hash/maphash"
	"math/bits"

	"muxlock/internal/quorum"
)

// A severalModel is a configuration of sets: each attempt asks for several names, and gets all or none. It is small enough
// to be searched completely.
//
// A master gets one acquire for all names of a set. It sets every key or none, each key to a token of its own. The set is
// undone or released with a message per name. Messages arrive late or never, and nobody knows which.
type severalModel struct {
	Name    string
	Masters int
	Sets    []nameSet // of each attempt

	TTL, Horizon uint8 // in ticks
	Wait         uint8 // of a master before it votes again
	Unsent       bool  // an acquire waits before it is sent, and may be dropped with its releases meanwhile
	Cuts         bool  // a connection may break, and an acquire from before then arrives behind what was sent later
	Extends      bool  // holders extend the leases of all their names, each by itself, once
	Crashes      uint8 // how often a master restarts empty

	Only  property // to check; 0: all
	Fault severalFault
	Most  int // number of states after which a search ends early; 0: no limit
}

// A severalFault is a rule that is left out.
type severalFault uint8

const (
	allOrNone severalFault = iota
	anyNameVotes
	tokensAreReused // the second attempt is a retry of the first
	oneByOne        // the names are taken in order, and validity counts from the last
	restartedVotes
	dropsReleaseOnly // a release that waits is dropped, and the acquire before it is sent
	longestCounts    // a set is valid as long as any of its names
	smallQuorum
)

const (
	severalMasters = 3
	severalNames   = 3
)

// nameSet is a set of names, one bit each.
type nameSet uint8

// all yields each name of a set.
func (s nameSet) all(yield func(name int) bool) {
	for ; s != 0; s &= s - 1 {
		if !yield(bits.TrailingZeros8(uint8(s))) {
			return
		}
	}
}

// A severalState is everything, as a state is.
type severalState struct {
	severalCore
	columns [severalMasters]severalColumn
}

type severalCore struct {
	now      uint8
	broken   property
	attempts [maxAttempts]severalAttempt
	held     uint8 // attempts that have held, one bit each
	crashes  uint8 // so far
}

type severalAttempt struct {
	phase    phase
	asked    nameSet // by its latest acquire: all of its set
	since    uint8
	until    [severalNames]uint8
	extended uint8 // 1 plus the time of its extension; 0: not yet
}

// A severalColumn is a master, and everything that attempts have asked it.
type severalColumn struct {
	locks     [severalNames]lock
	votesFrom uint8
	asks      [maxAttempts]severalAsk
}

type severalAsk struct {
	acquire  passage
	granted  bool
	released nameSet // whose release was executed or dropped
	extends  [severalNames]delivery
}

// of returns the names whose keys there have an owner's tokens. With owner 0 it returns the free names.
func (c *severalColumn) of(owner uint8) (some nameSet) {
	for name, l := range c.locks {
		if l.owner == owner {
			some |= 1 << name
		}
	}
	return some
}

func (m *severalModel) quorum() int {
	if m.Fault == smallQuorum {
		return m.Masters / 2
	}
	return quorum.Size(m.Masters)
}

// owner stands for the tokens of an attempt, one per name.
func (m *severalModel) owner(a int) uint8 {
	if m.Fault == tokensAreReused && a == 1 {
		a = 0
	}
	return uint8(a + 1)
}

// after returns the time that is so many ticks later. All times beyond the horizon are alike.
func (m *severalModel) after(from, ticks uint8) uint8 { return min(from+ticks, m.Horizon+1) }

// until returns the end of a set's validity: the least of its names'.
func (m *severalModel) until(at *severalAttempt, a int) uint8 {
	until, longest := m.Horizon+1, uint8(0)
	for name := range m.Sets[a].all {
		until, longest = min(until, at.until[name]), max(longest, at.until[name])
	}
	if m.Fault == longestCounts {
		return longest
	}
	return until
}

// A severalSearch visits every state of a severalModel.
type severalSearch struct {
	explorer[severalState]
	m    *severalModel
	seed maphash.Seed
	held int
}

// Search searches a model completely, or until a property does not hold. Result.Counted is the most attempts that have
// held in one state.
func (m *severalModel) Search() (r Result) {
	x := &severalSearch{m: m, seed: maphash.MakeSeed()}
	x.explorer = explorer[severalState]{steps: x.steps, forget: m.forget, enter: x.enter}
	r = x.search(make([]severalState, 1), m.Most, m.text)
	r.Counted = x.held
	return r
}

func (x *severalSearch) enter(s *severalState) (fingerprint uint64, broken property) {
	x.m.check(s)
	x.held = max(x.held, bits.OnesCount8(s.held))
	return fingerprintOf(x.seed, s.severalCore, s.columns[:x.m.Masters]), s.broken
}

// check looks for a name with two holders, a holder without a quorum, and keys without anybody to release them.
func (m *severalModel) check(s *severalState) {
	var holders [severalNames]int
	for a, set := range m.Sets {
		for i := range m.Masters {
			c := &s.columns[i]
			s.broken.notes(m.Only, leaked, c.of(m.owner(a))&c.asks[a].released != 0)
		}
		for name := range set.all {
			if s.attempts[a].phase == held {
				holders[name]++
				s.broken.notes(m.Only, twoHolders, holders[name] > 1)
				s.broken.notes(m.Only, half, m.standing(s, a, 1<<name) < m.quorum())
			}
		}
	}
}

// standing returns the number of masters that have an attempt's keys of some names. Masters that restarted and do not vote
// count, too.
func (m *severalModel) standing(s *severalState, a int, some nameSet) int {
	return bits.OnesCount8(where(s.columns[:m.Masters], func(c *severalColumn) bool {
		return c.of(m.owner(a))&some == some || s.now < c.votesFrom
	}))
}

// forget clears everything that no later step depends on.
func (m *severalModel) forget(s *severalState) {
	for a := range m.Sets {
		at := &s.attempts[a]
		switch {
		case at.phase == idle:
			continue
		case at.phase == asking && s.now >= m.after(at.since, m.TTL), at.phase == held && s.now >= m.until(at, a):
			at.ends()
		}
		for i := range m.Masters {
			c := &s.columns[i]
			q := &c.asks[a]
			if at.phase != asking {
				q.granted = false
			}
			for name := range q.extends {
				gone := m.isGone(c, a, name)
				if at.phase == ended && (gone || q.extends[name] == acknowledged) {
					q.extends[name] = notSent
				}
				if gone {
					q.released &^= 1 << name
				}
			}
		}
	}
}

// isGone reports whether a master has no key of an attempt for a name, and will have none, unless the attempt asks again.
func (m *severalModel) isGone(c *severalColumn, a, name int) bool {
	return c.asks[a].acquire == nowhere && c.locks[name].owner != m.owner(a) && m.Fault != tokensAreReused
}

// ends makes an attempt one that has given up or released.
func (at *severalAttempt) ends() { *at = severalAttempt{phase: ended, asked: at.asked} }

// text shows the masters and the attempts that have begun.
func (m *severalModel) text(s *severalState) string {
	text := fmt.Sprintf("t=%d", s.now)
	for i := range m.Masters {
		text += " | locks"
		for name, l := range s.columns[i].locks {
			if l.owner != 0 {
				text += fmt.Sprintf(" %c:%c until %d", 'a'+name, 'A'+l.owner-1, l.until)
			}
		}
	}
	for a, set := range m.Sets {
		at := &s.attempts[a]
		if at.phase == idle {
			continue
		}
		text += fmt.Sprintf(" | %c %s", 'A'+a, [...]string{asking: "asks", held: "holds", ended: "ended"}[at.phase])
		for name := range set.all {
			text += fmt.Sprintf(" %c", 'a'+name)
		}
		if at.phase == held {
			text += fmt.Sprintf(" until %d", m.until(at, a))
		}
	}
	return text
}
