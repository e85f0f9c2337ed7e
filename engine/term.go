package engine

import (
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/redlock"
)

// A term is the time side of a lease: until when it is valid, when it is to be renewed
// and when its holder wants to be warned. It is pure: it reads no clock and sends
// nothing; the keeper does what next says.
//
//	         renew            renewed: until moves out, next renewal a third of ttl later
//	resting -------> asking -<
//	   |  ^                   failed: the old until stands, again after a short pause
//	   |  '-------------------'
//	   '--- until is reached ---> expire, whatever the renewals were doing
type term struct {
	ttl   time.Duration // what the holder asked for, and its renewals do
	drift float64
	until clock.Instant // end of validity

	kept    bool          // is to be renewed
	warned  bool          // since until was moved
	stop    clock.Instant // renewals end then; zero: never
	renewAt clock.Instant
	asked   clock.Instant // when the renewal that is under way was asked for; zero: none is
	asking  time.Duration // what it asks for: ttl may have grown since
	fault   error         // of the last renewal; part of why validity ran out

	warn time.Duration // how long before until the holder wants to be warned; 0: not
}

// What next can ask for.
type action uint8

const (
	rest   action = iota // nothing to do before the given time
	renew                // ask the masters to extend to ttl
	warn                 // tell the holder that validity is about to end
	expire               // validity has run out
)

// newTerm is the term of an acquire that was sent at start.
func newTerm(ttl time.Duration, drift float64, start clock.Instant) term {
	return term{ttl: ttl, drift: drift, until: start.Add(redlock.Validity(ttl, 0, drift))}
}

// keep starts the renewals. stop is when they end; zero: never.
func (t *term) keep(now, stop clock.Instant) {
	t.stop = stop
	if !t.kept {
		t.kept, t.renewAt = true, now.Add(redlock.RenewalInterval(t.ttl))
		// What is left may be less than a fresh lease has: a lock that was handed over.
		if soon := t.until.Add(-t.ttl / 2); soon.Before(t.renewAt) {
			t.renewAt = soon
		}
	}
}

// next says what is to be done at now, and when to ask again if that is nothing.
func (t *term) next(now clock.Instant) (do action, again clock.Instant) {
	if t.until.Reached(now) {
		return expire, t.until
	}
	again = t.until
	if t.warn > 0 && !t.warned {
		if t.until.Add(-t.warn).Reached(now) {
			t.warned = true
			return warn, again
		}
		again = t.until.Add(-t.warn)
	}
	if t.kept && !t.stop.IsZero() && t.stop.Reached(now) {
		t.kept = false
	}
	if t.kept && t.asked.IsZero() {
		if t.renewAt.Add(-redlock.RenewalSlack(t.ttl)).Reached(now) {
			t.asked, t.asking = now, t.ttl
			return renew, again
		}
		if t.renewAt.Before(again) {
			again = t.renewAt
		}
	}
	return rest, again
}

// extended moves the end of validity out: a quorum confirmed an extend to ttl that was
// sent at start.
func (t *term) extended(ttl time.Duration, start clock.Instant) {
	if until := start.Add(redlock.Validity(ttl, 0, t.drift)); t.until.Before(until) {
		t.until, t.warned = until, false
	}
}

// renewed ends a renewal that was sent at start and that a quorum confirmed.
func (t *term) renewed(start, now clock.Instant) {
	t.extended(t.asking, start)
	t.asked, t.fault = clock.Instant{}, nil
	t.renewAt = now.Add(redlock.RenewalInterval(t.ttl))
}

// failed ends a renewal that too few masters answered.
func (t *term) failed(now clock.Instant, fault error) {
	t.asked, t.fault = clock.Instant{}, fault
	t.renewAt = now.Add(redlock.RenewalRetry(t.ttl))
}
