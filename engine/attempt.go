package engine

import (
	"errors"
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
	"muxlock/pipeline"
)

// sentAt returns the instant from which validity counts: before the first command was sent. If out does not
// say, it is before the call was given to the pipeline. Waiting in the queue is no part of the lease.
func sentAt(out pipeline.Outcome, began clock.Instant) clock.Instant {
	if out.Sent.IsZero() {
		return began
	}
	return out.Sent
}

// attempts decides, for one Acquire, what follows from the masters' votes. It is pure: it reads no clock,
// sends nothing and draws no random number.
type attempts struct {
	ttl   time.Duration
	drift float64
	most  int // attempts allowed; 0 = no limit
	held  time.Duration
	split time.Duration

	made   int
	splits int // in a row
	crowd  redlock.Crowd
}

// A step is what to do after an attempt.
type step struct {
	hold bool
	// Unless hold: undo on all masters, then try again after a random delay between
	// from and to, or give up. With await, somebody holds the lock, as like as not: first
	// wait until it may be free. why says why the attempt failed.
	why      error
	again    bool
	await    bool
	from, to time.Duration
	failed   error // the votes, with why; set by refused
}

// waits reports whether the caller waits for the lock: one with a single attempt does not.
func (a *attempts) waits() bool { return a.most != 1 }

// next counts an attempt, and decides from its outcome and the time since it was sent.
func (a *attempts) next(out pipeline.Outcome, elapsed time.Duration) step {
	a.made++
	return a.after(out, elapsed)
}

// after is next for an attempt that has been counted.
func (a *attempts) after(out pipeline.Outcome, elapsed time.Duration) step {
	if out.Verdict == quorum.Won && redlock.Validity(a.ttl, elapsed, a.drift) > 0 {
		return step{hold: true}
	}
	s, splits := a.retry(kindOf(out.Verdict, ErrTaken)), a.splits
	a.splits = 0
	switch {
	case out.Denied != nil && out.Verdict == quorum.NoQuorum: // else enough masters have answered
		s.why, s.again = ErrDenied, false
	case out.Mismatched && out.Verdict == quorum.NoQuorum:
		s.why, s.again = ErrConfigMismatch, false
	case out.Verdict == quorum.Won:
		s.why = ErrExpired
	case out.Verdict == quorum.Denied && out.Tally.Granted > 0:
		// Several callers came at once, and none won. They are served best by
		// meeting again soon, spread over several round trips. Or somebody holds it on
		// a bare quorum, and the masters that refuse are the last to answer.
		s.from, s.to = redlock.SplitDelay(a.split, a.held, splits)
		s.await, a.splits = splits > 0, splits+1
		a.crowd.Lost(elapsed)
	case out.Verdict == quorum.Denied:
		s.from, s.to, s.await = 0, 0, true
		a.crowd.Lost(elapsed)
	}
	return s
}

// retry is the step after an attempt that failed for the given reason.
func (a *attempts) retry(why error) step {
	s := step{why: why, again: (a.most == 0 || a.made < a.most) && !errors.Is(why, ErrClosed)}
	s.from, s.to = redlock.HeldDelay(a.held)
	return s
}
