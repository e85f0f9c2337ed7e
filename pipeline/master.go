package pipeline

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// A master is one Redis server and the one goroutine that speaks to it.
//
//	away --probe admits------------> up     (a connection, its scripts, its debts paid)
//	up   --error, silence, debt----> away   (set aside: no votes, nothing sent)
//
// One whose server was restarted is up at once, but is not sent acquires until
// admission.votesFrom.
//
// While it is up, its goroutine sends the rounds that wait for it, all of them in
// one write, and reads the answers. While it is away, the same goroutine probes,
// and rounds pass it by: the caller that forms one casts its unknown votes and
// notes the releases that it will have to be told of.
type master struct {
	p       *Pipeline
	index   int
	address string
	option  rueidis.ClientOption
	wake    chan struct{} // capacity 1; says that there is something to do
	tick    atomic.Bool   // it is time for maintain

	// The following are guarded by Pipeline.mu.
	up       bool
	busy     bool          // pending is not empty, or its rounds are on the wire
	pending  []*round      // formed, not sent
	backlog  int           // requests in pending
	inFlight int           // requests sent and not answered
	cause    error         // why it is away
	flying   [2]uint64     // first and last round on the wire, while busy
	took     time.Duration // of its last exchange
	awayFrom uint64        // while away: the first round that it was not asked in
	runID    string        // of the server behind the last admitted connection
	ledger   ledger
	stats    MasterStats

	// Written by run, under Pipeline.mu; so run may read it without.
	admission admission

	// The following are owned by run.
	session  *session
	taken    []*round
	sending  []part
	wire     [][]byte // what goes out in one write
	replies  []rueidis.RedisResult
	admitted time.Time
	lastUse  time.Time
	lastTook time.Duration // of the last exchange
	pause    time.Duration // before the next probe
}

const (
	// maxBacklog bounds the requests that may wait for one master while the others
	// go ahead. A master that is merely slow takes everything that waits in its
	// next write and never comes near; one that reaches it is set aside.
	maxBacklog = 1 << 16
	// tickPeriod is how often an idle master's goroutine looks for debts that are due.
	// One goroutine wakes all masters': a ticker in each one's select would be put
	// into and taken out of the timer heap with every round.
	tickPeriod = 200 * time.Millisecond
	// idlePing is how long a connection may be silent before it is tried out, so
	// that one that was cut meanwhile is replaced before a caller meets it.
	idlePing = time.Second
)

var (
	errBacklog = errors.New("too far behind the other masters")
	errClosing = errors.New("pipeline is closing")
)

// run is the master's goroutine: it ends when the pipeline's ctx does.
func (m *master) run() {
	if m.session != nil && m.waits() != nil {
		m.tell(true) // else that New has admitted it goes without saying
	}
	for {
		if m.session == nil {
			m.tell(false)
			if !m.probeUntilAdmitted() {
				return
			}
			m.tell(true)
		}
		m.serve()
		m.session.close()
		m.session = nil
	}
}

// tell passes on what has become of the master; that the pipeline closes is no news.
func (m *master) tell(up bool) {
	cause := m.waits()
	if !up {
		m.p.mu.Lock()
		cause = m.cause
		m.p.mu.Unlock()
	}
	if m.p.changed != nil && !errors.Is(cause, errClosing) {
		m.p.changed(m.address, up, cause)
	}
}

// serve sends what comes until the master is set aside or the pipeline closes.
func (m *master) serve() {
	for {
		// Read before next looks: once closing is seen, nothing more can arrive.
		closing := m.p.ctx.Err() != nil
		if m.tick.Swap(false) {
			m.maintain()
		}
		rounds, up := m.next()
		switch {
		case !up:
			return
		case len(rounds) > 0:
			many := rounds[0].folded
			m.exchange(m.parts(rounds))
			if many {
				runtime.Gosched() // those who were woken ask again, and come along in the next round
			}
		case closing:
			m.setAside(errClosing, nil)
		default:
			<-m.wake
		}
	}
}

// poke wakes the master's goroutine, now or when it next looks.
func (m *master) poke() {
	select {
	case m.wake <- struct{}{}:
	default: // a wake-up is on its way already
	}
}

// next takes all rounds that wait. The master that makes enough of them idle forms
// the next round from whatever has arrived.
func (m *master) next() (rounds []*round, up bool) {
	p := m.p
	p.mu.Lock()
	defer p.mu.Unlock()
	m.inFlight = 0
	if !m.up {
		m.busy = false
		return nil, false
	}
	m.took = m.lastTook
	if m.busy && len(m.pending) == 0 {
		m.busy = false
		p.idle++
		p.formLocked()
	}
	m.takeLocked()
	return m.taken, true
}

