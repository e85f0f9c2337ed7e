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
	Up        bool          // now
	Cause     error         // why it is away, now
	VotesFrom time.Time     // when it is asked for new locks again after a restart; zero: it is
	SetAside  uint64        // times that it was
	RoundTrip time.Duration // least time that it took lately to answer a few requests
	Window    int           // writes that may be on their way to it and back at once; follows from RoundTrip
	InFlight  int           // requests that it was sent and has not answered, pending releases included, now
	Backlog   int           // requests that wait to be sent to it, now
	Behind    uint64        // times that it was too far behind the others, and was passed by until it had caught up
	Owed      int           // releases that it still has to be told of, now
	Orphans   uint64        // keys that such a release found and deleted
	Dropped   uint64        // releases that its ACL forbids, and that are left to their leases
	Watched   bool          // a second connection is open over which it tells of released names, now
	Reads     uint64        // awaited names that were read over it
	Pushes    uint64        // times that it told of a change
}

// Stats returns a snapshot.
func (p *Pipeline) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Queued, s.Overloaded = p.queue.waiting(), p.overloaded.Load()
	for _, m := range p.masters {
		one := m.stats
		one.Address, one.Up, one.Cause = m.address, m.up, m.cause
		if time.Now().Before(m.admission.votesFrom) {
			one.VotesFrom = m.admission.votesFrom
		}
		one.RoundTrip, one.Window = m.pace.away(), m.window
		one.InFlight, one.Backlog, one.Owed = m.onWire, m.backlog, m.ledger.len()
		if p.watch != nil {
			p.watch.watchers[m.index].tell(&one)
		}
		s.Masters = append(s.Masters, one)
	}
	return s
}
