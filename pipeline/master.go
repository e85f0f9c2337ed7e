package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"muxlock/internal/resp"
)

// A master is one Redis server and the goroutines that speak to it: one reads, and one
// writes what could not be written at once.
//
//	away --probe admits----------> up     (a connection, its scripts, its pending releases sent)
//	up   --error, silence--------> away   (set aside: no votes, nothing sent)
//	up   --too far behind--------> behind (up, but rounds pass it by)
//	behind --all of it is sent---> up
//
// One whose server was restarted is up at once, but is not sent acquires until
// admission.votesFrom.
//
// While it is up, rounds are sent to it by whoever forms them, as far as its pace allows;
// the rest waits in unsent. Its own goroutine reads the answers, oldest first. While it is
// away, the same goroutine probes, and rounds pass it by: the caller that forms one casts
// its unknown votes and notes the releases that it will have to be told of.
type master struct {
	p       *Pipeline
	index   int
	address string
	option  rueidis.ClientOption
	stuck   chan struct{} // capacity 1: the writer is to write carried; closed when run returns

	// The following are guarded by Pipeline.mu.
	up              bool
	behind          bool          // while up
	cause           error         // why it is away
	unsent          []part        // formed, not sent or not wholly
	backlog         int           // requests in unsent
	compacting      bool          // run looks through what was unsent
	flights         []flight      // on the wire, oldest first
	onWire          int           // requests in flights
	writes          int           // writes that flights belong to
	pace            pace          // what it has been measured to do
	window          int           // of pace: writes on the wire at once
	budget          int           // of pace: requests
	took            time.Duration // of the last flight
	leaveAfterWrite []*round      // to be left when the write that is under way ends
	out             [][]byte      // to be written
	writing         bool          // somebody writes carried
	blocked         bool          // and the socket takes no more
	unclaimed       int           // flights, the newest, that nobody writes yet
	written         sync.Cond     // that has ended, after the master was set aside
	sendingPending  bool          // pending releases are on the wire
	checking        bool          // a check is
	awayFrom        uint64        // while away or behind: the first round that it was not asked in
	pending         pendingReleases
	stats           MasterStats

	// Written by run, under Pipeline.mu; so run may read it without.
	admission admission
	session   *session // also used by who has set writing

	// The following are owned by who has set writing.
	carried [][]byte // what is written
	gone    int      // pieces of it that are

	// The following are owned by run.
	replies  []resp.Reply
	looked   time.Time // the last look at a silent master counted from then
	far      bool      // window was above 1
	admitted time.Time
	pause    time.Duration // before the next probe
}

const (
	// maxBacklog bounds the requests that may wait for one master while the others go
	// ahead. One that reaches it is passed by until it has been sent what waits.
	maxBacklog = 1 << 16
	// tickPeriod is how often servers are checked, and masters looked at for pending
	// releases that are due.
	tickPeriod = 200 * time.Millisecond
	// lastLook is how long a master that has missed its time is listened to once more.
	lastLook = time.Millisecond
	// overslept is by how much a goroutine may wake late on a machine that is merely
	// busy. After more than that the process itself was stopped, which is no silence of
	// the master's.
	overslept = 10 * time.Millisecond
)

var (
	errBehind  = errors.New("too far behind the other masters")
	errClosing = errors.New("pipeline is closing")
	errSilent  = fmt.Errorf("no answer in time: %w", os.ErrDeadlineExceeded)
)

// run is the master's goroutine: it ends when the pipeline's ctx does.
func (m *master) run() {
	defer close(m.stuck)
	if m.session != nil && m.notVoting(time.Now()) != nil {
		m.notify(true) // else that New has admitted it goes without saying
	}
	for {
		if m.session == nil {
			m.notify(false)
			if !m.probeUntilAdmitted() {
				return
			}
			m.notify(true)
		}
		m.setAside(m.serve())
	}
}

// tell passes on what has become of the master; that the pipeline closes is no news.
func (m *master) notify(up bool) {
	cause := m.notVoting(time.Now())
	if !up {
		m.p.mu.Lock()
		cause = m.cause
		m.p.mu.Unlock()
	}
	if m.p.changed != nil && !errors.Is(cause, errClosing) {
		m.p.changed(m.address, up, cause)
	}
}

