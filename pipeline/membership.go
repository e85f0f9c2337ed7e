package pipeline

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"muxlock/internal/fencing"
	"muxlock/internal/resp"
	"muxlock/internal/serverinfo"
	"muxlock/internal/token"
	"muxlock/pipeline/internal/conn"
	"muxlock/scripts"
)

// Whether a master may vote with fencing: only as a member of the set that New adopted, whose
// registers are known to be large enough. The rule is fencing.Admission; here are the
// commands. All of a master's go over its own session, so to one server process, and each
// begins with a look, which comes with a tick until the master is admitted:
//
//	look:  what set and mark are there? ----> admitted, by whoever did it
//	keep:  the mark of an earlier process is renewed, where that forgot nothing
//	open:  a ticket, and the wait begins, or one that was begun goes on (wait_clock.go)
//	       (looks go on: another client may be done first)
//	read:  the registers of the admitted others, N-q+1 of them
//	seed:  these registers, description and mark, if the ticket still is the same
//
// Any error ends the session or leaves the next step to the next tick.

// ErrConfigMismatch is matched where masters are not set up for fencing, or as another set
// than the one that is configured.
var ErrConfigMismatch = errors.New("muxlock: masters are set up otherwise")

// A set is the masters' set that the pipeline is a client of.
type set struct {
	text string // the description
	// The largest token of each register that was seen. An acquire proposes the next one to all
	// masters, so that one which missed some needs no raise.
	tokens [fencing.Registers]atomic.Uint64
}

// description is empty without a set.
func (s *set) description() string {
	if s == nil {
		return ""
	}
	return s.text
}

// propose returns the token that an acquire of the name asks for.
func (s *set) propose(name string) uint64 { return s.tokens[fencing.Register(name)].Load() + 1 }

func (s *set) saw(name string, token uint64) {
	last := &s.tokens[fencing.Register(name)]
	for {
		if old := last.Load(); old >= token || last.CompareAndSwap(old, token) {
			return
		}
	}
}

// A membership is a master's part in the set; guarded by Pipeline.mu. Admission and look are
// written by run, so run may read them without; the readers of other masters end a gathering.
type membership struct {
	admission fencing.Admission[time.Time]
	look
	busy     bool          // a step is under way; Close waits for it, since a process may live for no more than one
	lookedAt time.Time     // last, with a tick
	read     int           // masters whose registers could be read last, and 1, when they were too few
	pause    time.Duration // before they are read again
	readAt   time.Time
}

// A look is what a master had when it was looked at.
type look struct {
	shown string // the description of a set; "": none
	mark  string // of its admission, or an earlier one
	swaps string // how often its databases were swapped
}

// adopt takes the set that the masters belong to, if it is the configured one. It takes a
// quorum that shows it: while members are exchanged, a few may show the one before.
func (p *Pipeline) adopt(maxTTL time.Duration) error {
	count := make(map[string]int)
	for _, m := range p.masters {
		if m.up {
			count[m.member.shown]++
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
		if err := p.matches(shown, maxTTL); err != nil && n+p.quorum > p.up {
			return err
		} else if err == nil && n > members {
			members, p.set = n, &set{text: shown}
		}
	}
	if members < p.quorum {
		return fmt.Errorf("%d of %d masters show that they are members of the set, %d are needed; see muxlock masters status", members, len(p.masters), p.quorum)
	}
	for _, m := range p.masters {
		m.metLocked(m.member.look)
	}
	return nil
}

func (p *Pipeline) addresses() (members []string) {
	for _, m := range p.masters {
		members = append(members, m.address)
	}
	return members
}

func (p *Pipeline) matches(shown string, maxTTL time.Duration) error {
	set, err := fencing.ParseSet(shown)
	if err == nil {
		err = set.Matches(maxTTL, p.addresses())
	}
	if err == nil && set.Generation < fencing.Serving {
		err = errors.New("muxlock masters init has not come to its end: run it again")
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfigMismatch, err)
	}
	return nil
}

