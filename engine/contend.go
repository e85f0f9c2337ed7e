package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/valyala/fastrand"

	"muxlock/internal/clock"
	"muxlock/internal/fencing"
	"muxlock/internal/oneline"
	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
	"muxlock/pipeline"
)

// A contender is the one goroutine of this process that asks the masters for a name.
type contender struct {
	attempts
	e            *Engine
	state        *nameState
	name         string
	asked        clock.Instant // when the caller called Acquire
	begin        clock.Instant // when it became the contender
	inherited    *lease        // extended instead of a first attempt; nil: none
	yieldFirst   bool          // let other processes go first
	gaps         int           // gaps left for strangers so far
	crowded      bool          // another process held the lock, or asked for it
	intended     clock.Instant // when it last sent an intent, which keeps new readers out; zero: none stands
	intents      string        // the token of its intents; "": it sent none
	keptFrom     clock.Instant // when it sent the first intent
	asksSoon     bool          // readers may hold the name, or an intent keeps c out: no master notifies of their end
	kind         kind
	readers      bool          // of a writer: readers held the name; before it contends: they did the last time
	theirs       time.Duration // for how long to leave the name to readers before it joins again
	limit        int           // of the permits, if it wants one; 0: it wants none
	waitWhenFull bool
}

func (e *Engine) acquire(ctx context.Context, name string, ttl time.Duration, most int, waitWhenFull bool, kind kind) (*Lock, error) {
	ctx, stop := waiting(ctx)
	defer stop()
	c := e.newContender(most, waitWhenFull, kind)
	if err := c.ask(ctx, name, ttl); err != nil {
		return nil, err
	}
	lock, err := c.queue(ctx, c.most != 1)
	if lock == nil && err == nil {
		if lock, err = c.contend(ctx); err != nil {
			err = c.quit(err)
		}
		c.leaveReaders(err != nil)
	}
	if err != nil {
		return nil, e.record.notAcquired(name, c.asked, c.made, err)
	}
	return lock, nil
}

// newContender returns a contender that makes at most most attempts; 0 = no limit.
func (e *Engine) newContender(most int, waitWhenFull bool, kind kind) contender {
	return contender{
		e: e, kind: kind, waitWhenFull: waitWhenFull,
		attempts: attempts{drift: e.cfg.Drift, most: most, held: e.cfg.RetryHeld, split: e.cfg.RetrySplit},
	}
}

// ask checks the caller's arguments, its ctx and the queue.
func (c *contender) ask(ctx context.Context, name string, ttl time.Duration) (err error) {
	e := c.e
	key, err := e.cfg.key(name)
	if err != nil {
		return err
	}
	c.name += key // behind the prefix of permits, if any
	if c.ttl, err = e.cfg.lease(ttl); err != nil {
		return err
	}
	c.asked = clock.Now()
	c.begin = c.asked
	if err := ctx.Err(); err != nil {
		if d, ok := ctx.Value(waitKey{}).(time.Duration); ok && d <= 0 {
			return invalid("d", "of WithWait is %v, not positive; TryAcquire and its like make a single attempt", d)
		}
		return e.record.notAcquired(name, c.asked, 0, e.unlessKnown(c.name, errUnanswered, err))
	}
	if e.router != nil {
		if err := e.router.Settle(ctx, c.most == 0); err != nil {
			return e.record.notAcquired(name, c.asked, 0, err)
		}
	}
	if !c.waitWhenFull && e.at(c.name).Full() { // refused before it costs more
		e.record.counts.overloaded.Add(1)
		return e.record.notAcquired(name, c.asked, 0, ErrOverloaded)
	}
	if !kinds[c.kind].Shared {
		return e.refuseUpgrade(ctx, c.name)
	}
	return nil
}

// quit lets the next waiter of this process contend, and returns why c has no lock.
func (c *contender) quit(why error) error {
	if c.begin != c.asked && errors.Is(why, ErrClosed) && !errors.Is(why, ErrTaken) { // its turn came while the engine closed
		why = oneline.Join(errTakenHere, why)
	}
	why = c.e.unlessKnown(c.name, errUnanswered, why)
	c.state.stopContending(c.yieldFirst && c.made == 0)
	return why
}