// waits returns why the master is not to be sent acquires, or nil if it is.
func (m *master) notVoting(now time.Time) error { return m.admission.notVoting(now) }

// serve reads answers until the master is to be set aside, and returns why.
func (m *master) serve() (cause error) {
	s := m.session
	defer context.AfterFunc(m.p.ctx, func() { _ = s.conn.SetReadDeadline(time.Now()) })()
	if err := s.listenUntil(time.Now().Add(m.p.timeout)); err != nil {
		return err
	}
	for {
		if _, err := s.in.Peek(1); err != nil {
			return err
		}
		f, ok := m.oldest()
		if !ok {
			return fmt.Errorf("%w: nothing was asked", errUnexpected)
		}
		var err error
		if m.replies, err = s.read(f.commands(), m.replies[:0]); err != nil {
			return err
		}
		if err := m.land(&f); err != nil {
			return err
		}
	}
}

// overdue says, when a read deadline has passed, until when to read on, or that the master
// has been silent for too long: since the oldest flight was sent or anything came.
func (m *master) overdue(now time.Time) (time.Time, error) {
	p, s := m.p, m.session
	if p.ctx.Err() != nil {
		return now, errClosing
	}
	since := m.unansweredSince(now)
	if s.lastRead.After(since) {
		since = s.lastRead
	}
	until, silent := lookAgain(p.timeout, since, s.until, m.looked, now)
	if silent {
		return now, errSilent
	}
	if !now.Before(since.Add(p.timeout)) {
		m.looked = since
	}
	return until, nil
}

// unansweredSince returns since when an answer is due: since the oldest flight was written
// or, where the socket does not take it, since that was begun. A caller who is to write it
// may have been stopped on the way; then there is nothing to be answered yet.
func (m *master) unansweredSince(now time.Time) time.Time {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	switch {
	case len(m.flights) == 0:
		return now
	case !m.flights[0].wrote.IsZero():
		return m.flights[0].wrote
	case m.blocked:
		return m.flights[0].sent
	}
	return now
}

// lookAgain says, at now, when reading until asked has brought nothing, until when to read
// on, or that the master has been silent for too long since it was sent something. looked
// is the since of which the last look was taken.
func lookAgain(timeout time.Duration, since, asked, looked, now time.Time) (until time.Time, silent bool) {
	if end := since.Add(timeout); now.Before(end) {
		return end, false
	}
	if late := now.Sub(asked); late > overslept { // we were stopped, and could not hear it
		return now.Add(min(late, timeout)), false
	}
	return now.Add(lastLook), looked.Equal(since) // else an answer may be there already
}

func (m *master) oldest() (flight, bool) {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	if len(m.flights) == 0 {
		return flight{}, false
	}
	return m.flights[0], true
}

// land takes the replies to the oldest flight, and sends what waited for it to end. The
// error says that the master is not fit to serve.
func (m *master) land(f *flight) (unfit error) {
	p := m.p
	var a answers
	many := f.requests >= foldFrom || m.far && f.requests > 1
	if many && m.far {
		// Those who are woken ask again, and are to leave together, not the first alone.
		p.mu.Lock()
		p.voting++
		p.mu.Unlock()
	}
	if f.errand != nil {
		unfit = f.errand.answered(m, m.replies)
	} else {
		a = f.part.read(m, f.first, m.replies)
		unfit = a.unfit
	}
	if many {
		runtime.Gosched()
	}
	p.mu.Lock()
	if many && m.far {
		p.voting--
	}
	now := time.Now()
	m.landedLocked(f, now)
	if f.errand == nil {
		m.notePendingLocked(f, &a, now)
		m.repeatLocked(f, &a, now)
		if f.last {
			m.leaveLocked(f)
		}
	}
	if unfit == nil {
		if len(m.unsent) >= compactFrom {
			m.compactLocked()
		}
		m.departLocked(now)
		p.formLocked()
	}
	p.unlock()
	return unfit
}

