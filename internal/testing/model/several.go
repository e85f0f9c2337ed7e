package model

import (
	"fmt"
	"math/bits"

	"muxlock/internal/quorum"
)

// A severalModel is a configuration in which each attempt asks for several keys at once. The attempt gets all keys of a set of
// names, or one permit: the first free slot of a choice. The model is small enough to be searched completely.
//
// A master gets one acquire for all keys, each with a token of its own. Of a set it sets every key or none, of a choice the
// first that is free. Every key is undone or released with a message of its own. An attempt that did not win undoes all its
// keys; the winner of a slot undoes the other slots. Messages arrive late or never, and nobody knows which.
type severalModel struct {
	Sets   []keySet // of each attempt
	Orders [][]int  // of the slots of a choice: each attempt picks one order; nil: attempts ask for sets

	TTL, Horizon uint8 // in ticks
	Wait         uint8 // of a master before it votes again
	Unsent       bool  // an acquire waits before it is sent, and may be dropped with its releases meanwhile
	Cuts         bool  // a connection may break, and an acquire from before then arrives behind what was sent later
	Extends      bool  // holders extend the leases of all their keys, each by itself, once
	Heals        bool  // holders heal each of their keys by itself
	Crashes      uint8 // how often a master restarts empty

	Only  property // to check; 0: all
	Fault severalFault
	Most  int // number of states after which a search ends early; 0: no limit
}

// A severalFault leaves out one rule.
type severalFault uint8

const (
	_ severalFault = iota
	restartVotesAtOnce
	oneOfThree // one is a quorum

	// Of sets:
	anyNameVotes
	tokensAreReused  // the second attempt is a retry of the first
	oneByOne         // the names are taken in order, and validity counts from the last
	dropsReleaseOnly // a waiting release is dropped, and the acquire before it is sent
	longestCounts    // a set is valid as long as any of its names

	// Of permits:
	countsUnits    // masters count permits and have no slots: any permit of a master is a vote
	anySlotVotes   // votes are added up, whichever slot they are for
	grantsEach     // a master grants every slot that is free, and votes for each
	fromCompletion // validity counts from when the permit is won
	surplusStays   // the winner forgets what was granted beside its slot

	// Of heals:
	keyHealsWhereNoVote // a heal goes to masters that wait
	keyHealStaysQueued  // a heal that waits is not dropped when the lease ends
	slotHealsAsAsked    // a heal of a slot is the choice once more
)

const severalKeys = 3

// keySet is a set of keys, one bit each.
type keySet uint8

// all yields each key of a set.
func (s keySet) all(yield func(key int) bool) {
	for ; s != 0; s &= s - 1 {
		if !yield(bits.TrailingZeros8(uint8(s))) {
			return
		}
	}
}

// A severalState is the masters, the messages under way, and what each attempt knows.
type severalState struct {
	severalCore
	columns [masters]severalColumn
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
	asked    keySet // by its latest acquire: all of its set
	order    uint8  // index in Orders
	has      keySet // what it holds
	since    uint8
	until    [severalKeys]uint8
	extended uint8 // 1 plus the time of its extension; 0: not yet
}

// A severalColumn is a master, and what attempts have asked the master.
type severalColumn struct {
	locks     [severalKeys]lock
	votesFrom uint8
	asks      [maxAttempts]severalAsk
}

type severalAsk struct {
	acquire  passage
	granted  keySet
	released keySet // whose release was executed or dropped
	extends  [severalKeys]delivery
	heals    [severalKeys]passage
}

// of returns the keys that have an owner's tokens. With owner 0 it returns the free keys.
func (c *severalColumn) of(owner uint8) (some keySet) {
	for key, l := range c.locks {
		if l.owner == owner {
			some |= 1 << key
		}
	}
	return some
}

func (m *severalModel) quorum() int {
	if m.Fault == oneOfThree {
		return 1
	}
	return quorum.Size(masters)
}

// owner stands for the tokens of an attempt, one per key.
func (m *severalModel) owner(a int) uint8 {
	if m.Fault == tokensAreReused && a == 1 {
		a = 0
	}
	return uint8(a + 1)
}

// after returns the time so many ticks after from. All times beyond the horizon are alike.
func (m *severalModel) after(from, ticks uint8) uint8 { return min(from+ticks, m.Horizon+1) }

