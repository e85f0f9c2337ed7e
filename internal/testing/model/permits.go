package model

import (
	"fmt"
	"hash/maphash"
	"math/bits"

	"muxlock/internal/quorum"
)

// A permitsModel is a configuration of permits of one name, small enough to be searched completely.
//
// Each permit is a slot, with a key of its own. An attempt asks a master for several slots, in an order of its own. The master
// sets the key of the first that is free, to the token of that slot. A slot with a quorum of grants is won. What masters have
// granted beside it is released, as is all of an attempt that won none. Messages arrive late or never, and nobody knows which.
type permitsModel struct {
	Name     string
	Masters  int
	Attempts int
	Slots    int     // how many permits there are
	Orders   [][]int // in which slots are asked for; an attempt chooses one

	TTL, Horizon uint8 // in ticks
	Wait         uint8 // of a master before it votes again
	Unsent       bool  // an acquire waits before it is sent, and may be dropped with its releases meanwhile
	Cuts         bool  // a connection may break, and an acquire from before then arrives behind what was sent later
	Crashes      uint8 // how often a master restarts empty

	Only  property // to check; 0: all
	Fault permitsFault
	Most  int // number of states after which a search ends early; 0: no limit
}

// A permitsFault is a rule that is left out.
type permitsFault uint8

const (
	firstFree      permitsFault = iota
	countsUnits                 // a master counts its permits, and has no slots: any of its units is a vote
	anySlotVotes                // votes are added up, whichever slot they are for
	grantsEach                  // a master grants every slot that is free, and votes for each
	fromCompletion              // validity counts from when the permit is won
	restartGrants               // a restarted master votes at once
	surplusStays                // what was granted beside the slot that was won is forgotten
	oneOfThree                  // one is a quorum
)

const (
	permitsMasters = 3
	permitsSlots   = 3
)

// A slotSet is a set of slots, one bit each.
type slotSet uint8

// A permitsState is everything, as a state is.
type permitsState struct {
	permitsCore
	columns [permitsMasters]permitsColumn
}

type permitsCore struct {
	now      uint8
	broken   property
	attempts [maxAttempts]permitsAttempt
	held     uint8 // attempts that have held, one bit each
	crashes  uint8 // so far
}

type permitsAttempt struct {
	phase        phase
	order        uint8 // index of its order
	slot         uint8 // that it holds
	since, until uint8
}

// A permitsColumn is a master, and everything that attempts have asked it.
type permitsColumn struct {
	locks     [permitsSlots]lock
	votesFrom uint8
	asks      [maxAttempts]permitsAsk
}

type permitsAsk struct {
	acquire  passage
	granted  slotSet
	released slotSet // whose release was executed or dropped
}

// of returns the slots whose keys there have an attempt's tokens.
func (c *permitsColumn) of(a int) (some slotSet) {
	for slot, l := range c.locks {
		if l.owner == uint8(a+1) {
			some |= 1 << slot
		}
	}
	return some
}

func (m *permitsModel) quorum() int {
	if m.Fault == oneOfThree {
		return 1
	}
	return quorum.Size(m.Masters)
}

// after returns the time that is so many ticks later. All times beyond the horizon are alike.
func (m *permitsModel) after(from, ticks uint8) uint8 { return min(from+ticks, m.Horizon+1) }

// A permitsSearch visits every state of a permitsModel.
type permitsSearch struct {
	explorer[permitsState]
	m    *permitsModel
	seed maphash.Seed
	held int
}

// Search searches a model completely, or until a property does not hold. Result.Counted is the most attempts that have
// held in one state.
func (m *permitsModel) Search() (r Result) {
	x := &permitsSearch{m: m, seed: maphash.MakeSeed()}
	x.explorer = explorer[permitsState]{steps: x.steps, forget: m.forget, enter: x.enter}
	r = x.search(make([]permitsState, 1), m.Most, m.text)
	r.Counted = x.held
	return r
}

func (x *permitsSearch) enter(s *permitsState) (fingerprint uint64, broken property) {
	x.m.check(s)
	x.held = max(x.held, bits.OnesCount8(s.held))
	return fingerprintOf(x.seed, s.permitsCore, s.columns[:x.m.Masters]), s.broken
}

// check looks for too many holders, a slot with two, one that no quorum has, and keys without anybody to release them.
func (m *permitsModel) check(s *permitsState) {
	var holders [permitsSlots]int
	all := 0
	for a := range m.Attempts {
		for i := range m.Masters {
			c := &s.columns[i]
			s.broken.notes(m.Only, leaked, c.of(a)&c.asks[a].released != 0)
		}
		if at := &s.attempts[a]; at.phase == held {
			all++
			holders[at.slot]++
			s.broken.notes(m.Only, tooMany, all > m.Slots)
			s.broken.notes(m.Only, twoHolders, holders[at.slot] > 1)
			s.broken.notes(m.Only, half, m.standing(s, a) < m.quorum())
		}
	}
}

// standing returns the number of masters that have the key of an attempt's slot. Masters that restarted and do not vote count,
// too.
func (m *permitsModel) standing(s *permitsState, a int) int {
	return bits.OnesCount8(where(s.columns[:m.Masters], func(c *permitsColumn) bool {
		return c.of(a)&(1<<s.attempts[a].slot) != 0 || s.now < c.votesFrom
	}))
}

// forget clears everything that no later step depends on.
func (m *permitsModel) forget(s *permitsState) {
	for a := range m.Attempts {
		at := &s.attempts[a]
		switch {
		case at.phase == idle:
			continue
		case at.phase == asking && s.now >= m.after(at.since, m.TTL) && m.Fault != fromCompletion, at.phase == held && s.now >= at.until:
			*at = permitsAttempt{phase: ended, order: at.order}
		}
		done := true
		for i := range m.Masters {
			c := &s.columns[i]
			q := &c.asks[a]
			if at.phase != asking {
				q.granted = 0
			}
			if q.acquire == nowhere {
				q.released &= c.of(a)
			}
			done = done && q.acquire == nowhere
		}
		if done && at.phase != idle {
			at.order = 0
		}
	}
}

// text shows the masters and the attempts that have begun.
func (m *permitsModel) text(s *permitsState) string {
	text := fmt.Sprintf("t=%d", s.now)
	for i := range m.Masters {
		text += " | slots"
		for slot, l := range s.columns[i].locks {
			if l.owner != 0 {
				text += fmt.Sprintf(" %d:%c until %d", slot, 'A'+l.owner-1, l.until)
			}
		}
	}
	for a := range m.Attempts {
		at := &s.attempts[a]
		if at.phase != idle {
			text += fmt.Sprintf(" | %c %s", 'A'+a, [...]string{asking: "asks", held: "holds", ended: "ended"}[at.phase])
		}
		if at.phase == held {
			text += fmt.Sprintf(" slot %d until %d", at.slot, at.until)
		}
	}
	return text
}