// landedLocked takes the oldest flight off the wire.
func (m *master) landedLocked(f *flight, now time.Time) {
	m.took = now.Sub(f.sent)
	m.pace.answered(f.requests, f.ahead, m.took, now)
	m.paceLocked()
	m.far = m.window > 1
	f.wrote = m.flights[0].wrote
	m.flights = slices.Delete(m.flights, 0, 1)
	m.onWire -= f.requests
	m.writes -= f.writes
}

// leaveLocked leaves the round of a flight that has landed. Its answer may come before who
// writes it has put its bytes down; then the end of the write leaves.
func (m *master) leaveLocked(f *flight) {
	if f.wrote.IsZero() {
		m.leaveAfterWrite = append(m.leaveAfterWrite, f.part.r)
	} else {
		f.part.r.leave()
	}
}

func (m *master) paceLocked() { m.window, m.budget = m.pace.window(), m.pace.budget() }

// bookLocked notes the releases that failed and, after a connection died, those whose
// acquire may still be executed.
func (m *master) notePendingLocked(f *flight, a *answers, now time.Time) {
	m.stats.ReleasesDenied += uint64(a.dropped)
	for _, i := range a.failed {
		m.pending.add(&f.part.entries[i], now)
	}
	if len(m.pending.inDoubt) > 0 {
		f.part.releases(f.first, f.end, func(q *Request) { m.pending.sent(q, now) })
	}
}

// repeatLocked has extends and releases that were not executed asked for again: the calls of
// a script that was missing, after it was loaded, and alone those that were refused for one
// name. NOSCRIPT and NOPERM prove that they were not executed, and the session that the
// server is still the one that was admitted. They run behind what has been sent meanwhile,
// and may: an acquire is never asked for twice.
func (m *master) repeatLocked(f *flight, a *answers, now time.Time) {
	if len(a.refused) > 0 {
		m.waitLocked(f.part.repeat(a.refused, true))
	}
	if len(a.noScript) > 0 {
		m.sendLocked(newLoading(), now)
		m.waitLocked(f.part.repeat(a.noScript, false))
	}
}

// waitLocked puts a part in front of those that wait.
func (m *master) waitLocked(p part) {
	m.unsent = slices.Insert(m.unsent, 0, p)
	m.backlog += len(p.entries)
}

// thinLocked drops what is over from all that waits, without the mutex meanwhile.
func (m *master) compactLocked() {
	waiting := m.unsent
	m.unsent, m.compacting = nil, true
	m.p.mu.Unlock()
	waiting = compact(m, waiting)
	m.p.mu.Lock()
	m.unsent, m.compacting = append(waiting, m.unsent...), false
	m.backlog = 0
	for i := range m.unsent {
		m.backlog += m.unsent[i].left()
	}
}

// hasRoomLocked reports whether a round that is formed now would be sent at once.
func (m *master) hasRoomLocked() bool {
	return m.up && len(m.unsent) == 0 && !m.compacting && m.writes < m.window && m.onWire < m.budget
}

// departLocked sends what waits, in one write and as much as the pace allows.
func (m *master) departLocked(now time.Time) {
	if m.compacting || m.writes >= m.window {
		return
	}
	writes := 1 // of the first flight
	for len(m.unsent) > 0 && m.onWire < m.budget {
		p := &m.unsent[0]
		end, requests := p.fit(m.budget - m.onWire)
		f := flight{part: *p, first: p.next, end: end, last: end == len(p.ends), requests: requests, sent: now, writes: writes}
		p.next = end
		m.backlog -= requests
		if f.last {
			m.unsent = slices.Delete(m.unsent, 0, 1)
		}
		if f.first == f.end {
			f.part.r.leave() // all of it is over
			continue
		}
		m.writes += writes
		writes = 0
		m.flyLocked(f, f.part.bytesOf(f.first, f.end))
	}
	if m.behind && len(m.unsent) == 0 {
		m.behind = false
		m.sendPendingLocked(now)
	}
}

// sendLocked sends an errand, behind what has been sent.
func (m *master) sendLocked(e errand, now time.Time) {
	m.flyLocked(flight{errand: e, requests: e.requests(), sent: now}, e.bytes())
}

