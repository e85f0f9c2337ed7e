package model

import "slices"

// This file has how holders of readersModel heal: they acquire again where they may lack the key.

// votes reports whether an attempt asks a master for locks.
func (m *readersModel) votes(s *readersState, a int, c *readersColumn) bool {
	return s.now >= c.votesFrom || m.Fault == restartVotes || m.Fault == restartReads && m.Claims[a].reads
}

// isRevealed reports whether another process may release an attempt's token at a master.
func (m *readersModel) isRevealed(s *readersState, a int, q *readersAsk) bool {
	return m.Reveals && a == 0 && s.attempts[a].phase == held && q.acquire == nowhere
}

// heals has a holder heal at any master that votes and lacks the key, at any time, whatever its extends were answered.
func (x *readersSearch) heals(a int) {
	m, s := x.m, &x.state
	if !m.Heals || m.Reveals && a == 0 && m.Fault != healsRevealed {
		return
	}
	for i := range masters {
		c := &s.columns[i]
		if c.asks[a].heal != nowhere || c.has(a) || !m.votes(s, a, c) && m.Fault != healsWhereNoVote {
			continue
		}
		t := *s
		if t.columns[i].asks[a].heal = sent; m.Queue {
			t.columns[i].asks[a].heal = unsent
		}
		x.goes(&t, step{"heals", int8(a), int8(i), 0})
	}
}

// heal executes a heal, or sends one that waits. A heal is no vote, and an intent does not refuse it.
func (x *readersSearch) heal(a, i int) {
	m, t := x.m, x.state
	c, at := &t.columns[i], &t.attempts[a]
	q, until := &c.asks[a], m.after(t.now, a)
	if q.heal == unsent {
		if !m.votes(&t, a, c) && m.Fault != healIsSentBlindly {
			return
		}
		q.heal = sent
		x.goes(&t, step{"sends the heal", int8(a), int8(i), 0})
		return
	}
	if !q.acquire.isOvertaken(m.Cuts) {
		return
	}
	if q.heal == astray && m.Fault != healIsForgotten {
		q.released = false // its owner repeats the release
	}
	if m.Short {
		until = m.limit(t.now + 1)
	}
	q.heal = nowhere
	switch free := c.writer.owner == 0; {
	case m.Claims[a].reads && free && m.Fault == healMovesIn:
		c.readers[a] = until
		c.until = slices.Max(c.readers[:])
	case m.Claims[a].reads && free:
		c.remove(m, t.now)
		c.add(a, until, false)
	case !m.Claims[a].reads && (free && c.until == 0 || m.Fault == healOverwrites):
		c.writer = lock{uint8(a + 1), until}
		if m.Fencing {
			c.register = max(c.register+1, at.token)
		}
	default:
		x.goes(&t, step{"is not healed", int8(a), int8(i), 0})
		return
	}
	if m.Fault == healVotes && at.phase == held {
		q.extend, at.extended = acknowledged, 1+t.now
	}
	x.goes(&t, step{"is healed", int8(a), int8(i), 0})
}