// takeLocked takes the rounds that wait, as many as one write may carry.
func (m *master) takeLocked() {
	n, commands := 0, 0
	for n < len(m.pending) && commands+m.pending[n].batch.commands() <= maxCommands {
		commands += m.pending[n].batch.commands()
		m.backlog -= len(m.pending[n].entries)
		m.inFlight += len(m.pending[n].entries)
		n++
	}
	m.taken = append(m.taken[:0], m.pending[:n]...)
	m.pending = slices.Delete(m.pending, 0, n)
	m.flying = [2]uint64{}
	if n > 0 {
		m.flying = [2]uint64{m.taken[0].seq, m.taken[n-1].seq}
	}
}

// exchange sends the parts in one write, reads their replies and lets them vote.
func (m *master) exchange(parts []part) {
	m.sending = parts
	m.wire = m.wire[:0]
	commands := 0
	for i := range parts {
		m.wire = append(m.wire, parts[i].batch.bytes)
		commands += parts[i].batch.commands()
	}
	defer m.leave(parts)
	if commands == 0 {
		return // all of it is over
	}
	start := time.Now()
	m.replies = m.session.do(m.wire, commands, m.replies)
	m.lastUse = time.Now()
	m.lastTook = m.lastUse.Sub(start)
	if err := transportError(m.replies); err != nil {
		m.setAside(err, parts)
		for i := range parts {
			parts[i].fail(m, err)
		}
		return
	}
	replies, sick := m.replies, error(nil)
	var again []repeat
	for i := range parts {
		p := &parts[i]
		missing, failed, err := p.read(m, 0, replies[:p.batch.commands()])
		replies = replies[p.batch.commands():]
		for _, c := range missing {
			again = append(again, repeat{p, c})
		}
		m.book(p, failed)
		if err != nil {
			sick = err
		}
	}
	if len(again) > 0 {
		if err := m.reload(parts, again); err != nil {
			sick = err
		}
	}
	if sick != nil {
		m.setAside(sick, nil)
	}
}

// repeat is a command that was not executed because its script was missing.
type repeat struct {
	p *part
	c int
}

// reload loads the scripts and repeats the commands that missed them, before
// anything else is sent. NOSCRIPT proves that they were not executed, and the
// session that the server is still the one that was admitted.
func (m *master) reload(parts []part, again []repeat) (sick error) {
	var load batch
	load.loadScripts()
	loads := load.commands()
	m.wire = append(m.wire[:0], load.bytes)
	for _, a := range again {
		m.wire = append(m.wire, a.p.batch.command(a.c))
	}
	// A release of the same write has met nothing where its acquire is yet to come.
	m.p.mu.Lock()
	m.oweLocked(parts)
	m.p.mu.Unlock()
	m.replies = m.session.do(m.wire, loads+len(again), m.replies)
	if err := transportError(m.replies); err != nil {
		m.setAside(err, parts)
		for _, a := range again {
			a.p.failCommand(m, a.c, err)
		}
		return err
	}
	for i, a := range again {
		reply := m.replies[loads+i : loads+i+1]
		missing, failed, err := a.p.read(m, a.c, reply)
		if len(missing) > 0 {
			err = reply[0].Error()
			failed = a.p.failCommand(m, a.c, err)
		}
		m.book(a.p, failed)
		if err != nil {
			sick = err
		}
	}
	return sick
}

// book notes the releases that failed and, after a connection died, those whose
// acquire may still be executed.
func (m *master) book(sent *part, failed []int) {
	p := m.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(failed) == 0 && len(m.ledger.doubts) == 0 {
		return
	}
	now := time.Now()
	for _, i := range failed {
		m.ledger.owe(&sent.entries[i], now)
	}
	for i := range sent.entries {
		if sent.entries[i].Op == Release {
			m.ledger.sent(&sent.entries[i], now)
		}
	}
}

func (m *master) leave(parts []part) {
	for i := range parts {
		parts[i].r.leave()
	}
	clear(parts)
}

// setAside ends the master's part in rounds until a probe admits it again.
// inFlight is what died with its connection; nil if all was answered.
func (m *master) setAside(cause error, inFlight []part) {
	p := m.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if inFlight == nil {
		m.flying = [2]uint64{}
	}
	m.setAsideLocked(cause)
	m.oweLocked(inFlight) // now that it is known which acquires are in doubt
	p.formLocked()
}

