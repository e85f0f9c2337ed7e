package pipeline

import "time"

// Stats are counters since New and the state at the moment ("now").
type Stats struct {
	Rounds       uint64 // batches formed; each goes to all masters that are up
	Requests     uint64 // acquires, extends and releases in them; Requests/Rounds is the mean size
	LargestRound int    // requests in the largest since New
	Overloaded   uint64 // calls refused because the queue was full
	Queued       int    // requests that wait for a round, now
	Masters      []MasterStats
}

// MasterStats is one master's part.
type MasterStats struct {
	Address   string
	Up        bool      // now
	Cause     error     // why it is away, now
	VotesFrom time.Time // when it is asked for new locks again after a restart; zero: it is
	SetAside  uint64    // times that it was
	Backlog   int       // requests that wait for it while the others go ahead, now
	InFlight  int       // requests sent to it and not answered, owed releases included, now
	Owed      int       // releases that it still has to be told of, now
	Orphans   uint64    // keys that such a release found and deleted
	Watched   bool      // a second connection is open over which it tells of released names, now
	Reads     uint64    // awaited names that were read over it
	Pushes    uint64    // times that it told of a change
}

// Stats returns a snapshot.
func (p *Pipeline) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Queued = len(p.releases) + len(p.queue)
	for _, m := range p.masters {
		one := m.stats
		one.Address, one.Up, one.Cause = m.address, m.up, m.cause
		if time.Now().Before(m.admission.votesFrom) {
			one.VotesFrom = m.admission.votesFrom
		}
		one.Backlog, one.InFlight, one.Owed = m.backlog, m.inFlight, len(m.ledger.debts)
		if p.watch != nil {
			p.watch.watchers[m.index].tell(&one)
		}
		s.Masters = append(s.Masters, one)
	}
	return s
}