// until returns the end of a holder's validity: the least of its keys'.
func (m *severalModel) until(at *severalAttempt) uint8 {
	until, longest := m.Horizon+1, uint8(0)
	for key := range at.has.all {
		until, longest = min(until, at.until[key]), max(longest, at.until[key])
	}
	if m.Fault == longestCounts {
		return longest
	}
	return until
}

// A severalSearch visits every state of a severalModel.
type severalSearch struct {
	explorer[severalState]
	m *severalModel
}

// Search searches a model completely, or until a property does not hold.
func (m *severalModel) Search() Result {
	x := &severalSearch{m: m}
	x.explorer = explorer[severalState]{steps: x.steps, forget: m.forget, enter: x.enter, text: m.text}
	return x.search(m.Most, severalState{})
}

func (x *severalSearch) enter(s *severalState) (fingerprint uint64, counted int, broken property) {
	x.m.check(s)
	return fingerprintOf(x.seed, s.severalCore, s.columns[:]), bits.OnesCount8(s.held), s.broken
}

// check looks for too many holders, a key with two holders, a holder without a quorum, and keys that nobody will release.
func (m *severalModel) check(s *severalState) {
	var holders [severalKeys]int
	all := 0
	for a := range m.Sets {
		for i := range masters {
			c := &s.columns[i]
			s.broken.notes(m.Only, leaked, c.of(m.owner(a))&c.asks[a].released != 0)
		}
		at := &s.attempts[a]
		if at.phase == held {
			all++
			s.broken.notes(m.Only, tooMany, m.Orders != nil && all > bits.OnesCount8(uint8(m.Sets[a])))
		}
		for key := range at.has.all {
			holders[key]++
			s.broken.notes(m.Only, twoHolders, holders[key] > 1)
			s.broken.notes(m.Only, half, m.standing(s, a, 1<<key) < m.quorum())
		}
	}
}

// standing returns how many masters have some keys of an attempt. A restarted master that does not vote yet counts, too.
func (m *severalModel) standing(s *severalState, a int, some keySet) int {
	return bits.OnesCount8(where(s.columns[:], func(c *severalColumn) bool {
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
		case at.phase == asking && s.now >= m.after(at.since, m.TTL) && m.Fault != fromCompletion, at.phase == held && s.now >= m.until(at):
			at.ends()
		}
		executed := true
		for i := range masters {
			c := &s.columns[i]
			q := &c.asks[a]
			if at.phase != asking {
				q.granted = 0
			}
			for key := range q.extends {
				if at.phase == ended && q.heals[key] == unsent && m.Fault != keyHealStaysQueued {
					q.heals[key] = nowhere
				}
				gone := m.isGone(c, a, key)
				if at.phase == ended && (gone || q.extends[key] == acknowledged) {
					q.extends[key] = notSent
				}
				if gone {
					q.released &^= 1 << key
				}
			}
			executed = executed && q.acquire == nowhere
		}
		if executed {
			at.order = 0
		}
	}
}

// isGone reports whether a master has no such key of an attempt, and will have none unless the attempt asks again.
func (m *severalModel) isGone(c *severalColumn, a, key int) bool {
	q := &c.asks[a]
	return q.acquire == nowhere && q.heals == [severalKeys]passage{} && c.locks[key].owner != m.owner(a) && m.Fault != tokensAreReused
}

// ends makes an attempt one that has given up or released.
func (at *severalAttempt) ends() {
	*at = severalAttempt{phase: ended, asked: at.asked, order: at.order}
}

// text shows the masters and the attempts that have begun.
func (m *severalModel) text(s *severalState) string {
	text := fmt.Sprintf("t=%d", s.now)
	for i := range masters {
		text += " | keys"
		for key, l := range s.columns[i].locks {
			if l.owner != 0 {
				text += fmt.Sprintf(" %c:%c until %d", 'a'+key, 'A'+l.owner-1, l.until)
			}
		}
	}
	for a := range m.Sets {
		at := &s.attempts[a]
		if at.phase == idle {
			continue
		}
		text += fmt.Sprintf(" | %c %v", 'A'+a, at.phase)
		for key := range at.has.all {
			text += fmt.Sprintf(" %c", 'a'+key)
		}
		if at.phase == held {
			text += fmt.Sprintf(" until %d", m.until(at))
		}
	}
	return text
}