// queue makes c the contender at once or after a wait, or returns a lock that was handed over.
func (c *contender) queue(ctx context.Context, wait bool) (*Lock, error) {
	for {
		n, w, lock, err := c.e.names.join(c, wait)
		c.state = n
		if theirs := c.theirs; theirs > 0 {
			c.theirs = 0
			if err := c.leaveToReaders(ctx, theirs); err != nil {
				return nil, err
			}
			continue
		}
		if w != nil {
			got, err := c.park(ctx, w)
			if err != nil {
				return nil, err
			}
			c.begin = clock.Now()
			lock, c.inherited, c.yieldFirst = got.lock, got.inherited, got.yieldFirst
		}
		if lock == nil || lock.collect(c.asked) { // else it was lost on its way here: start over
			return lock, err
		}
	}
}

// contend asks the masters until they grant the lock, ctx ends or the attempts are used up.
func (c *contender) contend(ctx context.Context) (*Lock, error) {
	e := c.e
	if c.inherited != nil {
		if lock := c.inherit(ctx); lock != nil {
			return lock, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c.begin = clock.Now()
	}
	if c.yieldFirst && !c.standsInLine(ctx) {
		// Other processes learn of the release at about the same time, however far the masters
		// are, and wait for up to a spread. The rest is for slow machines.
		if err := e.pause(ctx, 4*e.spread()+c.gap()); err != nil {
			return nil, err
		}
	}
	if c.readers { // readers may hold the name again: keep new ones out before the masters have answered
		c.readers, c.asksSoon, c.crowded = false, true, true
		c.keepReadersOut()
	}
	return persist(ctx, c.attempt, c.rest)
}

// persist makes attempts until one succeeds, the last one fails, or an error comes. It rests between attempts, and rest
// may return the result, too. A returned error is joined to the last attempt's, unless it has one.
func persist(ctx context.Context, attempt func(context.Context) (*Lock, step, error), rest func(context.Context, step) (*Lock, error)) (*Lock, error) {
	var last error // of the attempt before
	for {
		got, next, err := attempt(ctx)
		if got == nil && err == nil {
			if last = next.failed; !next.again {
				return nil, last
			}
			got, err = rest(ctx, next)
		}
		switch {
		case got != nil:
			return got, nil
		case errors.As(err, new(*AttemptError)):
			return nil, err
		case err != nil:
			return nil, oneline.Join(last, err)
		}
	}
}

// rest waits before the next attempt, unless c stands in line from now on.
func (c *contender) rest(ctx context.Context, next step) (*Lock, error) {
	if next.kind == ErrTaken {
		if c.crowded = true; c.standsInLine(ctx) {
			return nil, nil
		}
		c.look(ctx)
		if err := c.intend(ctx); err != nil {
			return nil, err
		}
	}
	var err error
	if next.await || kinds[c.kind].Shared && next.kind == ErrTaken { // readers split no votes: a writer comes or goes
		err = c.await(ctx, c.name, next)
	} else {
		err = c.e.pause(ctx, redlock.Jitter(next.from, next.to, fastrand.Uint32n))
	}
	if err == nil && next.await {
		err = c.e.pause(ctx, c.gap())
	}
	if err == nil {
		c.e.record.counts.retries.Add(1)
	}
	return nil, err
}

// await waits until a name may be free, and then for a random delay. All waiters are woken at once, and
// three that ask at once would split the vote. After a long delay await checks once whether the name is
// still free.
func (c *contender) await(ctx context.Context, name string, next step) error {
	e := c.e
	asked := clock.Now()
	if err := c.awaken(ctx, name); err != nil {
		return err
	}
	if kinds[c.kind].Shared { // all readers may come at once
		return nil
	}
	c.crowd.Woken(clock.Now().Sub(asked))
	longest := max(next.to, e.spread(), c.crowd.Window())
	delay := redlock.Jitter(next.from, longest, fastrand.Uint32n)
	if err := e.pause(ctx, delay); err != nil || !c.crowd.Stale(delay) {
		return err
	}
	asked = clock.Now()
	err := c.awaken(ctx, name)
	if err == nil && c.crowd.Held(clock.Now().Sub(asked)) {
		err = e.pause(ctx, redlock.Jitter(next.from, longest, fastrand.Uint32n))
	}
	return err
}

// attempt asks the masters once, or stands in line. It returns the lock, or the next step and why the attempt
// failed. It returns an error if the masters were not asked or ctx ended.
func (c *contender) attempt(ctx context.Context) (*Lock, step, error) {
	if c.standsInLine(ctx) {
		return c.stand(ctx)
	}
	e, handed := c.e, c.begin
	if c.made > 0 || c.yieldFirst { // c has waited since begin
		handed = clock.Now()
	}
	req := c.request(c.name)
	out, err := e.at(c.name).Do(ctx, req)
	if err != nil {
		return nil, step{}, err
	}
	req.Origin, req.Fence = out.Origin, out.Fence
	c.sample(&out, handed)
	if kinds[c.kind].Shared {
		c.asksSoon = out.Held == 0 // else a writer holds the name: its release is notified
	} else if e.mustRaise(&out) {
		second, err := e.at(c.name).Do(ctx, e.raising(req, &out))
		if err != nil {
			e.undo(req)
			return nil, step{}, err
		}
		out = raised(&out, &second)
	}
	start, next := c.judge(&out, handed)
	lock, next := c.conclude(&req, &out, next, start)
	return lock, next, nil
}

// request returns the request of an attempt at a name.
func (c *contender) request(name string) pipeline.Request {
	// A token is used for one attempt only: a late release of this attempt must
	// not take away the votes of the next.
	kind := &kinds[c.kind]
	return pipeline.Request{
		Op: pipeline.Acquire, Name: name, Token: kind.newToken(c.e.cfg.Holder), TTL: c.ttl,
		Patient: c.waitWhenFull, Contended: c.made > 0 || c.yieldFirst, Shared: kind.Shared,
	}
}

// judge returns when the validity of an attempt began, and the next step. The fencing token must have been raised before.
func (c *contender) judge(out *pipeline.Outcome, handed clock.Instant) (start clock.Instant, next step) {
	start = sentAt(*out, handed)
	return start, c.next(*out, clock.Now().Sub(start))
}

// sample notes how long the first round trip of an attempt took. Without contention, a sample is enough.
func (c *contender) sample(out *pipeline.Outcome, handed clock.Instant) {
	if out.Verdict != quorum.NoQuorum && (c.made > 0 || c.yieldFirst || c.e.roundTrip() == 0 || fastrand.Uint32n(8) == 0) {
		c.e.noteTook(clock.Now().Sub(sentAt(*out, handed)))
	}
}

// mustRaise reports whether a quorum granted an attempt, but too few masters stored its fencing token with
// their grant. A raise costs a second round trip, and is rare.
func (e *Engine) mustRaise(out *pipeline.Outcome) bool {
	return e.cfg.Fencing && out.Verdict == quorum.Won && !fencing.Counts(out.Granted, out.Stored, 0, quorum.Size(len(e.cfg.Masters)))
}

// raising returns the request that raises the fencing token.
func (e *Engine) raising(req pipeline.Request, won *pipeline.Outcome) pipeline.Request {
	e.record.counts.raised.Add(1)
	req.Op, req.Set, req.OneOf, req.Among = pipeline.Extend, 0, false, won.Granted
	return req
}

// raised returns the outcome of both round trips.
func raised(first, second *pipeline.Outcome) pipeline.Outcome {
	both := *second
	both.Origin, both.Sent, both.Fence = first.Origin, first.Sent, first.Fence
	return both
}

// conclude returns the lock of a won attempt. It undoes a failed attempt, and returns the next step with the reason.
func (c *contender) conclude(req *pipeline.Request, out *pipeline.Outcome, next step, start clock.Instant) (*Lock, step) {
	e := c.e
	if next.hold {
		lock, err := c.take(grant(e, c.state, *req, int(out.Tally.Granted), start, clock.Now()))
		if err == nil {
			return lock, next
		}
		next = c.retry(err)
	}
	return nil, c.refused(req, out, next)
}

// refused undoes an attempt that failed, and notes why it did.
func (c *contender) refused(req *pipeline.Request, out *pipeline.Outcome, next step) step {
	e := c.e
	e.record.counts.attempt(next, *out)
	if c.state != nil {
		c.state.failedFor(next.kind)
	}
	req.Alone = out.Denied != nil
	e.undo(*req)
	next.failed = newAttemptError(next.kind, anAcquire, len(e.cfg.Masters), *out)
	return next
}

// unlessKnown returns the error of an acquire whose ctx ended: ctx's error, joined to why there is no lock.
// The reason is the last one known for the name, else the masters' state (with the masters that are away),
// else otherwise.
func (e *Engine) unlessKnown(name string, otherwise, err error) error {
	if errors.Is(err, ErrNotAcquired) || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var missing *NotReadyError
	switch why := e.names.why(name); {
	case why != ErrTaken && errors.As(e.at(name).Ready(ended), &missing):
		return oneline.Join(fmt.Errorf("%w: %w: %w", ErrNoQuorum, ErrNotAcquired, missing), err)
	case why != nil:
		return oneline.Join(fmt.Errorf("%w: %w", why, ErrNotAcquired), err)
	}
	return oneline.Join(otherwise, err)
}

// ended is a ctx that has ended.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// take gives c the lock that it contended for. If the lease has ended by now, or the engine was closed, c
// remains the contender.
func (c *contender) take(lock *Lock) (*Lock, error) {
	s := c.state.shard
	s.mu.Lock()
	defer s.unlock()
	now := clock.Now()
	if err := lock.lease.overLocked(now); err != nil {
		return nil, err
	}
	c.takeLocked(lock, now)
	if n := c.state; c.mayComeBack() && lock.lease != c.inherited {
		if n.readFor = 0; c.readers {
			n.left, n.readFor = now, min(now.Sub(c.keptFrom)*3/2, intendAfter)
		}
	}
	return lock, nil
}

func (c *contender) takeLocked(lock *Lock, now clock.Instant) {
	l := lock.lease
	n := l.state
	l.kind, l.holders, lock.since = c.kind, append(l.holders, lock), now
	n.Take(l)
	n.failed = nil
	n.letInLocked(c.e.cfg.HandOverTime, now)
	if n.First() != nil || l.short {
		l.scheduleLocked(now)
	}
	c.e.record.acquired(lock, c.asked, c.made)
}

// overLocked returns why a lease that nobody holds cannot be taken, and ends it; nil: it can.
func (l *lease) overLocked(now clock.Instant) error {
	switch {
	case l.state.shard.closed:
		l.endLocked()
		return ErrClosed
	case l.term.Ended || l.until.Reached(now): // this goroutine may have been stopped for any time
		l.endLocked()
		return ErrExpired
	}
	return nil
}

// pause waits before an attempt.
func (e *Engine) pause(ctx context.Context, d time.Duration) error {
	if d < finest {
		clock.Nap(d)
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-e.closing:
		return ErrClosed
	}
}

// finest is the shortest sleep of a timer in an idle Go process: it rounds shorter sleeps up to this.
const finest = time.Millisecond

// roundTrip returns how long an attempt takes at the moment, smoothed by noteTook: it follows faster attempts
// at once and slower ones slowly. Otherwise one slow moment would make this process hesitate, and lose to
// others, for long.
func (e *Engine) roundTrip() time.Duration { return time.Duration(e.took.Load()) }

// spread is the longest delay of contenders that are woken at once.
func (e *Engine) spread() time.Duration { return redlock.WakeSpread(e.roundTrip()) }

func (e *Engine) noteTook(d time.Duration) {
	old := time.Duration(e.took.Load())
	if old == 0 || d < old {
		old = d
	}
	e.took.Store(int64(old + (d-old)/8))
}
