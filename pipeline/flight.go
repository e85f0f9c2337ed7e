package pipeline

import (
	"fmt"
	"time"

	"muxlock/internal/resp"
)

// A flight is what a master was sent and has not answered: some commands of a part, or an
// errand.
type flight struct {
	part       part
	first, end int  // its commands, of the part
	last       bool // the part's
	requests   int
	ahead      int    // requests that were on the wire before it
	errand     errand // instead of a part

	sent   time.Time // before it was written
	wrote  time.Time // after; zero: not yet
	writes int       // 1 for the first flight of a write, 0 for others and for errands
}

// commands returns how many replies the flight will have.
func (f *flight) commands() int {
	if f.errand != nil {
		return f.errand.commands()
	}
	return f.end - f.first
}

// An errand is what the pipeline asks of one master on its own account, in order with the
// rounds.
type errand interface {
	bytes() []byte
	commands() int
	requests() int
	// answered takes the replies; the error says that the master is not fit to serve. It
	// is called without the mutex.
	answered(m *master, replies []resp.Reply) error
	// lostLocked is called instead when the connection ends before.
	lostLocked(m *master)
}

// A check asks the server of a connection whether it still is a master and has the data
// that it had. It comes with every tick, busy or idle (1 us of the server's time; all of
// INFO takes 9), and tries out the connection as well, so that one that was cut is replaced
// before a caller meets it.
type check struct {
	batch
	asked time.Time
}

func newCheck() *check {
	e := &check{asked: time.Now()}
	e.begin(2)
	e.add("INFO", "replication")
	return e
}

func (e *check) answered(m *master, replies []resp.Reply) error {
	m.p.mu.Lock()
	m.checking = false
	m.p.mu.Unlock()
	return e.read(m, replies)
}

func (e *check) read(m *master, replies []resp.Reply) error {
	err := replies[0].Err()
	if err == nil {
		err = m.note(parseInfo(replies[0].Text), e.asked)
	}
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	return nil
}

func (e *check) requests() int      { return 0 }
func (e *check) lostLocked(*master) {}

// A loading loads the scripts.
type loading struct{ batch }

func newLoading() *loading {
	e := &loading{}
	e.loadScripts()
	return e
}

func (e *loading) answered(_ *master, replies []resp.Reply) error {
	for _, r := range replies {
		if err := r.Err(); isUnfit(err) {
			return err
		}
	}
	return nil // what needs them says so, if they are still missing
}

func (e *loading) requests() int      { return 0 }
func (e *loading) lostLocked(*master) {}

// A payment sends pending releases.
type pendingBatch struct {
	batch
	due    []*pendingRelease
	lead   int  // replies that come before: of SCRIPT LOAD
	single bool // a command each
}

// paymentLocked takes releases that are due out of the ledger; nil if there are none.
func (m *master) takePendingLocked(now time.Time) *pendingBatch {
	due := m.pending.take(now, foldMax)
	if len(due) == 0 {
		return nil
	}
	return newPendingBatch(due, false, false)
}

func newPendingBatch(due []*pendingRelease, load, single bool) *pendingBatch {
	e := &pendingBatch{due: due, single: single}
	if load {
		e.loadScripts()
		e.lead = e.batch.commands()
	}
	entries := make([]Request, len(due))
	for i, d := range due {
		entries[i] = Request{Op: Release, Name: d.name, Token: d.token}
		if single {
			e.plain(&entries[i])
		}
	}
	if !single {
		e.fold(entries)
	}
	return e
}

func (e *pendingBatch) answered(m *master, replies []resp.Reply) error {
	again, err := e.settle(m, replies)
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	m.sendingPending = false
	if err != nil {
		return err
	}
	now := time.Now()
	if again != nil {
		m.sendingPending = true
		m.sendLocked(again, now)
	} else {
		m.sendPendingLocked(now)
	}
	return nil
}

func (e *pendingBatch) requests() int { return len(e.due) }

func (e *pendingBatch) lostLocked(m *master) { m.pending.unconfirmed(e.due) }

// settle books what the master has said, and returns what is to be asked again.
func (e *pendingBatch) settle(m *master, replies []resp.Reply) (again *pendingBatch, err error) {
	replies = replies[e.lead:]
	if err := replies[0].Err(); !e.single {
		switch {
		case isNoScript(err) && e.lead == 0:
			return newPendingBatch(e.due, true, false), nil
		case isDenied(err):
			return newPendingBatch(e.due, false, true), nil
		}
	}
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	answeredReleases, deleted, err := e.read(m, replies)
	if err != nil {
		m.pending.unconfirmed(e.due)
		return nil, err
	}
	m.pending.confirmed(answeredReleases, time.Now())
	m.stats.PendingDeleted += deleted
	return nil, nil
}

// read returns the releases that were answered and how many of them found their key.
func (e *pendingBatch) read(m *master, replies []resp.Reply) (answeredReleases []*pendingRelease, deleted uint64, err error) {
	if !e.single {
		votes, fault, err := batchVotes(replies[0], len(e.due))
		if err == nil && isUnfit(fault) {
			err = fault
		}
		for i := range len(votes) {
			if votes[i] == '1' {
				deleted++
			}
		}
		return e.due, deleted, err
	}
	for i, reply := range replies {
		switch err := reply.Err(); {
		case isDenied(err):
			m.stats.ReleasesDenied++ // it will never be allowed; its lease runs out
			continue
		case isUnfit(err):
			return nil, 0, err
		}
		if reply.Number == 1 {
			deleted++
		}
		answeredReleases = append(answeredReleases, e.due[i])
	}
	return answeredReleases, deleted, nil
}
