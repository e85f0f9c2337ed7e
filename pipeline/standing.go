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
	m.reported, m.stats.Since = now, time.Now()
	if now.votes {
		p.voted.Add(1)
	}
	if p.wakeups != nil {
		p.wakeups.Votes(m.index, now.votes)
	}
	p.mu.Unlock()
	if p.cfg.Changed != nil {
		p.cfg.Changed(m.address, now.up, cause)
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
	case m.member.foreign != nil, m.p.set != nil && m.member.admission.Next(time.Now()) != fencing.Wait:
		return time.Time{}
	case m.p.set == nil:
		return m.server.VotesFrom
	}
	_, until := m.member.admission.Ticket()
	return until
}

// Stats are counters since New and, where it says "now", the present state.
type Stats struct {
	Rounds       uint64 // batches formed; each goes to all masters that are up
	Requests     uint64 // acquires, extends and releases in rounds; Requests/Rounds is the mean size
	LargestRound int    // requests in the largest round
	Overloaded   uint64 // calls refused because the queue was full
	Queued       int    // requests that wait for a round, now
	Masters      []MasterStats
}

// MasterStats is one master's part. See engine.MasterStats, which has the same fields.
type MasterStats struct {
	Address         string
	Up              bool
	Cause           error
	VotesFrom       time.Time
	Since           time.Time
	SetAside        uint64
	RoundTrip       time.Duration
	Window          int
	InFlight        int
	Backlog         int
	Behind          uint64
	PendingReleases int
	PendingDeleted  uint64
	ReleasesDenied  uint64
	BatchesRefused  uint64
	Tracking        bool
	Reads           uint64
	Pushes          uint64
	Lines           bool
	NoLine          error
}

// Stats returns a snapshot.
func (p *Pipeline) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, now := p.stats, time.Now()
	s.Queued, s.Overloaded = p.queue.len(), p.overloaded.Load()
	for _, m := range p.masters {
		ms := m.stats
		ms.Address, ms.Up, ms.Cause = m.address, m.up || m.resting, m.cause
		if ms.Up {
			if ms.Cause = m.notVoting(now); ms.Cause != nil {
				ms.VotesFrom = m.votesFrom()
			}
		}
		ms.RoundTrip, ms.Window = m.pace.RoundTrip(), m.window
		ms.InFlight, ms.Backlog, ms.PendingReleases = m.onWire, m.backlog, m.pending.Len()
		ms.Lines, ms.NoLine = m.able, m.why
		if p.wakeups != nil {
			ms.Tracking, ms.Reads, ms.Pushes = p.wakeups.Stats(m.index)
		}
		s.Masters = append(s.Masters, ms)
	}
	return s
}