// metLocked passes what a server has on to the master's admission. During New there is no
// set yet.
func (m *master) metLocked(l look) {
	m.member.look = l
	if m.p.set == nil {
		return
	}
	mark := l.mark
	if l.shown != m.p.set.text {
		mark = ""
	}
	m.member.admission.Met(m.address, m.admission.runID, mark, m.admission.durable && !m.admission.wasReplica)
}

// foreignLocked returns an error if the master has the description of a set that must not be
// replaced: another one, or a later one.
func (m *master) foreignLocked() error {
	if m.member.shown == "" || m.member.shown == m.p.set.text {
		return nil
	}
	ours, _ := fencing.ParseSet(m.p.set.text)
	theirs, err := fencing.ParseSet(m.member.shown)
	if err == nil {
		err = ours.Over(theirs)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfigMismatch, err)
	}
	return nil
}

// notMember returns why the master casts no vote on fenced acquires at now, or nil if it does.
func (m *master) notMember(now time.Time) error {
	if m.member.admission.Admitted() {
		return nil
	}
	if err := m.foreignLocked(); err != nil {
		return err
	}
	_, until := m.member.admission.Ticket()
	switch step := m.member.admission.Next(now); {
	case step == fencing.Wait:
		return restarted(fmt.Sprintf("lost its data or was restarted: no vote for another %v, until every lease it may have forgotten has run out",
			tenths(until.Sub(now))))
	case step == fencing.Seed && m.member.read > 0:
		return restarted(fmt.Sprintf("lost its data or was restarted: it needs the registers of %d admitted masters, %d can be read; see muxlock masters status",
			fencing.Peers(len(m.p.masters), m.p.quorum), m.member.read-1))
	case step == fencing.Seed:
		return restarted("lost its data or was restarted: its registers are being restored")
	}
	return restarted("lost its data or was restarted: it is about to be admitted again")
}

const (
	errNotMarked   = resp.Error(conn.NotMember + " the master has not, or not any more, the data with which it was admitted")
	errNotAdmitted = restarted("lost its data or was restarted, and is not admitted yet")
)

// notMarked returns why an answer that came with the given mark is no vote, or nil. It is called by
// run, without Pipeline.mu.
func (m *master) notMarked(mark string) error {
	switch a := &m.member.admission; {
	case a.Counts(mark):
		return nil
	case a.Admitted():
		return errNotMarked
	}
	return errNotAdmitted
}

// admitLocked takes the next step of the master's admission, with every tick. Where nothing can be
// done but to wait, it looks now and then whether somebody else has done something.
func (m *master) admitLocked(now time.Time) {
	if m.p.set == nil || m.member.busy || m.member.admission.Admitted() || now.Sub(m.member.lookedAt) < m.lookPeriodLocked(now) {
		return
	}
	m.member.busy, m.member.lookedAt = true, now
	m.sendLocked(newLooking(), now)
}

// stuckPeriod is how often a master is looked at that only an operator or others can help.
const stuckPeriod = time.Second

// lookPeriodLocked returns how long after the last look the next one is due.
func (m *master) lookPeriodLocked(now time.Time) time.Duration {
	switch step := m.member.admission.Next(now); {
	case m.foreignLocked() != nil || step == fencing.Seed && m.member.read > 0:
		return stuckPeriod
	case step == fencing.Wait:
		return idlePeriod
	}
	return 0
}

// nextLocked takes the step that follows from what is known.
func (m *master) nextLocked(now time.Time) {
	if m.p.set == nil || m.member.busy || m.foreignLocked() != nil {
		return
	}
	switch m.member.admission.Next(now) {
	case fencing.Keep:
		m.member.busy = true
		m.sendLocked(m.newKeeping(), now)
	case fencing.Open:
		m.member.busy = true
		m.sendLocked(m.newOpening(), now)
	case fencing.Seed:
		m.gatherLocked(now)
	}
}

