package membership

import (
	"errors"
	"fmt"
	"time"

	"muxlock/internal/serverinfo"
)

// ErrRestarted is matched by the cause of a master that was started so recently that it
// may have forgotten locks: it is not asked for new ones yet. Releases and extends are
// sent to it, and count.
var ErrRestarted = errors.New("muxlock: master was restarted")

// Restarted has in its text how long the wait will be.
type Restarted string

func (r Restarted) Error() string { return string(r) }
func (r Restarted) Unwrap() error { return ErrRestarted }

// An Admission decides from when on a master votes on acquires, by what its server reports
// in INFO. It is pure: no clock, no I/O; guarded by Pipeline.mu and written by run.
//
// A server that comes up empty would grant what it granted before it went down, so it
// waits until the longest lease that may exist has run out. That is counted from when
// we first saw the new run_id, on our own monotonic clock: uptime follows the server's
// wall clock, which somebody may set. Only at the first meeting is there nothing better
// to go by; else every start of a service would have to wait.
//
// A server that becomes a replica has another one's data from then on, and keeps its
// run_id. What Redis 7.0.15 reports in INFO replication (TestWhatRedisReportsOfADataSet):
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
// So a data set is identified by run_id and master_replid. A new master_replid with an offset
// shows that the server was a replica meanwhile. Whether it got the other's data then does
// not matter: a transfer that breaks off leaves neither its own nor the other's. A new one
// without an offset is the same data, if the last look was just now: repl-backlog-ttl also
// wipes the offset out, but not within backlogTTL. It is also the same data if the server has
// received nothing as a replica since the last look, which it counts: the transfer begins with
// some bytes. At a first meeting the offset does not show when, and may come from a file; there
// uptime counts.
//
// What this does not see is a promotion before the first meeting, and what was granted between a
// change and the next check. Acquires that are sent when the last check is 0.2 s old go behind a new
// one (master.checkLocked of the pipeline), so that is 0.2 s at most, and the time that an acquire
// takes to the server: however long that was idle before, or a check is under way. If this process
// is stopped with an acquire that it was about to write, that time is part of it. Nor does it see
// what somebody hides who resets the count (CONFIG RESETSTAT)
// after the server was a replica and its offset is wiped out, all of it between two checks.
type Admission struct {
	Wait    time.Duration // as Config.Wait; fixed after New
	Durable bool          // as Config.MastersAreDurable; fixed after New
	Trusted bool          // the first meeting needs no wait; only during New

	RunID     string    // of the server that was seen last; "" before the first
	ReplID    string    // its master_replid; "" if it does not say
	Received  string    // as a replica, in bytes, when it was last asked for; "" if it does not say
	Replica   bool      // that is what it was
	Asked     time.Time // when it was asked what it was
	VotesFrom time.Time // zero: it votes
	started   time.Time // of a server that was met first; zero after a restart
	replaced  bool      // it was no restart: another data set came in its place
	Swaps     int       // how often that happened
	// wasReplica is that the server was a replica before it had the data that it has.
	WasReplica bool
}

// BacklogTTL is the least repl-backlog-ttl, of 1, which Redis counts in whole seconds.
const BacklogTTL = time.Second

// Check returns the admission after a server was asked at asked for INFO, or for its
// section replication, and stats if the last look was longer ago (Glanced), over a connection on
// which it had reported its run_id, and has answered by now. After an error the connection must end and its grants that are still to
// come must not count: the server is no master, or has another data set than
// when it was seen last. The admission is valid with an error, too.
func (a Admission) Check(info serverinfo.Info, asked, now time.Time) (Admission, error) {
	last := a
	if id := info.RunID(); id != "" {
		a.RunID = id
	}
	a.Asked, a.ReplID, a.WasReplica = asked, info.ReplID(), info.WasReplica()
	if received := info.Received(); received != "" {
		a.Received = received
	}
	if a.Replica = info.Replica(); a.Replica {
		return a, fmt.Errorf("is a replica (role %s), not a master", info.Role())
	}
	swapped := last.RunID == a.RunID && !last.Replica && last.lost(info, now)
	wait := a.Wait
	switch {
	case last.RunID == "":
		up, _ := info.Uptime()
		a.started = now.Add(-up)
		wait -= up
		if a.Trusted || a.Durable {
			wait = 0
		}
	case last.Replica || swapped:
		a.started, a.replaced = time.Time{}, true
		a.Swaps++
	case a.RunID != last.RunID:
		a.started, a.replaced = time.Time{}, false
		if a.Durable && !a.WasReplica {
			wait = 0
		}
	default: // at most the connection was cut
		return a, nil
	}
	a.VotesFrom = time.Time{}
	if wait > 0 {
		a.VotesFrom = now.Add(wait)
	}
	if swapped {
		return a, a.NotVoting(now)
	}
	return a, nil
}

// lost reports whether the data set that was seen last may be gone, although the server
// is the same.
func (a Admission) lost(info serverinfo.Info, now time.Time) bool {
	received := info.Received()
	switch {
	case a.ReplID == "" || a.ReplID == info.ReplID():
		return false
	case info.WasReplica():
		return true
	}
	return now.Sub(a.Asked) >= BacklogTTL && (received == "" || received != a.Received)
}

// Glanced reports whether the last look was so short ago that at the next one master_replid and the
// offset suffice.
func (a Admission) Glanced(now time.Time) bool { return now.Sub(a.Asked) < BacklogTTL/2 }

// NotVoting returns why the master casts no vote at now, or nil if it does.
func (a Admission) NotVoting(now time.Time) error {
	left := a.VotesFrom.Sub(now)
	if left <= 0 {
		return nil
	}
	what := "restarted"
	switch {
	case a.replaced:
		what = "was a replica meanwhile, its data set may be another"
	case !a.started.IsZero():
		what = fmt.Sprintf("started %v ago", now.Sub(a.started).Truncate(time.Second))
	}
	const tenth = 100 * time.Millisecond
	left = (left + tenth - 1).Truncate(tenth) // up: the text never has too short a wait
	return Restarted(fmt.Sprintf("%s: no vote for another %v, until every lease it may have forgotten has run out", what, left))
}
