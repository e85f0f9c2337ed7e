package engine

import (
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/quorum"
	"muxlock/pipeline"
)

// allowance is how much of a lease is given up for the clocks: their rates may
// differ by drift, a master counts in whole milliseconds and may expire a key up
// to one early. Rounded up, against us.
func allowance(ttl time.Duration, drift float64) time.Duration {
	return time.Duration(float64(ttl)*drift) + 1 + 2*time.Millisecond
}

// sentAt is the instant from which validity counts: before the first command was sent, or
// before it was handed to the pipeline if that does not say. Waiting in the queue is no
// part of the lease.
func sentAt(out pipeline.Outcome, handed clock.Instant) clock.Instant {
	if out.Sent.IsZero() {
		return handed
	}
	return out.Sent
}

// validity is how long a lock may still be relied on: the lease, less the time since
// before the first command was sent, less the allowance for the clocks.
func validity(ttl, elapsed time.Duration, drift float64) time.Duration {
	return ttl - elapsed - allowance(ttl, drift)
}

// attempts decides, for one Acquire, what follows from what the masters said. It is
// pure: it reads no clock, sends nothing and draws no random number.
type attempts struct {
	ttl   time.Duration
	drift float64
	most  int // attempts allowed; 0 = no limit
	held  time.Duration
	split time.Duration

	made   int
	splits int // in a row
}

// A step is what to do after an attempt.
type step struct {
	hold bool
	// Unless hold: undo on all masters, then try again after a random delay between
	// from and to, or give up. With await, somebody holds the lock, as like as not: first
	// wait until it may be free. kind says why the attempt failed.
	kind     error
	again    bool
	await    bool
	from, to time.Duration
}

// next takes the outcome of one attempt and the time since it was sent.
func (a *attempts) next(out pipeline.Outcome, elapsed time.Duration) step {
	a.made++
	if out.Verdict == quorum.Won && validity(a.ttl, elapsed, a.drift) > 0 {
		return step{hold: true}
	}
	s := a.retry(kindOf(out.Verdict, ErrTaken))
	switch {
	case out.Denied != nil:
		s.kind, s.again = ErrDenied, false
	case out.Verdict == quorum.Won:
		s.kind = ErrExpired
		a.splits = 0
	case out.Verdict == quorum.Denied && out.Tally.Granted > 0:
		// Several callers came at once, and none won. They are served best by
		// meeting again soon, spread over several round trips. Or somebody holds it on
		// a bare quorum, and the masters that refuse are the last to answer.
		s.from, s.to = 0, min(a.split<<min(a.splits, 16), max(a.held, a.split))
		s.await = a.splits > 0
		a.splits++
	case out.Verdict == quorum.Denied:
		s.from, s.to, s.await = 0, 0, true
		a.splits = 0
	default:
		a.splits = 0
	}
	return s
}

// retry is the step after an attempt that failed for the given reason.
func (a *attempts) retry(kind error) step {
	return step{kind: kind, again: a.most == 0 || a.made < a.most, from: a.held / 2, to: a.held / 2 * 3}
}
