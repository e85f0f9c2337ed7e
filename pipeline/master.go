package pipeline

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis"

	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/membership"
	"muxlock/pipeline/internal/pace"
	"muxlock/pipeline/internal/pending"
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
	p *Pipeline
	target
	status
	outbox
	inFlight
	speed
	writer
	link
	reader
	pending   pending.Releases     // guarded by Pipeline.mu
	admission membership.Admission // written by run under Pipeline.mu, so run may read it without
	member    member               // likewise
}

// A target is where the master is; fixed.
type target struct {
	index   int
	address string
	option  rueidis.ClientOption
}

// A status is whether the master takes part in rounds; guarded by Pipeline.mu.
type status struct {
	up       bool
	behind   bool  // while up
	cause    error // why it is away
	reported standing
	stats    MasterStats
}

// A speed is what the master has been measured to do; guarded by Pipeline.mu.
type speed struct {
	pace   pace.Pace
	window int           // of pace: writes on the wire at once
	budget int           // of pace: requests
	took   time.Duration // of the last flight
}

// A link is the connection to the master's server. It is written by run under Pipeline.mu, so run may
// read it without.
type link struct {
	session     *conn.Session // also used by who has set writing
	dialect     conn.Dialect  // what the server of the session has
	optimism    optimism      // guarded by Pipeline.mu
	triedInVain bool          // a connection broke off when native commands were tried; owned by run
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
	m.pending.Prune(now)
	if !m.up {
		return
	}
	m.sendPendingLocked(now)
	m.admitLocked(now)
	age := idlePeriod
	if m.admission.Received == "" || !m.reported.votes && m.notVoting(now) == nil {
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
	m.sendLocked(newCheck(now, m.admission.Glanced(now)), now)
}

// dialAndAdmit opens a connection and admits the master if its server is fit. It
// returns when ctx ends.
func (m *master) dialAndAdmit(ctx context.Context) error {
	s, err := conn.Dial(ctx, m.option, m.p.timeout)
	if err != nil {
		return err
	}
	m.session = s
	err = m.probe()
	if !s.Release() {
		err = ctx.Err()
	}
	if err == nil {
		err = m.admit()
	}
	if err != nil {
		s.Close()
		m.session = nil
	}
	return err
}
