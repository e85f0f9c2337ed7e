package pipeline

import (
	"fmt"
	"strings"
	"time"

	"muxlock/internal/fencing"
	"muxlock/internal/resp"
	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/membership"
)

// With fencing, a master may vote only as a member of the set that New adopted, with registers that
// are known to be large enough. fencing.Admission has the rule. This file has the steps. All
// commands for a master go over its own session, so to one server process. Each series of steps
// begins with a look. Ticks send looks until the master is admitted:
//
//	look:  which set and mark does it have? ---> admitted, if another client did it
//	keep:  renew the mark of an earlier process, if that process forgot nothing
//	open:  take a ticket, and begin the wait or go on with one (membership.WaitClock);
//	       looks go on: another client may be done first
//	read:  the registers of N-q+1 other masters that are admitted
//	seed:  write these registers, the description and the mark, if the ticket is still the same
//
// An error ends the session, or leaves the next step to the next tick.

// A member is a master's part in the set; guarded by Pipeline.mu. Only run writes admission and
// Look, so run may read them without. The readers of other masters may end a gathering, and without
// fencing they write foreign.
type member struct {
	admission fencing.Admission[time.Time]
	membership.Look
	foreign  error         // why the master casts no vote, whatever its admission: its set is not that of this process's masters
	busy     bool          // a step is under way; Close waits for it, since a process may live no longer than one step
	lookedAt time.Time     // when the last look of a tick was sent
	read     int           // if registers of too few masters could be read: the number of these masters, plus 1; else 0
	pause    time.Duration // before registers are read again
	readAt   time.Time     // when they may be read again
}

// SetID returns the id of the set of masters, which is unique and never changes; "" without Config.Fencing.
func (p *Pipeline) SetID() string {
	set, _ := fencing.ParseSet(p.set.Description())
	return set.ID
}

// adopt adopts the set that the masters show, if it is the configured one. A quorum must show it: a
// few may still show the previous generation while a member is replaced. Without fencing, a
// quorum must not be of other sets.
func (p *Pipeline) adopt() error {
	if !p.cfg.Fencing {
		if missing, mismatched, _ := p.missing(time.Now()); mismatched {
			return missing
		}
		return nil
	}
	count := make(map[string]int)
	var addresses []string
	for _, m := range p.masters {
		addresses = append(addresses, m.address)
		if m.up {
			count[m.member.Shown]++
		}
	}
	if count[""] == p.up {
		return fmt.Errorf("%w: they are not set up for fencing: muxlock masters init does it, once; if they were and have lost it, muxlock masters init --recover --above FENCE", ErrConfigMismatch)
	}
	members := 0
	for shown, n := range count {
		if shown == "" {
			continue
		}
		if err := membership.Matches(shown, p.cfg.MaxTTL, addresses); err != nil && n+p.quorum > p.up {
			return err
		} else if err == nil && n > members {
			members, p.set = n, membership.NewSet(shown)
		}
	}
	if members < p.quorum {
		return fmt.Errorf("%d of %d masters show that they are members of the set, %d are needed: the others must come back with their data, or be recovered (muxlock masters init --recover); see muxlock masters status", members, len(p.masters), p.quorum)
	}
	for _, m := range p.masters {
		m.metLocked(m.member.Look)
	}
	return nil
}

// metLocked passes a look on to the master's admission. Without fencing it compares the looks of all
// masters. So does New, before there is a set.
func (m *master) metLocked(l membership.Look) {
	m.member.Look = l
	if m.p.set == nil {
		m.p.compareLocked()
		return
	}
	m.member.foreign = m.p.set.Foreign(l.Shown)
	mark := l.Mark
	if l.Shown != m.p.set.Description() {
		mark = ""
	}
	m.member.admission.Met(m.address, m.server.RunID, mark, m.server.Durable && !m.server.WasReplica)
}

// notMember returns why the master casts no vote on fenced acquires at now; nil: it votes.
func (m *master) notMember(now time.Time) error {
	if m.member.admission.Admitted() {
		return nil
	}
	_, until := m.member.admission.Ticket()
	switch step := m.member.admission.Next(now); {
	case step == fencing.Wait:
		return membership.Restarted(fmt.Sprintf("lost its data or was restarted: no vote for another %v, until every lease it may have forgotten has run out",
			membership.Tenths(until.Sub(now))))
	case step == fencing.Seed && m.member.read > 0:
		return fmt.Errorf("%w: %w", ErrMembersLost, membership.Restarted(fmt.Sprintf("it needs the registers of %d admitted masters, %d can be read: it votes once those that are away are back with their data, or after muxlock masters init --recover",
			fencing.Peers(len(m.p.masters), m.p.quorum), m.member.read-1)))
	case step == fencing.Seed:
		return membership.Restarted("lost its data or was restarted: its registers are being restored")
	}
	return membership.Restarted("lost its data or was restarted: it is about to be admitted again")
}

const (
	errNotMarked   = resp.Error(conn.NotMember + " the master has not, or not any more, the data with which it was admitted")
	errNotAdmitted = membership.Restarted("lost its data or was restarted, and is not admitted yet")
)

// notMarked returns why an answer with the given mark is no vote; nil: it is one. Run calls it,
// without Pipeline.mu.
func (m *master) notMarked(mark string) error {
	switch a := &m.member.admission; {
	case a.Counts(mark):
		return nil
	case a.Admitted():
		return errNotMarked
	}
	return errNotAdmitted
}

