package engine

import (
	"context"
	"slices"
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/limits"
	"muxlock/internal/token"
	"muxlock/pipeline"
)

// AcquireShared takes the lock name for ttl as a reader (package comment, Readers and writers). It waits until ctx ends
// or Config.MaxAttempts is used up. A reader joins an existing readers' lease of this process, without asking the masters,
// if that lease is younger than Config.HandOverTime and has half of ttl left. Else it asks the masters for a lease of its
// own. A renewal, an extend or a loss of a lease affects all its readers; the last one to leave releases it.
//
// Readers are not reentrant: a reader that asks again for its name may wait for a writer that waits for that reader. There
// is no upgrade, since two readers that both wait to write would deadlock: Acquire of the name directly under the ctx of a
// DoShared is ErrInvalid. Fence is 0, and Reveal returns "".
//
// Errors: those of Acquire; ErrDenied where an ACL forbids the commands of readers.
func (e *Engine) AcquireShared(ctx context.Context, name string, ttl time.Duration) (*Lock, error) {
	return e.acquire(ctx, name, ttl, e.cfg.MaxAttempts, e.cfg.WaitWhenFull, reader)
}

// TryAcquireShared is AcquireShared with one attempt. Where AcquireShared would queue, it returns ErrTaken without asking
// the masters.
func (e *Engine) TryAcquireShared(ctx context.Context, name string, ttl time.Duration) (*Lock, error) {
	return e.acquire(ctx, name, ttl, 1, false, reader)
}

// DoShared is Do with AcquireShared.
func (e *Engine) DoShared(ctx context.Context, name string, ttl time.Duration, fn func(context.Context) error) error {
	return e.do(ctx, name, ttl, fn, e.AcquireShared)
}

// refuseUpgrade returns an error if ctx comes from a reader of one of the keys.
func (e *Engine) refuseUpgrade(ctx context.Context, keys ...string) error {
	l, ok := LockFrom(ctx)
	if ok && l.lease.e == e && slices.Contains(keys, l.lease.name) && l.reads() {
		return invalid("name", "is held by the caller's ctx, as a reader: release that first, since two readers that both waited to write would wait for each other")
	}
	return nil
}

// reads reports whether l is valid, and a reader's.
func (l *Lock) reads() bool {
	l.lock()
	defer l.unlock()
	return l.end == nil && kinds[l.lease.kind].Shared
}

// joinLocked adds a reader.
func (l *lease) joinLocked(ttl time.Duration) *Lock {
	h := l.handle()
	l.holders = append(l.holders, h)
	l.ttl = max(l.ttl, ttl)
	return h
}

// letInLocked serves the readers at the head of the queue while readers hold the name: they join the lease, or the first
// of them asks the masters for another lease.
func (n *nameState) letInLocked(longest time.Duration, now clock.Instant) {
	for {
		switch w, joins := n.NextReader(longest, now); {
		case w == nil:
			return
		case joins:
			w.Of.lock = n.Lease.joinLocked(w.TTL)
			w.Of.ready <- struct{}{}
		default:
			w.Of.ready <- struct{}{} // it asks
		}
	}
}

const (
	// An intent keeps new readers out for intentFor. A writer that waits for readers repeats it every intentEvery.
	intentFor   = 500 * time.Millisecond
	intentEvery = 200 * time.Millisecond
	// intendAfter is how long a writer that stands in no line waits before it asks whether readers hold the name.
	intendAfter = 20 * time.Millisecond
)

// intend keeps new readers out, if readers hold the name that c was refused.
func (c *contender) intend(ctx context.Context) error {
	now := clock.Now()
	early := now.Sub(c.begin) < intendAfter || !c.intended.IsZero() && now.Sub(c.intended) < intentEvery
	if unknown := c.asksSoon && !c.readers; kinds[c.kind].Shared || early && !unknown { // unknown: c comes back after it left the name to readers
		return nil
	}
	out, err := c.e.at(c.name).Do(ctx, c.intent(intentFor))
	c.asksSoon = err == nil && out.Tally.Granted > 0
	c.readers = c.readers || c.asksSoon
	return err
}

// mayComeBack reports whether c is a writer that waits for readers.
func (c *contender) mayComeBack() bool { return c.most == 0 && kinds[c.kind].comesBack }

// comesBackLocked reports whether c must leave the name to readers first, and join later. After a writer that met readers,
// its process leaves them the name for 1.5 times as long as the writer kept them out, since it may want the name over and
// over. If it left the name for only as long, many readers would be about to read once more, and would have to wait.
func (c *contender) comesBackLocked(n *nameState) bool {
	if n.readFor == 0 || c.readers || !c.mayComeBack() {
		return false
	}
	c.readers, c.theirs = true, n.left.Add(n.readFor).Left(c.begin)
	return c.theirs > 0
}

// leaveToReaders pauses, unless ctx would end by then.
func (c *contender) leaveToReaders(ctx context.Context, d time.Duration) error {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return nil
	}
	err := c.e.pause(ctx, d)
	c.begin = clock.Now()
	return c.e.unlessKnown(c.name, errTakenHere, err)
}

// keepReadersOut is intend for a writer that need not know who holds the name.
func (c *contender) keepReadersOut() {
	c.e.at(c.name).Post(c.intent(intentFor))
}

func (c *contender) intent(d time.Duration) pipeline.Request {
	if c.intended = clock.Now(); c.keptFrom.IsZero() {
		c.keptFrom, c.intents = c.intended, token.For(c.e.cfg.Holder)
	}
	return pipeline.Request{Op: pipeline.Intend, Name: c.name, Token: c.intents, TTL: d}
}

// withdraw lets readers in again, once c no longer waits for the name.
func (c *contender) withdraw() {
	if !c.intended.IsZero() {
		c.e.at(c.name).Post(c.intent(0))
		c.intended = clock.Instant{}
	}
}

// leaveReaders is withdraw at the end of an acquire. A writer that gives up keeps new readers out for a moment more: other
// writers may rely on its intent, and repeat theirs no sooner.
func (c *contender) leaveReaders(gaveUp bool) {
	met := !c.intended.IsZero()
	c.withdraw()
	if met && gaveUp {
		c.e.at(c.name).Post(c.intent(limits.AfterWriter))
	}
}

// awaken returns when a name may be free, when an intent must be repeated or may have ended, or when a reader must ask again.
func (c *contender) awaken(ctx context.Context, name string) error {
	every := intentEvery
	switch {
	case kinds[c.kind].Shared && c.asksSoon: // when the intent ends, its writer got the name or gave up
		name = pipeline.IntentPrefix + name
	case kinds[c.kind].Shared: // other readers may have followed the writer before the masters were asked about the name
		every <<= min(c.made-1, 5)
	case !c.asksSoon:
		return c.e.at(name).Await(ctx, name, c.e.cfg.RetryHeld)
	}
	soon, cancel := context.WithTimeout(ctx, every)
	defer cancel()
	if err := c.e.at(name).Await(soon, name, c.e.cfg.RetryHeld); soon.Err() == nil || ctx.Err() != nil {
		return err
	}
	return nil
}
