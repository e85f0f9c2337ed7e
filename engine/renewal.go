package engine

import (
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/line"
	"muxlock/internal/redlock"
)

// A renewal is the timing of a lease: until when it is valid, when it is renewed and when its holder is
// warned. It is pure: it reads no clock and sends nothing. The keeper carries out the action that next
// returns.
//
//	         renew            renewed: until moves out, next renewal a third of ttl later
//	idle -----> requested -<
//	   |  ^                   failed: the old until stands, again after a short pause
//	   |  '-------------------'
//	   '--- until is reached ---> expire, whatever the renewals were doing
type renewal struct {
	ttl   time.Duration // what the holder wants; its renewals want the same
	drift float64
	until clock.Instant // end of validity

	kept        bool          // the keeper renews it
	short       bool          // it was passed on with less than ttl, and is renewed once
	warned      bool          // the holder was warned since until was moved
	stop        clock.Instant // renewals end then; zero: never
	renewAt     clock.Instant // when the next one is due, or the one under way is overdue; zero: not known yet
	requestedAt clock.Instant // start of the renewal under way; zero: none is
	requested   time.Duration // its ttl: r.ttl may have grown since
	fault       error         // why the last renewal failed; part of why validity ran out

	warn time.Duration // how long before until the holder is warned; 0: never
}

// An action is what next commands.
type action uint8

const (
	idle   action = iota // nothing to do before the given time
	renew                // ask the masters to extend to ttl
	warn                 // warn the holder that validity is about to end
	expire               // validity has run out
)

// newRenewal returns the renewal of a lease whose acquire was sent at start.
func newRenewal(ttl time.Duration, drift float64, start clock.Instant) renewal {
	return renewal{ttl: ttl, drift: drift, until: start.Add(redlock.Validity(ttl, 0, drift))}
}

// keep starts the renewals. They end at stop; zero: never.
func (r *renewal) keep(now, stop clock.Instant) {
	r.stop = stop
	if r.kept {
		return
	}
	r.kept = true
	if r.requestedAt.IsZero() && !r.short {
		r.renewAt = now.Add(redlock.RenewalInterval(r.ttl))
		// What remains may be less than a fresh lease has: a lock that was handed over.
		if soon := r.until.Add(-r.ttl / 2); soon.Before(r.renewAt) {
			r.renewAt = soon
		}
	}
}

// next returns the action that is due at now. If none is, it returns idle, and when to call it again.
func (r *renewal) next(now clock.Instant) (do action, again clock.Instant) {
	if r.until.Reached(now) {
		return expire, r.until
	}
	again = r.until
	if r.kept && !r.stop.IsZero() && r.stop.Reached(now) {
		r.kept = false
	}
	if (r.kept || r.short) && r.requestedAt.IsZero() {
		slack := redlock.RenewalSlack(r.ttl)
		if r.short {
			slack = 0
		}
		if r.renewAt.Add(-slack).Reached(now) {
			r.requestedAt, r.requested, r.renewAt = now, r.ttl, clock.Instant{}
			return renew, again
		}
		if r.renewAt.Before(again) {
			again = r.renewAt
		}
	}
	if r.warn > 0 && !r.warned {
		at := r.warnAt(now)
		if at.Reached(now) {
			r.warned = true
			return warn, again
		}
		if at.Before(again) {
			again = at
		}
	}
	return idle, again
}

// warnAt returns when the holder is warned. After a pause of the process, if less than the lease, a renewal
// goes first or may have been answered already. The renewal may take as long as the pause between two tries,
// counted from the first call that finds the warning due, but at most half of what is left then.
func (r *renewal) warnAt(now clock.Instant) clock.Instant {
	due := r.until.Add(-r.warn)
	if !due.Reached(now) || r.requestedAt.IsZero() && !r.short || r.fault != nil {
		return due
	}
	if r.renewAt.IsZero() {
		r.renewAt = now.Add(min(redlock.RenewalRetry(r.ttl), r.until.Left(now)/2))
	}
	return r.renewAt
}

// extended moves the end of validity out, after a quorum confirmed an extend to ttl that was sent at start.
func (r *renewal) extended(ttl time.Duration, start clock.Instant) {
	if until := start.Add(redlock.Validity(ttl, 0, r.drift)); r.until.Before(until) {
		r.until, r.warned = until, false
	}
}

// passedOn sets the end of validity of a lease that was passed on. If it is short, it is renewed soon: few holders need it
// for so long.
func (r *renewal) passedOn(until, now clock.Instant) {
	r.until = until
	left := until.Left(now)
	if r.short = left < r.ttl/2; r.short {
		r.renewAt = now.Add(min(line.ShortHold, left/4))
	}
}

// renewed ends a renewal that was sent at start and that a quorum confirmed.
func (r *renewal) renewed(start, now clock.Instant) {
	r.extended(r.requested, start)
	r.requestedAt, r.fault = clock.Instant{}, nil
	r.short = false
	soon := max(r.until.Left(now)-r.ttl/2, redlock.RenewalRetry(r.ttl)) // with a large Drift or slow masters
	r.renewAt = now.Add(min(redlock.RenewalInterval(r.ttl), soon))
}

// hasten moves the next renewal to at, if that is sooner; zero: not. While one is under way it returns at, for later.
func (r *renewal) hasten(at clock.Instant) (later clock.Instant) {
	switch {
	case !r.requestedAt.IsZero():
		return at
	case !at.IsZero() && at.Before(r.renewAt):
		r.renewAt = at
	}
	return clock.Instant{}
}

// failed ends a renewal that too few masters answered.
func (r *renewal) failed(now clock.Instant, fault error) {
	r.requestedAt, r.fault = clock.Instant{}, fault
	retry := redlock.RenewalRetry(r.ttl)
	if r.short {
		retry = min(retry, max(r.until.Left(now)/4, time.Millisecond))
	}
	r.renewAt = now.Add(retry)
}
