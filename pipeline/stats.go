package pipeline

import "time"

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
