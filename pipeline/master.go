package pipeline

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"muxlock/internal/resp"
)

// A master is one Redis server and the goroutines that speak to it: one reads, and one
// writes what could not be written at once.
//
//	away --probe admits----------> up     (a connection, its scripts, its pending releases sent)
//	up   --error, hung-----------> away   (set aside: no votes, nothing sent)
//	up   --too far behind--------> behind (up, but rounds skip it)
//	behind --all of it is sent---> up
//
// One whose server was restarted is up at once, but is not sent acquires until
// admission.votesFrom.
//
// While it is up, rounds are sent to it by whoever forms them, as far as its pace allows;
// the rest waits in unsent. Its own goroutine reads the answers, oldest first. While it is
// away, the same goroutine probes, and rounds skip it: the caller that forms one casts its
// unknown votes and notes its pending releases.
type master struct {
	p       *Pipeline
	index   int
	address string
	option  rueidis.ClientOption
	stuck   chan struct{} // capacity 1: the writer is to write carried; closed when run returns
	wanted  chan struct{} // capacity 1: a round was formed without the master

	// The following are guarded by Pipeline.mu.
	up              bool
	behind          bool          // while up
	cause           error         // why it is away
	unsent          []part        // formed, not sent or not wholly
	backlog         int           // requests in unsent
	compacting      bool          // run compacts what was unsent
	flights         []flight      // on the wire, oldest first
	onWire          int           // requests in flights
	writes          int           // writes that flights belong to
	pace            pace          // what it has been measured to do
	window          int           // of pace: writes on the wire at once
	budget          int           // of pace: requests
	took            time.Duration // of the last flight
	leaveAfterWrite []*round      // left when the write that is under way ends
	out             [][]byte      // to be written
	writing         bool          // somebody writes carried
	blocked         bool          // and the socket takes no more
	unclaimed       int           // flights, the newest, that nobody writes yet
	written         sync.Cond     // that has ended, after the master was set aside
	optimism        optimism
	sendingPending  bool      // pending releases are on the wire
	checked         time.Time // when the last check was sent
	awayFrom        uint64    // while away or behind: the first round that it was not asked in
	pending         pendingReleases
	stats           MasterStats
	reported        standing

	// Written by run, under Pipeline.mu; so run may read it without.
	admission admission
	member    membership
	session   *session // also used by who has set writing
	dialect   dialect  // what the server of the session has

	// The following are owned by who has set writing.
	carried [][]byte // what is written
	gone    int      // pieces of it that are

	// The following are owned by run.
	replies     []resp.Reply
	triedInVain bool      // a connection broke off when native commands were tried
	looked      time.Time // the last look at a silent master counted from then
	far         bool      // window was above 1
	admitted    time.Time
	pause       time.Duration // before the next probe
}

const (
	// maxBacklog bounds the requests that may wait for one master while the others go
	// ahead. Rounds skip one that reaches it until it has been sent what waits.
	maxBacklog = 1 << 16
	// tickPeriod is how often pending releases that are due are sent, and the age from which on a
	// check is too old for what is sent next.
	tickPeriod = 200 * time.Millisecond
	// idlePeriod is how often a server is checked that is sent nothing else. A check costs it
	// some 40 us, most of them for the system calls.
	idlePeriod = 8 * time.Second
)

var (
	errBehind  = errors.New("too far behind the other masters")
	errClosing = errors.New("pipeline is closing")
)

// run is the master's goroutine: it ends when the pipeline's ctx does.
func (m *master) run() {
	defer close(m.stuck)
	for {
		m.report()
		if m.session == nil {
			if !m.probeUntilAdmitted() {
				return
			}
			m.report()
		}
		m.setAside(m.serve())
	}
}

// tickLocked sends the releases that have come due and checks a server that was idle. One that does
// not say what it has received must be checked more often: else its first replica would count
// as a loss of its data (admission.lost). So is one whose wait has ended, which is to be reported.
func (m *master) tickLocked(now time.Time) {
	m.pending.prune(now)
	if !m.up {
		return
	}
	m.sendPendingLocked(now)
	m.admitLocked(now)
	age := idlePeriod
	if m.admission.received == "" || !m.reported.votes && m.notVoting(now) == nil {
		age = 0
	}
	m.checkLocked(now, age)
}

// checkLocked checks the server unless a check was sent less than age ago. One that is still under
// way may have been executed long ago: it does not stand for the data that a request meets now.
func (m *master) checkLocked(now time.Time, age time.Duration) {
	if now.Sub(m.checked) < age {
		return
	}
	m.checked = now
	m.sendLocked(newCheck(now, m.admission.glanced(now)), now)
}

// dialAndAdmit opens a connection and admits the master if its server is fit. It
// returns when ctx ends.
func (m *master) dialAndAdmit(ctx context.Context) error {
	s, err := dial(ctx, m.option, m.p.timeout)
	if err != nil {
		return err
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
	}
	return err
}
