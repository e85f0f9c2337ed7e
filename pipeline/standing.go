package pipeline

import (
	"errors"
	"time"

	"muxlock/internal/fencing"
)

// A standing is what Config.Changed reports: the master is away, or up and waiting, or votes.
type standing struct {
	up, votes bool
	from      time.Time // the end of its wait; zero: not known, or it does not wait
}

// report calls Config.Changed if the standing is not the one reported last, unless the pipeline
// closes. Run calls report where the standing may have changed: between two sessions, and after the
// answers to maintenance. These show the end of a wait, too, since tickLocked then sends a check.
func (m *master) report() {
	p := m.p
	p.mu.Lock()
	now, cause := m.standingLocked(time.Now())
	if now == m.reported || errors.Is(cause, errClosing) {
		p.mu.Unlock()
		return
	}
	m.reported = now
	if now.votes {
		p.voted.Add(1)
	}
	p.mu.Unlock()
	if p.changed != nil {
		p.changed(m.address, now.up, cause)
	}
}

// standingLocked returns the master's standing, and why it does not vote. While an admission takes
// a step, the standing is the one reported last.
func (m *master) standingLocked(now time.Time) (standing, error) {
	switch {
	case m.resting:
		return m.reported, nil
	case !m.up:
		return standing{}, m.cause
	}
	why := m.notVoting(now)
	if why == nil {
		return standing{up: true, votes: true}, nil
	}
	if m.p.set != nil && m.member.foreign == nil {
		step := m.member.admission.Next(now)
		if step == fencing.Keep || step == fencing.Open || step == fencing.Seed && m.member.read == 0 {
			return m.reported, nil
		}
	}
	return standing{up: true, from: m.votesFrom()}, why
}

// notVoting returns why the master is not sent acquires; nil: it is. The caller holds Pipeline.mu.
func (m *master) notVoting(now time.Time) error {
	switch {
	case m.member.foreign != nil:
		return m.member.foreign
	case m.p.set != nil:
		return m.notMember(now)
	}
	return m.server.NotVoting(now)
}

// notVotingNow is notVoting for a caller that does not hold Pipeline.mu.
func (m *master) notVotingNow() error {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	return m.notVoting(time.Now())
}

// votesFrom returns when the wait of a master that does not vote ends; zero: not known.
func (m *master) votesFrom() time.Time {
	switch {
	case m.member.foreign != nil:
		return time.Time{}
	case m.p.set == nil:
		return m.server.VotesFrom
	case m.member.admission.Next(time.Now()) != fencing.Wait:
		return time.Time{}
	}
	_, until := m.member.admission.Ticket()
	return until
}
