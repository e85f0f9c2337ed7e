package engine

import "muxlock/internal/clock"

// take gives c the locks that it contended for, or none of them: if a lease has ended by now, or the engine was closed, c
// remains the contender. shards are those of the names.
func (c *contender) take(shards []*shard, locks ...*Lock) error {
	lockAll(shards)
	defer unlockAll(shards)
	now := clock.Now()
	for _, lock := range locks {
		if l := lock.lease; l.state == nil { // a slot's
			l.state = shards[0].stateLocked(l.name, now)
		}
		if err := lock.lease.overLocked(now); err != nil {
			return err
		}
		if lock.lease.state.Lease != nil { // a slot's was released by force, and its holder does not know it yet
			return ErrTaken
		}
	}
	for _, lock := range locks {
		c.takeLocked(lock, now)
	}
	return nil
}

func (c *contender) takeLocked(lock *Lock, now clock.Instant) {
	l := lock.lease
	n := l.state
	l.kind, l.holders, lock.since = c.kind, append(l.holders, lock), now
	n.Take(l)
	n.failed = nil
	n.lined = n.lined || c.others.refused && kinds[c.kind].passedOn // else the next release would not serve them
	if c.mayComeBack() && l != c.turn.inherited {
		n.courtesy = c.intents.owed(now, n.courtesy)
	}
	n.letInLocked(c.e.cfg.HandOverTime, now)
	if n.First() != nil || l.renewal.short {
		l.scheduleLocked(now)
	}
	c.e.record.acquired(lock, c.turn.called, c.tries.made)
}

// overLocked returns why a lease that nobody holds cannot be taken, and ends it; nil: it can.
func (l *lease) overLocked(now clock.Instant) error {
	switch {
	case l.state.shard.closed:
		l.endLocked()
		return ErrClosed
	case l.term.Ended || l.renewal.until.Reached(now): // this goroutine may have been stopped for any time
		l.endLocked()
		return ErrExpired
	}
	return nil
}
