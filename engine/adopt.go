package engine

import (
	"context"
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/limits"
	"muxlock/pipeline"
)

// Adopt returns a handle to the lock name of another process, to use and release it here. value is the result of
// Lock.Reveal there, or of Value of a Redsync Mutex. Adopt extends the lease to ttl (0 = Config.TTL; it never shortens it),
// which proves that a quorum of masters has the lock. It creates none. It blocks until the verdict, at most about twice
// Config.MasterTimeout, or until ctx ends, which does not end what was sent. With a ctx that has ended already, nothing is
// sent.
//
// Validity counts from this extend. The lock is never handed over here, and does not regain masters that lost it
// (Stats.Eroded). Its Fence is 0: pass on the first holder's along with the value, since the lease is the same.
// admin.Inspect goes on showing the first holder. Handles to one lock do not know of each other: Release of one deletes the
// lock, and the others find out at their next renewal or Extend. So whoever passes a lock on neither keeps it alive nor
// releases it.
//
// Errors: ErrNotHeld when a majority of the masters answers that the key is gone or another's; ErrNoQuorum; ErrExpired;
// ErrDenied; ErrInvalid; ErrClosed; ctx's error. The lock is not released then, and some masters may have extended it.
func (e *Engine) Adopt(ctx context.Context, name, value string, ttl time.Duration) (lock *Lock, err error) {
	c := contender{e: e, kind: adopted}
	if c.traces(ctx) {
		defer func() { c.told(ctx, []string{name}, err, lock) }()
	}
	key, err := e.cfg.key(name)
	if err != nil {
		return nil, err
	}
	ttl, err = e.cfg.lease(ttl)
	switch {
	case err != nil:
		return nil, err
	case value == "":
		return nil, invalid("value", "is empty")
	case len(value) > limits.ValueBytes:
		return nil, invalid("value", "has %d bytes, more than %d", len(value), limits.ValueBytes)
	case !mayAdopt(value):
		return nil, invalid("value", "is that of readers, whose lock nobody adopts")
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	now := clock.Now()
	c.tries.made = 1
	extend := pipeline.Request{Op: pipeline.Extend, Name: key, Token: value, TTL: ttl, Origin: pipeline.OriginForeign}
	out, err := e.masters.at(key).Do(ctx, extend)
	if err == nil {
		err = e.masters.refusal(anExtend, out)
	}
	if err != nil {
		return nil, err
	}
	s := e.names.shard(key)
	s.mu.Lock()
	defer s.unlock()
	lock = grant(e, s.stateLocked(key, now), extend, int(out.Tally.Granted), sentAt(out, now), clock.Now())
	if err := lock.lease.overLocked(clock.Now()); err != nil {
		return nil, err
	}
	lock.lease.longest = e.cfg.MaxTTL // what the first holder wanted is not known
	lock.standApartLocked(now)
	return lock, nil
}

// standApartLocked notes an adopted lock. It does not meet the locks of this process, just like one of another process.
func (l *Lock) standApartLocked(asked clock.Instant) {
	n := l.lease.state
	l.lease.kind, l.since = adopted, clock.Now()
	l.lease.holders, n.Apart = append(l.lease.holders, l), append(n.Apart, l.lease)
	l.lease.e.record.acquired(l, asked, 1)
}
