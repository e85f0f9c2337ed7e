package pipeline

import (
	"errors"
	"fmt"
	"time"
)

// ErrRestarted is matched by the cause of a master that was started so recently that it
// may have forgotten locks: it is not asked for new ones yet. Releases and extends are
// sent to it, and count.
var ErrRestarted = errors.New("muxlock: master was restarted")

// restarted says in its text how long the wait will be.
type restarted string

func (r restarted) Error() string { return string(r) }
func (r restarted) Unwrap() error { return ErrRestarted }

// An admission decides from when on a master votes on acquires, from what its probes
// have seen. It is pure: no clock, no I/O; guarded by Pipeline.mu and written by run.
//
// A server that comes up empty would grant what it granted before it went down, so it
// waits until the longest lease that may exist has run out. That is counted from when
// we first saw the new run_id, on our own monotonic clock: uptime follows the server's
// wall clock, which somebody may set. Only at the first meeting is there nothing better
// to go by; else every start of a service would have to wait.
type admission struct {
	wait    time.Duration // as Config.Wait; fixed after New
	trusted bool          // the first meeting needs no wait; only during New

	runID     string    // of the server that was seen last; "" before the first
	votesFrom time.Time // zero: it votes
	started   time.Time // of a server that was met first; zero after a restart
}

// see returns the admission after a probe has met a server.
func (a admission) see(runID string, uptime time.Duration, now time.Time) admission {
	left := a.wait
	switch {
	case runID == a.runID: // the connection was cut, not the server
		return a
	case a.runID != "":
		a.started = time.Time{}
	default:
		a.started = now.Add(-uptime)
		left -= uptime
		if a.trusted {
			left = 0
		}
	}
	a.runID, a.votesFrom = runID, time.Time{}
	if left > 0 {
		a.votesFrom = now.Add(left)
	}
	return a
}

// waits returns why the master casts no vote at now, or nil if it does.
func (a admission) waits(now time.Time) error {
	left := a.votesFrom.Sub(now)
	if left <= 0 {
		return nil
	}
	what := "restarted"
	if !a.started.IsZero() {
		what = fmt.Sprintf("started %v ago", now.Sub(a.started).Truncate(time.Second))
	}
	const tenth = 100 * time.Millisecond
	left = (left + tenth - 1).Truncate(tenth) // up: the wait is never told too short
	return restarted(fmt.Sprintf("%s: no vote for another %v, until every lease it may have forgotten has run out", what, left))
}
