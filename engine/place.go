package engine

import (
	"cmp"
	"context"
	"errors"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/valyala/fastrand"

	"muxlock/internal/clock"
	"muxlock/internal/fencing"
	"muxlock/internal/line"
	"muxlock/internal/oneline"
	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
	"muxlock/internal/token"
	"muxlock/pipeline"
)

// A place is a contender's token in line at the masters, among the contenders of other processes. A release passes the
// lock to the first in line, and each master pushes the grant to the token's owner. So the name goes from process to
// process in order, in one round trip, and wakes nobody else. Package line has the rules, and why this is safe: place tells
// its Waiter what happens, and does what that commands. If too few masters answer, or ctx ends, the token is passed, and
// there is no lock.
type place struct {
	c      *contender
	same   bool            // it is in the attempt of the place before, which gave its grants back to nobody
	origin pipeline.Origin // of the join; unknown: it was not sent, or the pipeline has passed it
	won    chan struct{}   // capacity 1
	timer  *time.Timer     // for the next request
	calls  sync.WaitGroup  // watch and spot
	ctx    context.Context // of calls
	cancel func()          // ends ctx

	mu      sync.Mutex // guards the following; a leaf
	waiter  line.Waiter[string, clock.Instant]
	due     clock.Instant // when timer fires
	holder  string        // token of who has the name, as a master last said
	ahead   int           // how many stood in line before it, as a master last said
	strange clock.Instant // when a stranger was seen to hold the name; zero: never
	enough  func()        // ends the request under way once a quorum has granted; nil: none is under way, or it joins
}

// standsInLine reports whether c is to stand in line: other processes want the name, and a quorum of masters has lines.
// A contender with one attempt or a very short lease does not, nor does a reader or a set.
func (c *contender) standsInLine(ctx context.Context) bool {
	if !c.tries.waits() || c.tries.ttl < line.LeastTTL || !kinds[c.kind].inLine {
		return false
	}
	c.state.shard.mu.Lock()
	lined := c.state.lined
	c.state.shard.unlock()
	return (lined || c.others.crowded) && c.e.masters.at(c.name).Lines(ctx)
}

// stand lets c stand in line until it has the lock, too few masters answer or ctx ends. It returns what attempt returns.
func (c *contender) stand(ctx context.Context) (*Lock, step, error) {
	here := *c // on the heap, for its places; a contender that never stands in line allocates nothing
	defer func() { *c = here }()
	c.state.shard.mu.Lock()
	began := clock.Later(c.turn.called, c.state.strangers.yielded)
	c.state.shard.unlock()
	n := c.e.masters.number
	w := line.Waiter[string, clock.Instant]{Terms: line.Terms[clock.Instant]{
		Began: began, TTL: c.tries.ttl, Masters: n, Quorum: quorum.Size(n), Fenced: c.e.cfg.Fencing,
	}}
	for same := false; ; {
		p := here.newPlace(ctx, w.Join(token.For(c.e.cfg.Holder)), same)
		lock, next, do, err := p.wait(ctx)
		if same = do.Nobody; do.Leave && !same && here.tries.made == here.tries.most {
			next.why, do.Leave = ErrTaken, false
		}
		p.leave(lock != nil, do)
		if do.Leave && do.To > 0 {
			err = c.e.pause(ctx, redlock.Jitter(do.From, do.To, fastrand.Uint32n))
		}
		if w = p.waiter; !do.Leave || err != nil {
			return lock, next, err
		}
	}
}

