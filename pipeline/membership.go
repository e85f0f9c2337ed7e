package pipeline

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
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
	replaced  bool   // its data may be another's, so that what is there does not count
	kept      bool   // it was restarted, and forgot nothing: its own registers do
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
	if shown != m.p.set.text || m.member.replaced {
		mark = ""
	}
	m.member.admission.Met(m.admission.runID, mark)
}

// lostDataLocked notes that the data behind the address has been replaced.
func (m *master) lostDataLocked() {
	m.member.replaced = true
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
	if o.replaced {
		m.member.replaced = false
	}
	if ticket := replies[0].Text; ticket != "" {
		wait := m.admission.wait
		if m.member.kept = m.admission.durable && !o.replaced && !m.admission.wasReplica; m.member.kept {
			wait = 0
		}
		m.member.admission.Opened(ticket, time.Now().Add(wait))
	}
	return nil // else another client was first: the next look finds its mark
}

// A gathering is the registers of the others that a master is to be seeded with.
type gathering struct {
	m         *master
	session   *session // of m: what was gathered for one server is not sent to the next
	ticket    string
	open      int // masters that are still to answer
	read      uint64
	registers [fencing.Registers]uint64
}

func (m *master) gatherLocked(ticket string, now time.Time) {
	g := &gathering{m: m, session: m.session, ticket: ticket}
	if m.member.kept && m.member.shown == m.p.set.text {
		m.sendLocked(g.newSeedingLocked(), now)
		return
	}
	for _, other := range m.p.masters {
		if other != m && other.up && other.member.admission.Admitted() {
			g.open++
			other.sendLocked(other.newReading(g), now)
		}
	}
	g.checkLocked(now)
}

// checkLocked seeds the master, or gives up until the next tick, when all have answered.
func (g *gathering) checkLocked(now time.Time) {
	m := g.m
	switch {
	case g.open > 0:
	case m.session != g.session || !m.up:
	case fencing.Enough(g.read, len(m.p.masters), m.p.quorum):
		m.member.read = 0
		m.sendLocked(g.newSeedingLocked(), now)
	default:
		m.member.busy, m.member.read = false, bits.OnesCount64(g.read)+1
	}
}

// A reading reads the registers of one master for another.
type reading struct {
	batch
	g *gathering
}

func (m *master) newReading(g *gathering) *reading {
	r := &reading{g: g}
	r.readRegisters(m.p.set.text, m.admission.runID)
	return r
}

func (b *batch) readRegisters(set, runID string) {
	b.begin(8)
	b.add("EVALSHA", scripts.ReadRegisters.SHA1, "3", setKey, markKey, registersKey, set, runID)
}

func (r *reading) answered(m *master, replies []resp.Reply) error {
	var registers [fencing.Registers]uint64
	err := replies[0].Err()
	if err == nil {
		err = parseRegisters(replies[0].Text, &registers)
	}
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	if err == nil {
		r.g.read |= 1 << m.index
		fencing.Merge(r.g.registers[:], registers[:])
	}
	r.g.open--
	r.g.checkLocked(time.Now())
	if isUnfit(err) {
		return err
	}
	return nil
}

// parseRegisters reads fields and values, in turn.
func parseRegisters(text string, into *[fencing.Registers]uint64) error {
	words := strings.Fields(text)
	for i := 0; i+1 < len(words); i += 2 {
		register, err1 := strconv.Atoi(words[i])
		value, err2 := strconv.ParseUint(words[i+1], 10, 64)
		if errors.Join(err1, err2) != nil || register < 0 || register >= fencing.Registers || value > fencing.MaxToken {
			return fmt.Errorf("register %s holds no token", words[i])
		}
		into[register] = value
	}
	return nil
}

func (r *reading) requests() int { return 0 }
func (r *reading) lostLocked(*master) {
	r.g.open--
	r.g.checkLocked(time.Now())
}

// A seeding admits a master.
type seeding struct {
	batch
	step
	ticket string
}

func (g *gathering) newSeedingLocked() *seeding {
	s := &seeding{ticket: g.ticket}
	s.seed(g.m.p.set.text, g.m.admission.runID, g.ticket, g.m.member.shown, g.registers[:])
	return s
}

func (b *batch) seed(set, runID, ticket, shown string, registers []uint64) {
	b.begin(11 + len(registers))
	b.add("EVALSHA", scripts.Seed.SHA1, "4", setKey, markKey, ticketKey, registersKey)
	b.add(set, runID, ticket, shown)
	for _, value := range registers {
		b.addNumber(value)
	}
}

func (s *seeding) answered(m *master, replies []resp.Reply) error {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	m.member.busy = false
	if err := replies[0].Err(); err != nil {
		return fmt.Errorf("admission: %w", err)
	}
	m.member.admission.Seeded(s.ticket, replies[0].Number == 1)
	return nil
}

// A step is what the steps of an admission have in common.
type step struct{}

func (step) requests() int        { return 0 }
func (step) lostLocked(m *master) { m.member.busy = false }