func (m *master) flyLocked(f flight, bytes []byte) {
	f.ahead = m.onWire
	m.flights = append(m.flights, f)
	m.onWire += f.requests
	m.out = append(m.out, bytes)
	m.unclaimed++
	m.p.toWrite |= 1 << m.index
}

// setAside ends the master's part in rounds until a probe admits it again.
func (m *master) setAside(cause error) {
	p, s := m.p, m.session
	p.mu.Lock()
	m.up, m.cause = false, cause
	m.stats.SetAside++
	p.up--
	flights, unsent := m.flights, m.unsent
	m.flights, m.unsent, m.backlog, m.onWire, m.writes, m.out, m.unclaimed = nil, nil, 0, 0, 0, nil, 0
	m.sendingPending, m.checking = false, false
	now := time.Now()
	m.noteInDoubtLocked(flights, unsent)
	for i := range flights {
		if f := &flights[i]; f.errand != nil {
			f.errand.lostLocked(m)
		} else {
			f.part.releases(f.first, f.end, func(q *Request) { m.pending.add(q, now) })
		}
	}
	for i := range unsent {
		w := &unsent[i]
		w.releases(w.next, len(w.ends), func(q *Request) {
			if w.next > 0 || w.again || q.Round < m.awayFrom {
				m.pending.add(q, now)
			}
		})
	}
	m.behind = false
	p.formLocked()
	p.unlock()

	for i := range flights {
		if f := &flights[i]; f.errand == nil {
			f.part.fail(m, f.first, f.end, cause)
		}
	}
	for i := range unsent {
		w := &unsent[i]
		w.fail(m, w.next, len(w.ends), cause)
	}
	s.close()
	p.mu.Lock()
	for m.writing { // what is being written belongs to the rounds
		m.written.Wait()
	}
	m.session = nil
	p.mu.Unlock()
	for i := range flights {
		if f := &flights[i]; f.last {
			f.part.r.leave()
		}
	}
	for i := range unsent {
		unsent[i].r.leave()
	}
}

// doubtLocked notes which acquires may still be executed although the connection has ended,
// and in which round the master was first not asked.
func (m *master) noteInDoubtLocked(flights []flight, unsent []part) {
	var from, to uint64
	sent := func(r *round) {
		if from == 0 || r.seq < from {
			from = r.seq
		}
		to = max(to, r.seq)
	}
	for i := range flights {
		if flights[i].errand == nil {
			sent(flights[i].part.r)
		}
	}
	awayFrom := m.p.seq + 1
	for i := len(unsent) - 1; i >= 0; i-- {
		if w := &unsent[i]; w.next > 0 {
			sent(w.r)
		} else if !w.again {
			awayFrom = w.r.seq
		}
	}
	if to != 0 {
		m.pending.died(from, to)
	}
	if !m.behind {
		m.awayFrom = awayFrom
	} else {
		m.awayFrom = min(m.awayFrom, awayFrom)
	}
}

// passLocked notes what a round that this master is not asked in leaves it to do:
// the releases of locks that it may have granted. A lock that was acquired while
// it was away cannot be there.
func (m *master) skipRoundLocked(r *round) {
	now := time.Time{}
	for i := range r.entries {
		if q := r.entries[i]; q.Op == Release && q.Round < m.awayFrom {
			if now.IsZero() {
				now = time.Now()
			}
			if m.behind {
				q.Round = 0 // the acquire may be executed yet, however late
			}
			m.pending.add(&q, now)
		}
	}
}

// tickLocked sends the releases that have come due and checks the server.
func (m *master) tickLocked(now time.Time) {
	m.pending.prune(now)
	if !m.up {
		return
	}
	m.sendPendingLocked(now)
	if !m.checking {
		m.checking = true
		m.sendLocked(newCheck(), now)
	}
}

// payLocked sends the releases that are due, some at a time.
func (m *master) sendPendingLocked(now time.Time) {
	if m.sendingPending || m.behind {
		return
	}
	if next := m.takePendingLocked(now); next != nil {
		m.sendingPending = true
		m.sendLocked(next, now)
	}
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
