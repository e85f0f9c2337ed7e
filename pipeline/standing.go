package pipeline

import (
	"errors"
	"time"

	"muxlock/internal/fencing"
)

// A standing is what Config.Changed is told of a master: that it is away, that it is up and
// waits, or that it votes.
type standing struct {
	up, votes bool
	from      time.Time // while it waits: the end of that; zero: not known
}

// report calls Config.Changed if the master has another standing than was reported last, unless
// the pipeline closes. Run calls it where a standing may have changed: between two sessions, and
// after the answers to maintenance, since a check is sent when a wait has ended (tickLocked).
func (m *master) report() {
	p := m.p
	p.mu.Lock()
	now, cause := m.standingLocked(time.Now())
	if now == m.reported || errors.Is(cause, errClosing) {
		p.mu.Unlock()
		return
	}
	m.reported = now
	p.mu.Unlock()
	if p.changed != nil {
		p.changed(m.address, now.up, cause)
	}
}

// standingLocked returns the master's standing, and why it does not vote. Where an admission takes
// its next step at this moment, it is the one that was reported last.
func (m *master) standingLocked(now time.Time) (standing, error) {
	if !m.up {
		return standing{}, m.cause
	}
	why := m.notVoting(now)
	if why == nil {
		return standing{up: true, votes: true}, nil
	}
	if m.p.set != nil && m.p.set.Foreign(m.member.Shown) == nil {
		step := m.member.admission.Next(now)
		if step == fencing.Keep || step == fencing.Open || step == fencing.Seed && m.member.read == 0 {
			return m.reported, nil
		}
	}
	return standing{up: true, from: m.votesFrom()}, why
}

// notVoting returns why the master is not sent acquires, or nil if it is. The caller holds Pipeline.mu.
func (m *master) notVoting(now time.Time) error {
	if m.p.set != nil {
		return m.notMember(now)
	}
	return m.admission.NotVoting(now)
}

// votesFrom returns the end of the wait of a master that does not vote.
func (m *master) votesFrom() time.Time {
	if m.p.set == nil {
		return m.admission.VotesFrom
	}
	if m.member.admission.Next(time.Now()) != fencing.Wait {
		return time.Time{}
	}
	_, until := m.member.admission.Ticket()
	return until
}
