package engine

import (
	"context"
	"time"

	"muxlock/internal/clock"
	"muxlock/pipeline"
)

// This file has readers: locks that any number of callers hold at once, and that no writer has meanwhile. The readers of one
// process share a lease: one that comes later joins it, without a request to the masters. A writer is who holds the
// name by Acquire.

// AcquireShared takes the lock name for ttl as one of its readers: any number of them hold it at once, in any
// processes, and nobody holds it by Acquire meanwhile. It waits until ctx ends or Config.MaxAttempts is used up.
// While this process has readers of the name, a further one joins their lease without asking the masters: if it is
// younger than Config.HandOverTime, has half of ttl left, and nobody here waits for the name. Else it queues, in order
// with those who call Acquire. A lease that is renewed, extended or lost is so for all its readers here. The last of
// them releases it.
//
// A writer that waits has new readers refused, so that it is not kept waiting for ever. Readers are not reentrant:
// one that asks again for its name may wait for a writer that waits for it. There is no upgrade: Acquire under the ctx of a
// DoShared of its name is ErrInvalid. A shared lock has no fencing token: see the package comment, Readers and
// writers. Reveal returns "".
//
// Errors: those of Acquire; ErrDenied where an ACL forbids the commands of readers.
func (e *Engine) AcquireShared(ctx context.Context, name string, ttl time.Duration) (*Lock, error) {
	return e.acquireShared(ctx, name, ttl, e.cfg.MaxAttempts, e.cfg.WaitWhenFull)
}

// TryAcquireShared is AcquireShared with one attempt. It returns ErrTaken without asking the masters if it would have
// to queue.
func (e *Engine) TryAcquireShared(ctx context.Context, name string, ttl time.Duration) (*Lock, error) {
	return e.acquireShared(ctx, name, ttl, 1, false)
}

// DoShared is Do with AcquireShared.
func (e *Engine) DoShared(ctx context.Context, name string, ttl time.Duration, fn func(context.Context) error) error {
	return e.do(ctx, name, ttl, fn, e.AcquireShared)
}

func (e *Engine) acquireShared(ctx context.Context, name string, ttl time.Duration, most int, waitWhenFull bool) (*Lock, error) {
	c := e.newContender(most, waitWhenFull)
	c.shared = true
	return c.acquire(ctx, name, ttl)
}

// errUpgrade is why a reader cannot wait to write.
var errUpgrade = invalid("name", "is held by the caller's ctx, as a reader: release that first, since two readers that both waited to write would wait for each other")

// refuseUpgrade returns errUpgrade if c wants to write, and ctx comes from a reader of the name. Then it takes c's waiter,
// if there is one, out of the queue.
func (c *contender) refuseUpgrade(ctx context.Context, n *nameState, w *waiter) error {
	l, ok := LockFrom(ctx)
	if c.shared || !ok || l.lease.state != n || !l.lease.shared || !l.Valid() {
		return nil
	}
	if w != nil {
		_, _ = c.e.names.wait(ended, n, w)
	}
	return errUpgrade
}

// A reader is what one of the holders of a shared lease asks for.
type reader struct {
	kept bool
	stop clock.Instant // of its renewals; zero: never
	warn time.Duration
}

// mayJoinLocked reports whether a reader that wants ttl may join the lease.
func (l *lease) mayJoinLocked(ttl time.Duration, now clock.Instant) bool {
	return l.shared && !l.ended && l.mayHandOver(now) && l.until.Left(now) >= ttl/2
}

// joinLocked adds a reader.
func (l *lease) joinLocked(ttl time.Duration) *Lock {
	if l.readers == nil {
		l.readers = map[*Lock]reader{l.holder: {l.kept, l.stop, l.warn}}
		l.holder = nil
	}
	h := l.handleLocked()
	l.readers[h] = reader{}
	l.ttl = max(l.ttl, ttl)
	return h
}

// letInLocked lets the readers in that are first in the queue.
func (l *lease) letInLocked(now clock.Instant) {
	for w := l.state.first; w != nil && w.kind == reads && l.mayJoinLocked(w.ttl, now); w = l.state.first {
		l.state.popLocked()
		w.lock = l.joinLocked(w.ttl)
		w.ready <- struct{}{}
	}
}

// asksLocked notes what a reader asks of the renewals. They go on while a reader asks for it, and warn at the earliest
// time that one asked for. It reports false if h is no reader.
func (l *lease) asksLocked(h *Lock, now clock.Instant, asks reader) bool {
	if _, reads := l.readers[h]; !reads {
		return false
	}
	l.readers[h] = asks
	var all reader
	forever := false
	for _, r := range l.readers {
		all.kept, all.warn = all.kept || r.kept, max(all.warn, r.warn)
		all.stop, forever = later(all.stop, r.stop), forever || r.kept && r.stop.IsZero()
	}
	if forever {
		all.stop = clock.Instant{}
	}
	if all.warn != l.warn {
		l.warn, l.warned = all.warn, false
	}
	if l.kept = l.kept && all.kept; all.kept {
		l.keep(now, all.stop)
	}
	l.scheduleLocked(now)
	return true
}

const (
	// An intent keeps new readers out for intentFor. A writer that waits for readers repeats it every intentEvery.
	intentFor   = 500 * time.Millisecond
	intentEvery = 200 * time.Millisecond
	// intendAfter is how long a writer that stands in no line waits before it asks whether readers have the name.
	intendAfter = 20 * time.Millisecond
	// writerTakes is the longest delay of a reader that an intent has refused: soon the writer has the name.
	writerTakes = 8 * time.Millisecond
)

// intend keeps new readers out, if it is readers who have the name that c was refused.
func (c *contender) intend(ctx context.Context) error {
	now := clock.Now()
	if c.shared || now.Sub(c.begin) < intendAfter || now.Sub(c.intended) < intentEvery {
		return nil
	}
	c.intended = now
	out, err := c.e.pipe.Do(ctx, c.intent(intentFor))
	c.awaitsReaders = err == nil && out.Tally.Granted > 0
	c.intends = c.intends || c.awaitsReaders
	return err
}

func (c *contender) intent(d time.Duration) pipeline.Request {
	return pipeline.Request{Op: pipeline.Intend, Name: c.name, TTL: d}
}

// withdraw lets readers in again, now that c waits no more.
func (c *contender) withdraw() {
	if c.intends {
		c.e.pipe.Post(c.intent(0))
	}
}

// awaken returns when a name may be free, or when the intent is to be repeated.
func (c *contender) awaken(ctx context.Context, name string) error {
	if !c.awaitsReaders {
		return c.e.pipe.Await(ctx, name, c.e.cfg.RetryHeld)
	}
	soon, cancel := context.WithTimeout(ctx, intentEvery)
	defer cancel()
	if err := c.e.pipe.Await(soon, name, c.e.cfg.RetryHeld); soon.Err() == nil || ctx.Err() != nil {
		return err
	}
	return nil
}