// A step is what the steps of an admission have in common.
type step struct{}

func (step) requests() int        { return 0 }
func (step) lostLocked(m *master) { m.member.busy = false }

// A looking asks what a master has.
type looking struct {
	conn.Batch
	step
}

func newLooking() *looking {
	l := &looking{}
	addLook(&l.Batch)
	return l
}

// addLook asks for what readLook reads.
func addLook(b *conn.Batch) {
	for _, command := range [][2]string{{"GET", conn.SetKey}, {"GET", conn.MarkKey}, {"INFO", "commandstats"}} {
		b.Begin(2)
		b.Add(command[:]...)
	}
}

func (l *looking) answered(m *master, replies []resp.Reply) error {
	found, err := readLook(replies)
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	m.member.busy = false
	if err != nil {
		return err
	}
	m.metLocked(found)
	m.nextLocked(time.Now())
	return nil
}

func readLook(replies []resp.Reply) (l look, err error) {
	for _, r := range replies {
		if err := r.Err(); err != nil {
			return l, fmt.Errorf("set of masters: %w", err)
		}
	}
	return look{replies[0].Text, replies[1].Text, serverinfo.Parse(replies[2].Text).DatabasesSwapped()}, nil
}

// newMark returns a mark, or ticket, for the server behind the address.
func newMark(runID, member string) string {
	return fencing.Mark{Nonce: token.New(), RunID: runID, Member: member}.String()
}

// A keeping renews the mark of a master that was restarted and forgot nothing.
type keeping struct {
	conn.Batch
	step
	mark string
}

func (m *master) newKeeping() *keeping {
	k := &keeping{mark: newMark(m.admission.runID, m.address)}
	addSwitch(&k.Batch, m.p.set.text, m.member.admission.Kept(), m.p.set.text, k.mark)
	return k
}

func addSwitch(b *conn.Batch, set, mark, nextSet, nextMark string) {
	b.Begin(9)
	b.Add("EVALSHA", scripts.Switch.SHA1, "2", conn.SetKey, conn.MarkKey, set, mark, nextSet, nextMark)
}

func (k *keeping) answered(m *master, replies []resp.Reply) error {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	m.member.busy = false
	if err := replies[0].Err(); err != nil {
		return fmt.Errorf("admission: %w", err)
	}
	m.member.admission.Renewed(k.mark, replies[0].Number == 1)
	return nil
}

// An opening begins the wait of a master, or goes on with it.
type opening struct {
	conn.Batch
	step
	clock waitClock
	swaps int // of data sets, as of when it was sent
}

func (m *master) newOpening() *opening {
	o := &opening{clock: newWaitClock(m.admission.replID, m.member.swaps), swaps: m.admission.swaps}
	addOpen(&o.Batch, m.member.shown, m.member.mark, newMark(m.admission.runID, m.address), o.clock.id)
	return o
}

// addOpen begins an admission, where description and mark are as they were found.
func addOpen(b *conn.Batch, shown, mark, ticket, clock string) {
	b.Begin(11)
	b.Add("EVALSHA", scripts.Open.SHA1, "4", conn.SetKey, conn.MarkKey, conn.TicketKey, conn.SinceKey, shown, mark, ticket, clock)
}

func (o *opening) answered(m *master, replies []resp.Reply) error {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	m.member.busy = false
	if err := replies[0].Err(); err != nil {
		return fmt.Errorf("admission: %w", err)
	}
	ticket, since, opened := strings.Cut(replies[0].Text, "\n")
	if !opened || o.swaps != m.admission.swaps {
		return nil // another client was first, or the data is another's since: the next look finds out
	}
	now := time.Now()
	passed, known := o.clock.passed(since)
	m.member.admission.Opened(ticket, now.Add(m.admission.wait-passed))
	if !known {
		o.clock.note(m, ticket, now)
	}
	m.nextLocked(now)
	return nil
}
