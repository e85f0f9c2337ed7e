package pipeline

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"muxlock/internal/fencing"
	"muxlock/internal/resp"
	"muxlock/internal/token"
	"muxlock/scripts"
)

// Whether a master may vote on fenced acquires: only as a member of the set that New adopted,
// whose registers are known to be large enough. The rule is fencing.Admission; here are the
// commands. All of a master's go over its own session, so to one server process, and each
// begins with a look, which comes with every tick until the master is admitted:
//
//	look:  what set and mark are there? ----> admitted, by whoever did it
//	open:  a ticket, and the wait begins
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

// A membership is a master's part in the set; guarded by Pipeline.mu, written by run.
type membership struct {
	admission fencing.Admission[time.Time]
	shown     string // the description of a set that the server had when it was looked at; "": none
	mark      string // the run_id under which it was admitted, likewise
	replaced  bool   // its data may be another's; until it is admitted again
	opened    bool   // since it was replaced: a mark that is there by now is a new one
	busy      bool   // a step is under way
	read      int    // masters whose registers were read last, when they were too few
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
		return fmt.Errorf("%w: they are not set up for fencing; lockbench masters init does it, once", ErrConfigMismatch)
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
		return fmt.Errorf("%d of %d masters show that they are members of the set, %d are needed; see lockbench masters status", members, len(p.masters), p.quorum)
	}
	for _, m := range p.masters {
		m.metLocked(m.member.shown, m.member.mark)
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
	switch {
	case err == nil && set.Generation == 0:
		err = errors.New("lockbench masters init has not come to its end: run it again")
	case err == nil:
		err = set.Matches(maxTTL, p.addresses())
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfigMismatch, err)
	}
	return nil
}

// metLocked passes what a server has on to the master's admission. During New there is no
// set yet.
func (m *master) metLocked(shown, mark string) {
	m.member.shown, m.member.mark = shown, mark
	if m.p.set == nil {
		return
	}
	if shown != m.p.set.text || m.member.replaced && !m.member.opened {
		mark = ""
	}
	if m.member.admission.Met(m.admission.runID, mark) {
		m.member.replaced = false
	}
}

// lostDataLocked notes that the data behind the address has been replaced.
func (m *master) lostDataLocked() {
	m.member.replaced, m.member.opened = true, false
	m.member.admission.Lost()
}

// foreignLocked returns an error if the master has the description of a set that must not be
// replaced: another one, or a later one.
func (m *master) foreignLocked() error {
	if m.member.shown == "" || m.member.shown == m.p.set.text {
		return nil
	}
	ours, _ := fencing.ParseSet(m.p.set.text)
	theirs, err := fencing.ParseSet(m.member.shown)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrConfigMismatch, err)
	case theirs.ID != ours.ID:
		return fmt.Errorf("%w: is a member of another set", ErrConfigMismatch)
	case theirs.Generation > ours.Generation:
		return fmt.Errorf("%w: set has generation %d by now, here %d: its members are %v",
			ErrConfigMismatch, theirs.Generation, ours.Generation, theirs.Members)
	}
	return nil // an old snapshot
}

// notMember returns why the master casts no vote on fenced acquires at now, or nil if it does.
func (m *master) notMember(now time.Time) error {
	if m.member.admission.Admitted() {
		return nil
	}
	if err := m.foreignLocked(); err != nil {
		return err
	}
	until, waits := m.member.admission.Waits()
	switch {
	case !waits:
		return restarted("lost its data or was restarted: it is about to be admitted again")
	case now.Before(until):
		return restarted(fmt.Sprintf("lost its data or was restarted: no vote for another %v, until every lease it may have forgotten has run out",
			tenths(until.Sub(now))))
	case m.member.read > 0:
		return restarted(fmt.Sprintf("lost its data or was restarted: it needs the registers of %d admitted masters, %d can be read; see lockbench masters init",
			fencing.Peers(len(m.p.masters), m.p.quorum), m.member.read-1))
	}
	return restarted("lost its data or was restarted: its registers are being restored")
}

// admitLocked takes the next step of the master's admission, with every tick.
func (m *master) admitLocked(now time.Time) {
	if m.p.set != nil && !m.member.busy && !m.member.admission.Admitted() {
		m.member.busy = true
		m.sendLocked(newLook(), now)
	}
}

// A look asks what set and mark a master has.
type look struct {
	batch
	step
}

func newLook() *look {
	l := &look{}
	l.begin(2)
	l.add("GET", setKey)
	l.begin(2)
	l.add("GET", markKey)
	return l
}

func (l *look) answered(m *master, replies []resp.Reply) error {
	shown, mark, err := readLook(replies)
	p, now := m.p, time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	m.member.busy = false
	if err != nil {
		return err
	}
	m.metLocked(shown, mark)
	if m.member.admission.Admitted() || m.foreignLocked() != nil {
		return nil
	}
	ticket, due := m.member.admission.Due(now)
	switch {
	case ticket == "":
		m.member.busy = true
		m.sendLocked(m.newOpeningLocked(), now)
	case due:
		m.member.busy = true
		m.gatherLocked(ticket, now)
	}
	return nil
}

func readLook(replies []resp.Reply) (shown, mark string, err error) {
	for _, r := range replies {
		if err := r.Err(); err != nil {
			return "", "", fmt.Errorf("set of masters: %w", err)
		}
	}
	return replies[0].Text, replies[1].Text, nil
}

// An opening begins the wait of a master.
type opening struct {
	batch
	step
	replaced bool
}

func (m *master) newOpeningLocked() *opening {
	o := &opening{replaced: m.member.replaced}
	o.open(m.member.shown, m.admission.runID, o.replaced || m.member.shown != m.p.set.text)
	return o
}

// open begins an admission; void: what is there admits nobody.
func (b *batch) open(shown, runID string, void bool) {
	b.begin(10)
	b.add("EVALSHA", scripts.Open.SHA1, "3", setKey, markKey, ticketKey)
	b.add(shown, runID, token.New(), map[bool]string{true: "1", false: "0"}[void])
}

func (o *opening) answered(m *master, replies []resp.Reply) error {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	m.member.busy = false
	if err := replies[0].Err(); err != nil {
		return fmt.Errorf("admission: %w", err)
	}
	if ticket := replies[0].Text; ticket != "" && o.replaced == m.member.replaced {
		m.member.opened = true
		wait := m.admission.wait
		if m.keptLocked() {
			wait = 0
		}
		m.member.admission.Opened(ticket, time.Now().Add(wait))
	}
	return nil // else another client was first: the next look finds its mark
}

// keptLocked reports whether a master that was restarted forgot nothing, and has its own data.
func (m *master) keptLocked() bool {
	return m.admission.durable && !m.admission.wasReplica && !m.member.replaced && m.member.shown == m.p.set.text
}

// A step is what the steps of an admission have in common.
type step struct{}

func (step) requests() int        { return 0 }
func (step) lostLocked(m *master) { m.member.busy = false }
