package pipeline

import (
	"math/bits"
	"time"

	"muxlock/internal/clock"
)

// Forming rounds, and writing them.
//
// There is no timer: a round is formed by a caller that finds enough masters with room
// for it, or by the master whose answers make them enough. It is encoded once, handed to
// every master that is up, and written to those that have room, after the mutex was given
// back, by whoever formed it.

const (
	// promptFactor is how much longer than the fastest master another may take to answer
	// and still be waited for.
	promptFactor = 4
	// mostInRound bounds a round: what comes first in the next one never waits for longer
	// than this takes.
	mostInRound = 4096
)

// formLocked makes rounds of what has arrived, for as long as there is room for them.
func (p *Pipeline) formLocked() {
	for p.shouldFormLocked() {
		p.formOneLocked()
	}
	p.checkDrainedLocked()
}

// readyLocked says whether a round is to be formed. A few calls go out as soon as a
// quorum of masters has room. Many wait for all but one of the prompt masters: fewer,
// larger rounds cost everybody less (BenchmarkCycle: 15 % at 64 workers), and a master
// that is slower than the others by some factor is never waited for.
func (p *Pipeline) shouldFormLocked() bool {
	waiting := p.queue.waiting()
	if waiting == 0 {
		return false
	}
	rooms := 0
	for _, m := range p.masters {
		if m.hasRoomLocked() {
			rooms++
		}
	}
	if rooms < min(p.quorum, p.up) {
		return false
	}
	if waiting < foldFrom || rooms == p.up {
		return true
	}
	fastest := p.timeout
	for _, m := range p.masters {
		if m.up {
			fastest = min(fastest, m.took)
		}
	}
	prompt := 0
	for _, m := range p.masters {
		if m.up && m.took <= promptFactor*fastest {
			prompt++
		}
	}
	return rooms >= prompt-1
}

// mostLocked is how many calls a round may take now: as many as go out at once to each
// master that has room. A slower one takes it in pieces.
func (p *Pipeline) roundLimitLocked() int {
	most := mostInRound
	for _, m := range p.masters {
		if m.hasRoomLocked() {
			most = min(most, max(m.budget-m.onWire, leastBudget))
		}
	}
	return most
}

// tookLocked is how long a round takes to be answered at the moment.
func (p *Pipeline) roundTripLocked() (took time.Duration) {
	for _, m := range p.masters {
		if m.hasRoomLocked() {
			took = max(took, m.took)
		}
	}
	return took
}

// formOneLocked makes a round. Where more wait than it takes, callers who leave before it
// could be answered are left out: an overload is not to be spent on locks that nobody waits
// for any more.
func (p *Pipeline) formOneLocked() {
	r := rounds.Get().(*round)
	r.masters, r.seq, r.formed = p.masters, p.seq+1, clock.Now()
	// Releases go first, so that the script can take them all at once. Within a round
	// that changes nothing that a caller could have relied on: all of it is under way
	// at once, and a release arrives only after the round of its acquire was formed.
	most := p.roundLimitLocked()
	var late time.Time // who leaves before then gets no answer in time
	if p.queue.waiting() > most {
		late = time.Now().Add(p.roundTripLocked())
	}
	for class, n := range p.queue.shares(most) {
		for n > 0 && p.queue.classes[class].first != nil {
			c := p.queue.classes[class].first
			p.dequeueLocked(c)
			if c.req.Op != Release && (c.state.Load() == abandoned || !c.until.IsZero() && c.until.Before(late)) {
				continue // never sent, and nothing to undo
			}
			r.add(c)
			n--
		}
	}
	if len(r.calls) == 0 {
		r.recycle()
		return
	}
	now := time.Now()
	p.seq = r.seq
	p.stats.Rounds++
	p.stats.Requests += uint64(len(r.entries))
	p.stats.LargestRound = max(p.stats.LargestRound, len(r.entries))
	r.seal()
	asked := 0
	for _, m := range p.masters {
		r.causes = append(r.causes, m.whyNotAskedLocked(r))
		if r.causes[m.index] == nil {
			asked++
		}
	}
	r.begin(asked)
	if asked == 0 {
		r.recycle()
		return
	}
	for _, m := range p.masters {
		if r.causes[m.index] == nil {
			m.takeLocked(r, now)
		}
	}
}

