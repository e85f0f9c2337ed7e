package engine

import (
	"context"
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/limits"
	"muxlock/internal/token"
	"muxlock/pipeline"
)

// Courtesy between a writer that waits and readers. The writer's intent at the masters keeps new readers out. In return its
// process leaves the name to readers for a while when it has had it.

const (
	// An intent keeps new readers out for intentFor. A writer that waits for readers repeats it every intentEvery.
	intentFor   = 500 * time.Millisecond
	intentEvery = 200 * time.Millisecond
	// intendAfter is how long a writer that stands in no line waits before it asks whether readers hold the name.
	intendAfter = 20 * time.Millisecond
)

// intents are those of a contender, and what it knows of readers.
type intents struct {
	token string        // of all
	first clock.Instant // when the first was sent; zero: none was
	last  clock.Instant // when the last was sent; zero: none stands
	met   bool          // readers held the name; before c contends: they did the last time
	polls bool          // readers may hold the name, or an intent keeps c out: no master notifies of their end
}

// A courtesy is the time that the next writer of this process leaves to readers.
type courtesy struct {
	since clock.Instant // when a writer of this process last got or released the name
	lasts time.Duration // 0: the last writer met no readers
}

// owed returns the courtesy after a writer that gets the name now: 1.5 times as long as it kept readers out, since its process may
// want the name over and over. If it left the name to them for only as long, many readers would be about to read once more, and
// would have to wait.
func (i *intents) owed(now clock.Instant, before courtesy) courtesy {
	if !i.met {
		return courtesy{since: before.since}
	}
	return courtesy{since: now, lasts: min(now.Sub(i.first)*3/2, intendAfter)}
}

// intend keeps new readers out, if readers hold the name that c was refused.
func (c *contender) intend(ctx context.Context) error {
	i, now := &c.intents, clock.Now()
	early := now.Sub(c.turn.began) < intendAfter || !i.last.IsZero() && now.Sub(i.last) < intentEvery
	if unknown := i.polls && !i.met; kinds[c.kind].Shared || early && !unknown { // unknown: c comes back after it left the name to readers
		return nil
	}
	out, err := c.e.masters.at(c.name).Do(ctx, c.intent(intentFor))
	i.polls = err == nil && out.Tally.Granted > 0
	i.met = i.met || i.polls
	return err
}

// mayComeBack reports whether c is a writer that waits for readers.
func (c *contender) mayComeBack() bool { return c.tries.most == 0 && kinds[c.kind].comesBack }

// comesBack returns for how long c must leave the name to readers first, and join later.
func (c *contender) comesBack(owed courtesy) time.Duration {
	if owed.lasts == 0 || c.intents.met || !c.mayComeBack() {
		return 0
	}
	c.intents.met = true
	return max(0, owed.since.Add(owed.lasts).Left(c.turn.began))
}

// leaveToReaders pauses, unless ctx would end by then.
func (c *contender) leaveToReaders(ctx context.Context, d time.Duration) error {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return nil
	}
	err := c.e.pause(ctx, d)
	c.turn.began = clock.Now()
	return c.e.unlessKnown(c.name, errTakenHere, err)
}

// keepReadersOut is intend for a writer that need not know who holds the name.
func (c *contender) keepReadersOut() {
	c.e.masters.at(c.name).Post(c.intent(intentFor))
}

func (c *contender) intent(d time.Duration) pipeline.Request {
	i := &c.intents
	if i.last = clock.Now(); i.first.IsZero() {
		i.first, i.token = i.last, token.For(c.e.cfg.Holder)
	}
	return pipeline.Request{Op: pipeline.Intend, Name: c.name, Token: i.token, TTL: d}
}

// withdraw lets readers in again, once c no longer waits for the name.
func (c *contender) withdraw() {
	if !c.intents.last.IsZero() {
		c.e.masters.at(c.name).Post(c.intent(0))
		c.intents.last = clock.Instant{}
	}
}

// leaveReaders is withdraw at the end of an acquire. A writer that gives up keeps new readers out for a moment more: other
// writers may rely on its intent, and repeat theirs no sooner.
func (c *contender) leaveReaders(gaveUp bool) {
	stood := !c.intents.last.IsZero()
	c.withdraw()
	if stood && gaveUp {
		c.e.masters.at(c.name).Post(c.intent(limits.AfterWriter))
	}
}

// awaken returns when a name may be free, when an intent must be repeated or may have ended, or when a reader must ask again.
func (c *contender) awaken(ctx context.Context, name string) error {
	every := intentEvery
	switch {
	case kinds[c.kind].Shared && c.intents.polls: // when the intent ends, its writer got the name or gave up
		name = pipeline.IntentPrefix + name
	case kinds[c.kind].Shared: // other readers may have followed the writer before the masters were asked about the name
		every <<= min(c.tries.made-1, 5)
	case !c.intents.polls:
		return c.e.masters.at(name).Await(ctx, name, c.e.cfg.RetryHeld)
	}
	soon, cancel := context.WithTimeout(ctx, every)
	defer cancel()
	if err := c.e.masters.at(name).Await(soon, name, c.e.cfg.RetryHeld); soon.Err() == nil || ctx.Err() != nil {
		return err
	}
	return nil
}
