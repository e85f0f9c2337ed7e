package membership

import (
	"errors"
	"fmt"
	"time"

	"muxlock/internal/serverinfo"
)

// ErrRestarted is matched by the cause of a master that was started so recently that it may have
// forgotten locks. It gets no acquires yet. It gets releases and extends. That it has no such lock says nothing yet.
var ErrRestarted = errors.New("muxlock: master was restarted")

// Restarted is an error that matches ErrRestarted. Its text says how long the wait will be.
type Restarted string

func (r Restarted) Error() string { return string(r) }
func (r Restarted) Unwrap() error { return ErrRestarted }

// A Server has the INFO reports of the server behind a master, and the time from which it votes on
// acquires. It is pure: no clock, no I/O.
//
// A server that comes up empty would grant locks that it had granted before it went down. So it waits
// until the longest lease that may exist has run out. The wait counts from our first sight of the new
// run_id, even if the rest of that probe failed, on our own monotonic clock: uptime follows the
// server's wall clock, which somebody may set. Only the first meeting goes by uptime: else every
// start of a service would have to wait. A run_id that comes back after another counts as new: two
// servers may take turns behind one address.
//
// A server that becomes a replica has another server's data from then on, and keeps its run_id.
// What Redis 7.0.15 reports in INFO replication (TestWhatRedisReportsOfADataSet):
//
//	                                     role    master_replid  second_repl_offset
//	REPLICAOF another                    slave   the other's    -1
//	  and then REPLICAOF NO ONE          master  new            0 or more
//	REPLICAOF an address that is silent  slave   the same       the same
//	  and then REPLICAOF NO ONE          master  new            0 or more
//	REPLICAOF NO ONE on a master         master  the same       the same
//	its first replica connects           master  new            -1
//	repl-backlog-ttl after its last      master  new            -1
//	started from a replicated RDB file   master  new            0 or more
//
// So run_id and master_replid identify a server's data. A new master_replid with an offset shows that
// the server was a replica meanwhile. Whether it got the other's data does not matter: a transfer
// that breaks off leaves neither its own nor the other's. A new master_replid without an offset is
// the same data in two cases. Either the last check was recent: repl-backlog-ttl wipes the offset
// out, too, but not within BacklogTTL. Or the server has received nothing as a replica since the
// last check: it counts the bytes, and every transfer begins with some. At a first meeting the
// offset may come from a file, and does not show when it was set; there uptime counts.
//
// Three things go unseen. One is a promotion before the first meeting. The second is a grant between
// a change and the next check. If the last check is 0.2 s old, a new one goes in
// front of acquires (master.checkLocked of the pipeline). So the gap is at most 0.2 s and an
// acquire's way to the server, even if the server was idle before, or a check is under way. If this
// process is stopped before it writes an acquire, the stop counts, too. The third is data that were
// replaced if, before the next check, the offset was wiped out and somebody reset the count of bytes
// (CONFIG RESETSTAT).
type Server struct {
	Wait    time.Duration // as Config.Wait; fixed after New
	Durable bool          // as Config.MastersAreDurable; fixed after New
	Trusted bool          // the first meeting needs no wait; written only during New

	RunID     string    // of the last server; "" before the first
	ReplID    string    // its master_replid; "": not reported
	Received  string    // bytes that it received as a replica, as of the last answer; "": not reported
	Replica   bool      // it was a replica when last asked
	Asked     time.Time // when it was last asked
	VotesFrom time.Time // zero: it votes
	started   time.Time // when the server started, if it is the first server met; else zero
	replaced  bool      // the wait follows no restart, but data that were replaced
	Swaps     int       // how often its data were replaced
	// WasReplica says that the server was a replica before it got its present data.
	WasReplica bool
}

// BacklogTTL is the least repl-backlog-ttl, 1, which Redis counts in whole seconds.
const BacklogTTL = time.Second

// Check returns s after a server has reported INFO, or its section replication. The section stats
// comes with it if the last check was longer ago (Glanced). The server was asked at asked and has
// answered by now, on a connection on which it had reported its run_id. After an error the
// connection must end, and grants that are still to come must not count: the server is no master,
// or its data have changed. The result is valid with an error, too.
func (s Server) Check(info serverinfo.Info, asked, now time.Time) (Server, error) {
	last := s
	if id := info.RunID(); id != "" {
		s.RunID = id
	}
	s.Asked, s.ReplID, s.WasReplica = asked, info.ReplID(), info.WasReplica()
	if received := info.Received(); received != "" {
		s.Received = received
	}
	if s.Replica = info.Replica(); s.Replica {
		return s, fmt.Errorf("is a replica (role %s), not a master", info.Role())
	}
	swapped := last.RunID == s.RunID && !last.Replica && last.lost(info, now)
	wait := s.Wait
	switch {
	case last.RunID == "":
		up, _ := info.Uptime()
		s.started = now.Add(-up)
		wait -= up
		if s.Trusted || s.Durable {
			wait = 0
		}
	case last.Replica || swapped:
		s.started, s.replaced = time.Time{}, true
		s.Swaps++
	case s.RunID != last.RunID:
		s.started, s.replaced = time.Time{}, false
		if s.Durable && !s.WasReplica {
			wait = 0
		}
	default: // at most the connection was cut
		return s, nil
	}
	if wait > 0 {
		s.VotesFrom = now.Add(wait)
	}
	if swapped {
		return s, s.NotVoting(now)
	}
	return s, nil
}

// lost reports whether the server may have lost its data since the last check, although it is the same
// server.
func (s Server) lost(info serverinfo.Info, now time.Time) bool {
	received := info.Received()
	switch {
	case s.ReplID == "" || s.ReplID == info.ReplID():
		return false
	case info.WasReplica():
		return true
	}
	return now.Sub(s.Asked) >= BacklogTTL && (received == "" || received != s.Received)
}

// Glanced reports whether the last check was so recent that the next one needs only master_replid
// and the offset.
func (s Server) Glanced(now time.Time) bool { return now.Sub(s.Asked) < BacklogTTL/2 }

// NotVoting returns why the master casts no vote at now; nil: it votes.
func (s Server) NotVoting(now time.Time) error {
	left := s.VotesFrom.Sub(now)
	if left <= 0 {
		return nil
	}
	what := "restarted"
	switch {
	case s.replaced:
		what = "was a replica meanwhile, its data set may be another"
	case !s.started.IsZero():
		what = fmt.Sprintf("started %v ago", now.Sub(s.started).Truncate(time.Second))
	}
	return Restarted(fmt.Sprintf("%s: no vote for another %v, until every lease it may have forgotten has run out", what, Tenths(left)))
}

// Tenths rounds up to tenths of a second: no text names too short a wait.
func Tenths(d time.Duration) time.Duration {
	const tenth = 100 * time.Millisecond
	return (d + tenth - 1).Truncate(tenth)
}