func (c *contender) newPlace(ctx context.Context, w line.Waiter[string, clock.Instant], same bool) *place {
	p := &place{c: c, same: same, waiter: w, holder: c.others.holder, ahead: c.others.ahead, won: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	p.ctx, p.cancel = context.WithCancel(ctx)
	c.e.masters.at(c.name).Listen(c.name, w.Own, p)
	return p
}

// leave ends the place. Unless it was taken, its token is passed.
func (p *place) leave(taken bool, do line.Command[string]) {
	p.cancel()
	p.mu.Lock()
	p.waiter.Place.Ended = true // nothing is heard any more
	p.timer.Stop()
	p.c.others.holder, p.c.others.ahead = p.holder, p.ahead
	p.mu.Unlock()
	masters := p.c.e.masters.at(p.c.name)
	masters.Unlisten(p.waiter.Own)
	p.calls.Wait() // they use the contender
	if !taken && p.origin != pipeline.OriginUnknown {
		masters.Post(pipeline.Request{
			Op: pipeline.Pass, Name: p.c.name, Token: p.waiter.Own, TTL: p.c.tries.ttl, Origin: p.origin,
			Line: &pipeline.Line{Named: [2]string{do.Leader}, Nobody: do.Nobody},
		})
	}
}

// wait returns the lock; or the next step; or a command to leave, and why, as a step without a kind; or an error.
func (p *place) wait(ctx context.Context) (lock *Lock, next step, do line.Command[string], err error) {
	e := p.c.e
	for {
		out, err := p.ask(ctx)
		if err == nil {
			lock, next, err = p.take(ctx, out.Verdict == quorum.Won)
		}
		if lock == nil && err == nil && next.why == nil {
			next, do = p.judge(out)
		}
		for due := false; !due; {
			if lock != nil || err != nil || next.why != nil || do.Leave {
				return lock, next, do, err
			}
			select {
			case <-p.won:
				lock, next, err = p.take(ctx, false)
			case <-p.timer.C:
				due = true
			case <-ctx.Done():
				err = oneline.Join(p.taken(out), ctx.Err())
			case <-e.closing:
				err = ErrClosed
			}
		}
		e.record.counts.retries.Add(1)
	}
}

// ask sends the masters a request to join the line, or to stay there. It has new readers refused, if readers have the name.
func (p *place) ask(ctx context.Context) (pipeline.Outcome, error) {
	c, now, masters := p.c, clock.Now(), p.c.e.masters.at(p.c.name)
	wanted, cancel := context.WithCancel(ctx)
	defer cancel()
	p.mu.Lock()
	p.waiter.Trip = c.e.masters.roundTrip()
	r, next := p.waiter.Request(now)
	p.due = now.Add(next)
	p.timer.Reset(next)
	if r.Stay { // an abandoned join would be passed by the pipeline
		p.enough = cancel
	}
	p.mu.Unlock()
	if r.Stay && !masters.Lines(ended) { // a master may be back
		masters.Lines(wanted)
	}
	out, err := masters.Do(wanted, pipeline.Request{
		Op: pipeline.Wait, Name: c.name, Token: p.waiter.Own, TTL: c.tries.ttl, Line: &pipeline.Line{Request: r}, Patient: c.patient || r.Stay,
	})
	switch {
	case err != nil && ctx.Err() == nil && wanted.Err() != nil: // a quorum granted meanwhile
		return pipeline.Outcome{}, nil
	case err != nil:
		return out, err
	case !r.Stay:
		if p.origin = out.Origin; !p.same {
			c.tries.made++
		}
		c.turn.contended, c.turn.yieldFirst = true, false
	}
	if p.answered(out) {
		p.mu.Lock()
		readers := slices.Contains(p.waiter.Values, pipeline.Readers)
		p.heedLocked(line.Command[string]{Again: readers, From: intentEvery, To: intentEvery})
		p.mu.Unlock() // Hear is called under the pipeline's locks
		if readers {
			c.intents.met = true
			c.keepReadersOut()
		}
		c.state.failedFor(ErrTaken)
		c.e.masters.noteTook(clock.Now().Sub(sentAt(out, now)))
	}
	return out, nil
}

// answered reports whether a quorum has answered, or may still.
func (p *place) answered(out pipeline.Outcome) bool {
	n := p.c.e.masters.number
	return n-int(out.Tally.Unknown) >= quorum.Size(n)
}

// judge returns what follows from a request that won nothing.
func (p *place) judge(out pipeline.Outcome) (next step, do line.Command[string]) {
	if !p.answered(out) {
		return p.failed(out), do
	}
	p.mu.Lock()
	p.enough = nil
	do = p.waiter.Answered(clock.Now())
	p.heedLocked(do)
	p.mu.Unlock()
	if do.Leave {
		next.failed = p.taken(out)
	}
	return next, do
}

// taken returns the error of a place that got nothing. It says who has the name.
func (p *place) taken(out pipeline.Outcome) *AttemptError {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := newAttemptError(ErrTaken, anAcquire, p.c.e.masters.number, out)
	err.Holder, err.InLine = token.Holder(p.holder), p.ahead
	return err
}

// failed is the step after a request that too few masters answered: an attempt without a line. The line's key may hold
// another type of value.
func (p *place) failed(out pipeline.Outcome) step {
	c := p.c
	c.others.crowded = false
	c.state.notLined()
	out.Verdict = quorum.NoQuorum
	next := c.tries.after(out, 0)
	c.e.record.counts.attempt(c.kind, next, out)
	c.state.failedFor(next.why)
	next.failed = newAttemptError(next.why, anAcquire, c.e.masters.number, out)
	return next
}

// Hear takes what a master says. It is called with the pipeline's locks held.
func (p *place) Hear(master int, a pipeline.Answer) {
	e, now := p.c.e, clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.Kind == line.InLine { // also if the place has ended by now
		p.holder, p.ahead = cmp.Or(a.Value, p.holder), a.Rank
	}
	if a.Word != "" {
		p.strange = clock.Later(p.strange, sightingAt(a.Word, now))
	} else if a.Value != "" && a.Value != pipeline.Readers && !token.Ours(a.Value) {
		p.strange = now
	}
	a.Lease = redlock.Validity(a.Lease, 0, e.cfg.Drift)
	p.heedLocked(p.waiter.Hear(master, a, redlock.Jitter(line.OpenFor, line.OpenFor*3/2, fastrand.Uint32n), now))
}

// heedLocked carries out what the waiter commands, but to leave.
func (p *place) heedLocked(do line.Command[string]) {
	if do.Won {
		wake(p.won)
		if p.enough != nil {
			go p.enough() // it runs code of the ctx that the caller gave
		}
	}
	if do.Watch {
		p.calls.Go(p.watch)
	}
	if do.Spot {
		p.calls.Go(p.spot)
	}
	d := redlock.Jitter(do.From, do.To, fastrand.Uint32n)
	if due := clock.Now().Add(d); do.Again && due.Before(p.due) {
		p.due = due
		p.timer.Reset(d)
	}
}

// watch makes the place ask again when the name may be free.
func (p *place) watch() {
	e, gap := p.c.e, p.c.gap()
	p.mu.Lock()
	first := p.waiter.Watch(pipeline.Readers)
	p.mu.Unlock()
	err := e.pause(p.ctx, first)
	if err == nil {
		err = e.masters.at(p.c.name).Await(p.ctx, p.c.name, e.cfg.RetryHeld)
	}
	if err == nil {
		p.mu.Lock()
		from, to := p.waiter.Alarmed(pipeline.Readers, finest, e.masters.spread())
		p.mu.Unlock()
		err = e.pause(p.ctx, redlock.Jitter(from, to, fastrand.Uint32n)+gap)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heedLocked(p.waiter.Watched(err == nil))
}

// spot notes strangers who have the name while it is left open to them.
func (p *place) spot() {
	for i := 0; i < 5 && p.c.e.pause(p.ctx, redlock.Jitter(line.OpenFor/10, line.OpenFor/3, fastrand.Uint32n)) == nil; i++ {
		p.c.spotNow(p.ctx)
	}
}

// take returns the lock once a quorum of grants lives. asked: masters granted it that were asked.
func (p *place) take(ctx context.Context, asked bool) (*Lock, step, error) {
	c, e := p.c, p.c.e
	p.mu.Lock()
	won, ok := p.waiter.Take(clock.Now())
	strange := p.strange
	p.mu.Unlock()
	if !ok {
		return nil, step{}, nil
	}
	req := pipeline.Request{Op: pipeline.Wait, Name: c.name, Token: p.waiter.Own, TTL: c.tries.ttl, Origin: p.origin}
	out := pipeline.Outcome{Verdict: quorum.Won}
	if req.Fence, out.Granted, out.Stored = fencing.Decide(won.Fences); e.masters.isLow(&req, &out) {
		out, err := e.masters.raise(ctx, req, out)
		if err != nil {
			return nil, step{}, err
		}
		if out.Verdict != quorum.Won {
			return nil, p.failed(out), nil
		}
	}
	now := clock.Now()
	lock := grant(e, c.state, req, bits.OnesCount64(won.Live), now, now)
	lock.lease.renewal.passedOn(won.Until, now)
	c.state.stoodInLine(strange, &won.Next)
	switch err := c.take([]*shard{c.state.shard}, lock); {
	case err == nil:
		if c.got = gotPassedOn; asked {
			c.got = gotAsked
		}
		return lock, step{}, nil
	case errors.Is(err, ErrClosed):
		return nil, step{}, err
	}
	e.record.counts.fail(c.kind, whyExpired)
	return nil, c.tries.retry(ErrExpired), nil
}