// oweLocked notes all releases of the parts.
func (m *master) oweLocked(parts []part) {
	now := time.Now()
	for _, p := range parts {
		for i := range p.entries {
			if p.entries[i].Op == Release {
				m.ledger.owe(&p.entries[i], now)
			}
		}
	}
}

func (m *master) setAsideLocked(cause error) {
	if !m.up {
		return
	}
	p := m.p
	m.up, m.cause = false, cause
	m.stats.SetAside++
	p.up--
	if !m.busy {
		p.idle--
	}
	if m.flying[1] != 0 {
		m.ledger.died(m.flying[0], m.flying[1])
	}
	unsent := m.pending
	m.pending, m.backlog = nil, 0
	m.awayFrom = p.seq + 1
	if len(unsent) > 0 {
		m.awayFrom = unsent[0].seq
	}
	for _, r := range unsent {
		m.passLocked(r)
		p := r.whole()
		p.fail(m, cause)
		r.leave()
	}
}

// passLocked notes what a round that this master is not asked in leaves it to do:
// the releases of locks that it may have granted. A lock that was acquired while
// it was away cannot be there.
func (m *master) passLocked(r *round) {
	now := time.Time{}
	for i := range r.entries {
		if q := &r.entries[i]; q.Op == Release && q.Round < m.awayFrom {
			if now.IsZero() {
				now = time.Now()
			}
			m.ledger.owe(q, now)
		}
	}
}

// maintain pays debts that have come due and tries out a silent connection. It runs
// at every tick, between rounds if there are some.
func (m *master) maintain() {
	p := m.p
	p.mu.Lock()
	if m.up && !m.busy {
		m.busy = true
		p.idle--
	}
	p.mu.Unlock()
	err := m.payDebts()
	if err == nil && time.Since(m.lastUse) >= idlePing {
		var ping batch
		ping.begin(1)
		ping.add("PING")
		if err = m.ask(&ping)[0].Error(); !isSick(err) && transportError(m.replies) == nil {
			err = nil // any other answer, a refusal by an ACL say, shows that it is alive
		}
		m.lastUse = time.Now()
	}
	if err != nil {
		m.setAside(fmt.Errorf("while idle: %w", err), nil)
	}
}

// payDebts sends the releases that are due, oldest first.
func (m *master) payDebts() error {
	for {
		m.p.mu.Lock()
		due := m.ledger.take(time.Now(), foldMax)
		m.inFlight = len(due)
		m.p.mu.Unlock()
		if len(due) == 0 {
			return nil
		}
		entries := make([]Request, len(due))
		for i, d := range due {
			entries[i] = Request{Op: Release, Name: d.name, Token: d.token}
		}
		votes, fault, err := m.askFolded(entries)
		if err == nil && isSick(fault) {
			err = fault
		}
		m.p.mu.Lock()
		if err != nil {
			m.ledger.unpaid(due)
		} else {
			m.ledger.paid(due, time.Now())
			m.stats.Orphans += countGranted(votes)
		}
		m.p.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// ask sends a batch apart from any round, and returns the replies.
func (m *master) ask(b *batch) []rueidis.RedisResult {
	m.replies = m.session.do([][]byte{b.bytes}, b.commands(), m.replies)
	return m.replies
}

// askFolded asks for entries in one call of the batch script, apart from any round.
func (m *master) askFolded(entries []Request) (votes string, fault, err error) {
	var call batch
	n := call.fold(entries)
	reply := m.ask(&call)[0]
	if isNoScript(reply.Error()) {
		var again batch
		again.loadScripts()
		again.fold(entries)
		reply = m.ask(&again)[again.commands()-1]
	}
	return batchVotes(reply, n)
}

func countGranted(votes string) (n uint64) {
	for i := range len(votes) {
		if votes[i] == '1' {
			n++
		}
	}
	return n
}

// dialAndAdmit opens a connection and admits the master if its server is fit. It
// returns when ctx ends.
func (m *master) dialAndAdmit(ctx context.Context) error {
	s, err := dial(ctx, m.option, m.p.timeout)
	if err != nil {
		return withoutArguments(err)
	}
	m.session = s
	err = m.probe()
	if !s.release() {
		err = ctx.Err()
	}
	if err == nil {
		err = m.admit()
	}
	if err != nil {
		s.close()
		m.session = nil
		err = withoutArguments(err)
	}
	return err
}