// refusesLocked returns why the master is not asked in a round, and notes what it misses;
// nil if it is asked.
func (m *master) whyNotAskedLocked(r *round) error {
	if m.up && !m.behind && m.backlog > maxBacklog {
		m.behind = true
		m.awayFrom = r.seq
		m.stats.Behind++
	}
	switch {
	case !m.up:
		m.skipRoundLocked(r)
		return m.cause
	case m.behind:
		m.skipRoundLocked(r)
		return errBehind
	}
	return nil
}

// takeLocked has the master sent a round, now or when there is room. One that must wait
// before it votes is not sent the acquires, but all releases: one that finds nothing does
// no harm.
func (m *master) takeLocked(r *round, now time.Time) {
	part := r.whole()
	if cause := m.notVoting(now); cause != nil {
		part = part.without(m, func(q *Request) error {
			if q.Op == Acquire {
				return cause
			}
			return nil
		})
	}
	m.unsent = append(m.unsent, part)
	m.backlog += len(part.entries)
	m.departLocked(now)
}

// unlock unlocks mu and writes what there is to be written, also what others add meanwhile:
// nobody has to wait for a write, and each master has one who writes at a time.
func (p *Pipeline) unlock() {
	for {
		claimed := p.claimLocked()
		p.mu.Unlock()
		if claimed == 0 {
			return
		}
		written := uint64(0)
		for rest := claimed; rest != 0; rest &= rest - 1 {
			i := bits.TrailingZeros64(rest)
			if p.masters[i].writeAtOnce() {
				written |= 1 << i
			}
		}
		p.mu.Lock()
		for ; written != 0; written &= written - 1 {
			p.masters[bits.TrailingZeros64(written)].writtenLocked()
		}
	}
}

// claimLocked makes the caller the one who writes to the masters that it returns.
func (p *Pipeline) claimLocked() (claimed uint64) {
	for rest := p.toWrite; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		if p.masters[i].claimLocked() {
			claimed |= 1 << i
		}
	}
	p.toWrite = 0 // who writes looks again when it has done so
	return claimed
}

func (m *master) claimLocked() bool {
	if m.writing || len(m.out) == 0 {
		return false
	}
	m.writing, m.unclaimed = true, 0
	m.carried, m.out, m.gone = m.out, m.carried, 0
	return true
}

// writeAtOnce writes what the socket takes, and leaves the rest to the writer. It reports
// whether that was all.
func (m *master) writeAtOnce() bool {
	if m.gone = m.session.write(m.carried); m.gone == len(m.carried) {
		return true
	}
	m.p.mu.Lock()
	m.blocked = true
	m.p.mu.Unlock()
	m.stuck <- struct{}{}
	return false
}

// writeWhatIsStuck is the writer's goroutine: it ends when run has.
func (m *master) writeWhatIsStuck() {
	for range m.stuck {
		for more := true; more; {
			for _, b := range m.carried[m.gone:] {
				if _, err := m.session.conn.Write(b); err != nil {
					break // the reader finds out
				}
			}
			m.p.mu.Lock()
			m.writtenLocked()
			more = m.claimLocked()
			m.p.mu.Unlock()
		}
	}
}

// writtenLocked ends a write.
func (m *master) writtenLocked() {
	clear(m.carried)
	m.carried = m.carried[:0]
	m.writing, m.blocked = false, false
	for _, r := range m.leaveAfterWrite {
		r.leave()
	}
	m.leaveAfterWrite = m.leaveAfterWrite[:0]
	now := time.Now()
	for i := len(m.flights) - m.unclaimed - 1; i >= 0 && m.flights[i].wrote.IsZero(); i-- {
		m.flights[i].wrote = now
	}
	if !m.up {
		m.written.Broadcast()
	} else if len(m.out) > 0 {
		m.p.toWrite |= 1 << m.index
	}
}
