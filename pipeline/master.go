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

// A master is one Redis server with two goroutines: a reader, and a writer for bytes that could not
// be written at once.
//
//	away   --admitted by a probe--> up     (connected; scripts and pending releases sent)
//	up     --error, hung----------> away   (set aside: no votes, nothing sent)
//	up     --too far behind-------> behind (up, but rounds skip it)
//	behind --all of it is sent----> up
//
// While the master is up, each round is sent to it once formed, as far as the pace allows; the rest
// waits in unsent. The reader reads the answers, oldest first. While the master is away, the reader
// probes it, and rounds skip it: forming a round casts the master's unknown votes and notes its
// pending releases.
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
	hearing
	pending pending.Releases  // guarded by Pipeline.mu
	server  membership.Server // run writes it under Pipeline.mu and reads it without
	member  member            // its part in the set, with fencing; likewise
}

// A target is where the master is; fixed after New.
type target struct {
	index   int
	address string
	option  rueidis.ClientOption
}

// A status says whether the master takes part in rounds; guarded by Pipeline.mu.
type status struct {
	up       bool
	resting  bool  // see resting.go
	behind   bool  // up, but rounds skip it
	cause    error // of being away
	reported standing
	stats    MasterStats
}

// A speed has the measurements of the master, and limits derived from them; guarded by Pipeline.mu.
type speed struct {
	pace   pace.Pace
	window int           // pace.Window: writes on the wire at once
	budget int           // pace.Budget: requests on the wire at once
	took   time.Duration // of the last flight
}

// A link is the connection to the master's server. Only run writes it, under Pipeline.mu, so run
// may read it without.
type link struct {
	session     *conn.Session // also used by the goroutine that has set writing
	dialect     conn.Dialect  // of the session's server
	optimism    optimism      // guarded by Pipeline.mu
	triedInVain bool          // a connection broke off during a trial of native commands; owned by run
	noReaders   error         // the ACL forbids what an Intend needs; guarded by Pipeline.mu
	lineTrials  int           // connections in a row that began to try a line; guarded by Pipeline.mu
}

const (
	// maxBacklog bounds the requests that may wait for one master while the others go ahead. Rounds
	// skip a master that has more, until all of it is sent.
	maxBacklog = 1 << 16
	// tickPeriod is how often due pending releases are sent. A check older than that does not vouch
	// for requests that are sent next.
	tickPeriod = 200 * time.Millisecond
	// idlePeriod is how often a server that is sent nothing else is checked. A check costs it some
	// 40 us, most of them for system calls.
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
		if m.resting {
			m.reconnect()
		}
	}
}

// tickLocked sends the releases that have come due, and checks an idle server. A server that does
// not report how much it has received is checked at every tick: else its first replica would look
// like a loss of its data (Server.lost). So is a server whose wait has ended, until this is reported.
func (m *master) tickLocked(now time.Time) {
	m.pending.Prune(now)
	if !m.up {
		return
	}
	m.sendPendingLocked(now)
	m.admitLocked(now)
	age := idlePeriod
	if m.server.Received == "" || !m.reported.votes && m.notVoting(now) == nil {
		age = 0
	}
	m.checkLocked(now, age)
}

// checkLocked checks the server unless a check was sent less than age ago. An older check does not
// suffice, even if its answer is still to come: the server may have executed it long ago, on other
// data than a request meets now.
func (m *master) checkLocked(now time.Time, age time.Duration) {
	if now.Sub(m.checked) < age {
		return
	}
	m.checked = now
	m.sendLocked(m.newCheck(now, m.server.Glanced(now)), now)
}

// dialAndAdmit opens a connection, and admits the master if its server is fit. It returns when ctx
// ends. The server has for greeting, or the timeout if that is longer, to greet.
func (m *master) dialAndAdmit(ctx context.Context, greeting time.Duration) error {
	s, err := conn.Dial(ctx, m.option, m.p.cfg.Timeout, greeting)
	if err != nil {
		return asRefusal(err)
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
	return asRefusal(err)
}