// compareLocked finds the masters whose sets are not that of this process's masters.
func (p *Pipeline) compareLocked() {
	var shown []fencing.Shown
	for _, m := range p.masters {
		shown = append(shown, fencing.Shown{Set: m.member.Shown, Mark: m.member.Mark, RunID: m.server.RunID})
	}
	for i, why := range fencing.Strangers(shown, p.cfg.MaxTTL) {
		p.masters[i].member.foreign = why
	}
}

// foreignLocked returns how many masters are foreign, and whether they leave no quorum even if all others vote.
func (p *Pipeline) foreignLocked() (n int, mismatched bool) {
	for _, m := range p.masters {
		if m.member.foreign != nil {
			n++
		}
	}
	return n, len(p.masters)-n < p.quorum
}

// admitLocked begins the next step of the master's admission, with a look. While the master can only
// wait, looks are rarer: they find out whether another client has admitted the master. Without fencing,
// looks go to all masters while one is foreign: the others' last looks may be old.
func (m *master) admitLocked(now time.Time) {
	admitted := m.member.admission.Admitted()
	if n, _ := m.p.foreignLocked(); m.p.set == nil {
		admitted = n == 0
	}
	if admitted || m.member.busy || now.Sub(m.member.lookedAt) < m.lookPeriodLocked(now) {
		return
	}
	m.member.lookedAt = now
	var look conn.Batch
	membership.AddLook(&look)
	m.stepLocked(look, now, func(replies []resp.Reply) error {
		found, err := membership.ReadLook(replies, m.p.cfg.Fencing)
		if err != nil {
			return err
		}
		m.metLocked(found)
		m.nextLocked(time.Now())
		return nil
	})
}

// stuckPeriod is the time between looks at a master that only an operator or other clients can help.
const stuckPeriod = time.Second

// lookPeriodLocked returns how long after the last look the next one is due.
func (m *master) lookPeriodLocked(now time.Time) time.Duration {
	switch step := m.member.admission.Next(now); {
	case m.p.set == nil || m.member.foreign != nil || step == fencing.Seed && m.member.read > 0:
		return stuckPeriod
	case step == fencing.Wait:
		return idlePeriod
	}
	return 0
}

// nextLocked takes the step that follows from the last look.
func (m *master) nextLocked(now time.Time) {
	if m.p.set == nil || m.member.busy || m.member.foreign != nil {
		return
	}
	switch m.member.admission.Next(now) {
	case fencing.Keep:
		m.keepLocked(now)
	case fencing.Open:
		m.openLocked(now)
	case fencing.Seed:
		m.gatherLocked(now)
	}
}

// stepLocked sends a step of the master's admission. done takes the replies, with the mutex. An
// error ends the session.
func (m *master) stepLocked(b conn.Batch, now time.Time, done func(replies []resp.Reply) error) {
	m.member.busy = true
	m.sendLocked(&maintenance{
		Batch:      b,
		lostLocked: func() { m.member.busy = false },
		answered: func(replies []resp.Reply) error {
			m.p.mu.Lock()
			defer m.p.mu.Unlock()
			m.member.busy = false
			return done(replies)
		},
	}, now)
}

// changeLocked sends a step that changes the master's admission. done takes the reply, unless it is an error.
func (m *master) changeLocked(b conn.Batch, now time.Time, done func(resp.Reply)) {
	m.stepLocked(b, now, func(replies []resp.Reply) error {
		if err := replies[0].Err(); err != nil {
			return fmt.Errorf("admission: %w", err)
		}
		done(replies[0])
		return nil
	})
}

// keepLocked renews the mark of a master that was restarted and forgot nothing.
func (m *master) keepLocked(now time.Time) {
	var keep conn.Batch
	set, mark := m.p.set.Description(), membership.NewMark(m.server.RunID, m.address)
	membership.AddSwitch(&keep, set, m.member.admission.Kept(), set, mark)
	m.changeLocked(keep, now, func(reply resp.Reply) { m.member.admission.Renewed(mark, reply.Number == 1) })
}

// openLocked begins the wait of the master, or resumes it.
func (m *master) openLocked(now time.Time) {
	var open conn.Batch
	swaps, clock := m.server.Swaps, membership.NewWaitClock(m.p.set.Description(), m.server.ReplID, m.member.Swaps)
	membership.AddOpen(&open, m.member.Shown, m.member.Mark, membership.NewMark(m.server.RunID, m.address), clock.ID)
	m.changeLocked(open, now, func(reply resp.Reply) {
		ticket, since, opened := strings.Cut(reply.Text, "\n")
		if !opened || swaps != m.server.Swaps {
			return // another client was first, or the data have changed: the next look finds out
		}
		now := time.Now()
		passed, known := clock.Passed(since)
		m.member.admission.Opened(ticket, now.Add(m.server.Wait-passed))
		if !known && clock.ID != "" {
			m.noteWaitLocked(clock, ticket, now)
		}
		m.nextLocked(now)
	})
}

// noteWaitLocked writes the start of the master's wait to the master.
func (m *master) noteWaitLocked(clock membership.WaitClock, ticket string, now time.Time) {
	var note conn.Batch
	clock.AddNote(&note, ticket)
	m.stepLocked(note, now, unlessUnfit)
}
